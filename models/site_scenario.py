"""A visited page as a scenario of the testbed: its hosts, addresses, certificate names, sizes and waits; no contents.

Same: the hosts, the addresses that DNS gave (public ones; others cannot be had there), the names in their certificates,
ORIGIN sets, HTTP versions, refusals (421), what loaded what and with which credentials, each answer's size as it was
transferred and how long its first byte took, the round trip included. Different: paths and contents are made up, and
what started after the load event starts as late after it as it did, by a script of the page's. A plan can be deployed
in it: its servers' sets and names stand in place of what was seen.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import polars as pl

from originset.data.reference.special_purpose import is_public
from originset.models.planned_connections import Deployment

Row = dict[str, Any]

_KINDS = {
    "stylesheet": ("style", "css"),
    "script": ("script", "js"),
    "image": ("image", "svg"),
    "font": ("font", "woff2"),
    "xhr": ("xhr", "json"),
    "document": ("iframe", "html"),
    "subframe": ("iframe", "html"),
    "websocket": ("websocket", "socket"),
}
_OTHER = ("fetch", "bin")
_ANY = frozenset({"style", "script", "image", "font", "fetch", "xhr", "iframe", "websocket"})
_LOADED_BY = {
    "page": _ANY,
    "iframe": _ANY,
    "style": frozenset({"font", "image"}),
    "script": frozenset({"script", "image", "fetch", "xhr"}),
}
_LABELS = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)+"
_NAME = re.compile(rf"(?=.{{3,253}}$){_LABELS}")
_ORIGIN = re.compile(rf"https?://{_LABELS}(:[1-9][0-9]{{0,4}})?")
_HTTPS_PORT = 443
_LATE_MS = 20  # what starts closer to the load event may have started before it
_LONGEST = 1 << 28  # of a body, in the testbed


@dataclass
class SiteScenario:
    """``text`` is the scenario's TOML; ``left_out`` says in sentences what of the page is not in it.

    ``requests``: the request_ids that are; ``latest_ms``: how long after the load event the last of them starts.
    """

    text: str
    left_out: list[str] = field(default_factory=list)
    requests: frozenset[int] = frozenset()
    latest_ms: int = 0


def site_scenario(
    visit: Row, tables: Mapping[str, pl.DataFrame], deployed: Deployment | None = None, round_trip_ms: int = 0
) -> SiteScenario | None:
    """One visit's scenario; None if it has no document over https, or no public address of its host is known.

    ``visit``: a row of visits. ``tables``: that visit's rows of requests, connections and dns_queries;
    certificate_names of its certificates; addresses. ``deployed``: the sets that servers send, and the names that their
    certificates have besides. ``round_trip_ms``: what the testbed itself takes, which no answer then waits for.
    """
    return _Maker(visit, tables, deployed or Deployment({}), round_trip_ms).make()


@dataclass
class _Load:
    """A request as the page's tree has it."""

    row: Row
    kind: str
    path: str
    late_ms: int | None = None
    loads: list[_Load] = field(default_factory=list)


class _Maker:
    def __init__(
        self, visit: Row, tables: Mapping[str, pl.DataFrame], deployed: Deployment, round_trip_ms: int
    ) -> None:
        self._visit = visit
        self._tables = tables
        self._deployed = deployed
        self._round_trip_ms = round_trip_ms
        self._left_out: list[str] = []
        every = tables["requests"].sort("request_id").to_dicts()
        over_tls = [row for row in every if _on_network(row)]
        if others := len(every) - len(over_tls):
            self._left_out.append(f"{others} requests that went over no TLS connection, or were answered by a cache")
        self._requests = [row for row in over_tls if row["port"] in (None, _HTTPS_PORT)]
        if others := len(over_tls) - len(self._requests):
            self._left_out.append(f"{others} requests to other ports than {_HTTPS_PORT}")
        self._hosts: dict[str, Row] = {}
        self._certificates: dict[tuple[str | None, tuple[str, ...]], str] = {}
        self._names: dict[str, list[str]] = {}

    def make(self) -> SiteScenario | None:
        document = self._main_document()
        if document is None:
            return None
        loads = self._tree(document)
        used = {document["host"], *(one.row["host"] for one in _walk(loads))}
        for name in sorted(used):
            self._add_host(name)
        lost = [one for one in _walk(loads) if one.row["host"] not in self._hosts]
        if document["host"] not in self._hosts:
            return None
        if lost:
            names = ", ".join(sorted({_shown(one.row["host"]) for one in lost}))
            self._left_out.append(f"{len(lost)} requests to hosts without a public address that is known: {names}")
        site = self._first_host(document, used)
        kept = [one for one in _walk(loads) if one.row["host"] in self._hosts]
        return SiteScenario(
            "\n".join(self._lines(site, document, loads)) + "\n",
            self._left_out,
            frozenset(
                {document["request_id"], *(one.row["request_id"] for one in kept), *self._hops(site, document["host"])}
            ),
            max((one.late_ms or 0 for one in kept), default=0),
        )

    def _main_document(self) -> Row | None:
        answered = [row for row in self._requests if not _redirects(row)]
        landed = [row for row in answered if row["url"] == self._visit["final_url"]]
        typed = [row for row in answered if row["resource_type"] == "document"]
        return next(iter((*landed, *typed)), None)

    def _first_host(self, document: Row, used: Iterable[str]) -> str:
        """The host that redirects to the page's, if it does nothing else; else the page's own."""
        hops = [row["host"] for row in self._requests if _redirects(row) and row["request_id"] < document["request_id"]]
        hops = [host for host in dict.fromkeys(hops) if host not in used]
        for name in hops:
            self._add_host(name)
        way: list[str] = [*(name for name in hops if name in self._hosts), document["host"]]
        for name, then in pairwise(way):
            self._hosts[name]["redirect"] = f"https://{then}/"
        return way[0]

    def _hops(self, site: str, host: str) -> Iterator[int]:
        """The requests that redirect from ``site`` to the document's host."""
        while site != host:
            yield next(row["request_id"] for row in self._requests if row["host"] == site and _redirects(row))
            site = self._hosts[site]["redirect"].removeprefix("https://").removesuffix("/")

    # -- the page ------------------------------------------------------------------------------------------------------

    def _tree(self, document: Row) -> list[_Load]:
        """What the page loads; what none of our kinds could load where it was is loaded by what is around that."""
        root = _Load(document, "page", "/")
        by_id = {document["request_id"]: root}
        skipped = 0
        for row in self._requests:
            if row is document:
                continue
            if _redirects(row) or row["method"] == "OPTIONS":
                skipped += row["request_id"] > document["request_id"]  # those before led to it
                continue
            kind, ending = _KINDS.get(row["resource_type"] or "", _OTHER)
            one = _Load(row, kind, f"/{row['request_id']}.{ending}")
            parent = self._parent(one, by_id, root)
            self._place(one, parent, root)
            by_id[row["request_id"]] = one
        if skipped:
            self._left_out.append(f"{skipped} redirects and preflights")
        return root.loads

    def _parent(self, one: _Load, by_id: Mapping[int, _Load], root: _Load) -> _Load:
        above = one.row["initiator_id"]
        while (parent := by_id.get(above)) is not None and parent is not root:
            if one.kind in _LOADED_BY.get(parent.kind, ()):
                return parent
            above = parent.row["initiator_id"]
            if above is None or above >= parent.row["request_id"]:
                break  # nothing is caused by what comes after it
        return root

    def _place(self, one: _Load, parent: _Load, root: _Load) -> None:
        loaded, started = self._visit["load_ms"], one.row["started_ms"]
        if loaded is not None and started is not None and started > loaded + _LATE_MS:
            script = parent if parent.kind == "script" else next((it for it in root.loads if it.kind == "script"), None)
            if script is not None and one.kind in _LOADED_BY["script"]:
                one.late_ms = round(started - loaded)
                parent = script
        parent.loads.append(one)

    # -- hosts ---------------------------------------------------------------------------------------------------------

    def _add_host(self, name: str) -> None:
        rows = [row for row in self._requests if row["host"] == name]
        addresses = self._addresses(name, rows)
        if not addresses or _NAME.fullmatch(name) is None:
            return
        host: Row = {"addresses": addresses}
        asns = dict(self._tables["addresses"].select("ip", "asn").iter_rows())
        if (asn := asns.get(addresses[0])) is not None:
            host["asn"] = asn
        host["certificate"] = self._certificate(name)
        protocols = Counter(row["protocol"] for row in rows)
        if protocols["h3"]:
            host["http3"] = "advertised"
            host["https_record"] = {"alpn": ["h3", "h2"]}
        elif protocols["http/1.1"] > protocols["h2"]:
            host["protocol"] = "http/1.1"
        connections = self._tables["connections"].to_dicts()
        own = next((row for row in connections if row["first_host"] == name and row["origin_set"] is not None), None)
        if name in self._deployed.origins:
            host["origin_set"] = list(self._deployed.origins[name])
        elif own is not None:
            host["origin_set"] = [origin for origin in own["origin_set"] if _ORIGIN.fullmatch(origin)]
        if any(name in (row["misdirected"] or ()) for row in connections):
            host["own_connection"] = True
        self._hosts[name] = host

    def _addresses(self, name: str, rows: Sequence[Row]) -> list[str]:
        queries = self._tables["dns_queries"].filter(pl.col("host") == name, pl.col("rtype").is_in(["A", "AAAA"]))
        answered = [address for answers in queries["answers"].to_list() for address in answers or ()]
        # A foreign HAR has no answers, only where each request went.
        seen = answered or [row["server_ip"] for row in rows if row["server_ip"] is not None]
        return [address for address in dict.fromkeys(seen) if _is_public(address)]

    def _certificate(self, name: str) -> str:
        """The key of the certificate that the host's own connections showed, else of one that covers it."""
        connections = self._tables["connections"].filter(pl.col("certificate_id").is_not_null()).to_dicts()
        own = [row for row in connections if row["first_host"] == name]
        carried = [row for row in connections if name in (row["hosts"] or ())]
        known = self._tables["certificate_names"]
        for row in (*own, *carried):
            names = known.filter(pl.col("certificate_id") == row["certificate_id"])["name"].to_list()
            if usable := sorted({one for one in names if _NAME.fullmatch(one.removeprefix("*."))}):
                return self._key(name, row["certificate_id"], usable)
        self._left_out.append(f"the certificate of {_shown(name)}, which is not known: it gets one of its own")
        return self._key(name, None, [name])

    def _key(self, host: str, certificate_id: str | None, names: list[str]) -> str:
        key = self._certificates.setdefault(
            (certificate_id, tuple(names)), f"certificate-{len(self._certificates) + 1}"
        )
        known = self._names.setdefault(key, names)
        if host in self._deployed.origins:
            known += [name for name in self._deployed.names if name not in known]
        return key

    # -- the text ------------------------------------------------------------------------------------------------------

    def _lines(self, site: str, document: Row, loads: Sequence[_Load]) -> Iterator[str]:
        yield f"# Made by originset from a visit of {document['host']}: contents are made up."
        yield from (f"# Not in it: {sentence}." for sentence in self._left_out)
        yield f"title = {_toml(site)}"
        for key, names in self._names.items():
            yield f"\n[certificate.{key}]\nnames = {_toml(names)}"
        for name, host in self._hosts.items():
            yield f"\n[host.{_toml(name)}]"
            yield from (f"{key} = {_toml(value)}" for key, value in host.items())
        yield f"\n[site.{_toml(site)}]"
        if site != document["host"]:
            yield f"lands_on = {_toml(document['host'])}"
        yield from (f"{key} = {_toml(value)}" for key, value in self._measures(document).items())
        yield "loads = ["
        yield from self._load_lines(loads, "page", "  ")
        yield "]"

    def _load_lines(self, loads: Sequence[_Load], within: str, indent: str) -> Iterator[str]:
        for one in loads:
            if one.row["host"] not in self._hosts:
                yield from self._load_lines(one.loads, within, indent)
                continue
            scheme = "wss" if one.kind == "websocket" else "https"
            keys: Row = {one.kind: f"{scheme}://{one.row['host']}{one.path}"}
            if one.kind != "websocket":
                keys |= self._measures(one.row) | _credentials(one)
            if one.late_ms is not None and within == "script":
                keys["after_ms"] = one.late_ms
            text = ", ".join(f"{key} = {_toml(value)}" for key, value in keys.items())
            if one.loads:
                yield f"{indent}{{ {text}, loads = ["
                yield from self._load_lines(one.loads, one.kind, indent + "  ")
                yield f"{indent}] }},"
            else:
                yield f"{indent}{{ {text} }},"

    def _measures(self, row: Row) -> Row:
        size, wait_ms = row["bytes"] or 0, round((row["wait_ms"] or 0) - self._round_trip_ms)
        return {key: value for key, value in (("bytes", min(size, _LONGEST)), ("wait_ms", wait_ms)) if value > 0}


def _on_network(row: Row) -> bool:
    sent = row["status"] is not None or row["connection_id"] is not None
    return row["scheme"] in ("https", "wss") and row["host"] is not None and not row["from_cache"] and sent


def _redirects(row: Row) -> bool:
    return row["status"] is not None and 300 <= row["status"] < 400 and row["status"] != 304


def _walk(loads: Iterable[_Load]) -> Iterator[_Load]:
    for one in loads:
        yield one
        yield from _walk(one.loads)


def _credentials(one: _Load) -> Row:
    mode = one.row["credentials"]
    if one.kind == "fetch":
        return {"credentials": "omit" if mode == "omit" else "include"}
    if one.kind == "xhr":
        return {"credentials": "include" if mode == "include" else "same-origin"}
    return {"crossorigin": True} if mode == "omit" and one.kind in ("style", "script", "image") else {}


def _shown(name: str) -> str:
    """A name as it may stand in a comment or on a terminal."""
    return name if re.fullmatch(r"[a-z0-9_.-]+", name) else json.dumps(name)


def _is_public(address: str) -> bool:
    """Answers of a name server may be no addresses."""
    try:
        return is_public(address)
    except ValueError:
        return False


def _toml(value: object) -> str:
    """A TOML value; its basic strings are JSON's as long as everything but ASCII is escaped."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(one)}" for key, one in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(_toml(one) for one in value) + "]"
    return json.dumps(value)
