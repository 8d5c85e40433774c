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
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import polars as pl
from msgspec.structs import replace

from originset.data.reference.special_purpose import is_public
from originset.data.scenario import entries
from originset.data.scenario.toml_text import toml_text
from originset.models.planned_connections import Deployment

Row = dict[str, Any]

_KINDS: dict[str, tuple[entries.Kind, str]] = {
    "stylesheet": ("style", "css"),
    "script": ("script", "js"),
    "image": ("image", "svg"),
    "font": ("font", "woff2"),
    "xhr": ("xhr", "json"),
    "document": ("iframe", "html"),
    "subframe": ("iframe", "html"),
    "websocket": ("websocket", "socket"),
}
_OTHER: tuple[entries.Kind, str] = ("fetch", "bin")
_ORIGIN = re.compile(r"https?://([^:/]+)(:[1-9][0-9]{0,4})?")
_HTTPS_PORT = 443
_LATE_MS = 20  # what starts closer to the load event may have started before it


@dataclass
class SiteScenario:
    """``text`` is the scenario's TOML; ``left_out`` says in sentences what of the page is not in it.

    ``requests``: the request_ids that are; ``latest_ms``: how long after the load event the last of them starts.
    """

    text: str
    left_out: list[str]
    requests: frozenset[int]
    latest_ms: int


def site_scenario(
    visit: Row, tables: Mapping[str, pl.DataFrame], deployed: Deployment | None = None, round_trip_ms: int = 0
) -> SiteScenario | None:
    """One visit's scenario; None if it has no document over https, or no public address of its host is known.

    ``visit``: a row of visits. ``tables``: that visit's rows of requests, connections and dns_queries;
    certificate_names of its certificates; addresses. ``deployed``: the sets that servers send, and the names that their
    certificates have besides. ``round_trip_ms``: what the testbed itself takes, which no answer then waits for.
    """
    left_out: list[str] = []
    requests = _over_tls(tables["requests"].sort("request_id").to_dicts(), left_out)
    document = _document(requests, visit["final_url"])
    if document is None:
        return None
    asked = [row for row in requests if row is not document]
    loaded = [row for row in asked if not _leads_elsewhere(row)]
    # Redirects before the document led to it.
    if skipped := sum(_leads_elsewhere(row) and row["request_id"] > document["request_id"] for row in asked):
        left_out.append(f"{skipped} redirects and preflights")
    used = {row["host"] for row in (document, *loaded)}
    hosts = _Hosts(requests, tables, deployed or Deployment({}), left_out)
    for name in sorted(used):
        hosts.add(name)
    if document["host"] not in hosts.entries:
        return None
    if lost := [row["host"] for row in loaded if row["host"] not in hosts.entries]:
        names = ", ".join(sorted(map(_shown, set(lost))))
        left_out.append(f"{len(lost)} requests to hosts without a public address that is known: {names}")
    way = [*hosts.add_redirects(document, used), document]
    page, *loads = _page(document, loaded, visit["load_ms"])
    kept = [load for load in loads if load.row["host"] in hosts.entries]
    site = entries.SiteEntry(
        lands_on=document["host"] if len(way) > 1 else None,
        loads=list(_resources(page, "page", hosts.entries, round_trip_ms)),
        **_measures(document, round_trip_ms),
    )
    title = way[0]["host"]
    scenario = entries.ScenarioEntries(
        title=title, certificate=dict(hosts.certificates.values()), host=hosts.entries, site={title: site}
    )
    made = f"Made by originset from a visit of {document['host']}: contents are made up."
    return SiteScenario(
        toml_text(scenario, (made, *(f"Not in it: {sentence}." for sentence in left_out))),
        left_out,
        frozenset(row["request_id"] for row in (*way, *(load.row for load in kept))),
        max((load.late_ms or 0 for load in kept), default=0),
    )


# -- the page ----------------------------------------------------------------------------------------------------------


def _over_tls(rows: Sequence[Row], left_out: list[str]) -> list[Row]:
    """The requests that went over TLS to https's port."""
    over_tls = [row for row in rows if _on_network(row)]
    if others := len(rows) - len(over_tls):
        left_out.append(f"{others} requests that went over no TLS connection, or were answered by a cache")
    kept = [row for row in over_tls if row["port"] in (None, _HTTPS_PORT)]
    if others := len(over_tls) - len(kept):
        left_out.append(f"{others} requests to other ports than {_HTTPS_PORT}")
    return kept


def _on_network(row: Row) -> bool:
    sent = row["status"] is not None or row["connection_id"] is not None
    return row["scheme"] in ("https", "wss") and row["host"] is not None and not row["from_cache"] and sent


def _redirects(row: Row) -> bool:
    return row["status"] is not None and 300 <= row["status"] < 400 and row["status"] != 304


def _leads_elsewhere(row: Row) -> bool:
    return _redirects(row) or row["method"] == "OPTIONS"


def _document(requests: Sequence[Row], final_url: str | None) -> Row | None:
    answered = [row for row in requests if not _redirects(row)]
    landed = [row for row in answered if row["url"] == final_url]
    typed = [row for row in answered if row["resource_type"] == "document"]
    return next(iter((*landed, *typed)), None)


@dataclass(eq=False)
class _Load:
    """A request as the page's tree has it; ``late_ms``: how long after the load event, where a script waits for it."""

    row: Row
    kind: entries.Kind
    ending: str = ""
    late_ms: int | None = None
    loads: list[_Load] = field(default_factory=list)


def _page(document: Row, loaded: Iterable[Row], load_ms: float | None) -> list[_Load]:
    """The page and, below it in a tree, what it loads; all of them in a list, the page first."""
    page = _Load(document, "page")
    by_id: dict[int, _Load] = {}
    for row in loaded:
        load = by_id[row["request_id"]] = _Load(row, *_KINDS.get(row["resource_type"] or "", _OTHER))
        parent = _parent(load, by_id) or page
        started = row["started_ms"]
        late = load_ms is not None and started is not None and started > load_ms + _LATE_MS
        if late and load.kind in entries.CHILDREN["script"]:
            script = next((one for one in (parent, *page.loads) if one.kind == "script"), None)
            if script is not None:
                load.late_ms, parent = round(started - load_ms), script
        parent.loads.append(load)
    return [page, *by_id.values()]


def _parent(load: _Load, by_id: Mapping[int, _Load]) -> _Load | None:
    """The nearest cause of a request that can load its kind; None: the page. Nothing is caused by what comes later."""
    row = load.row
    while (above := by_id.get(row["initiator_id"])) is not None and above.row["request_id"] < row["request_id"]:
        if load.kind in entries.CHILDREN.get(above.kind, ()):
            return above
        row = above.row
    return None


def _resources(
    parent: _Load, within: entries.Kind, hosts: Collection[str], round_trip_ms: int
) -> Iterator[entries.ResourceEntry]:
    """What a page or resource loads; in the place of what goes to a host that is not known, what that loads."""
    for load in parent.loads:
        host, kind = load.row["host"], load.kind
        if host not in hosts:
            yield from _resources(load, within, hosts, round_trip_ms)
            continue
        scheme = "wss" if kind == "websocket" else "https"
        keys: Row = {kind: f"{scheme}://{host}/{load.row['request_id']}.{load.ending}"}
        if kind != "websocket":
            keys |= _measures(load.row, round_trip_ms) | _credentials(load)
        if within == "script":
            keys["after_ms"] = load.late_ms
        yield entries.ResourceEntry(**keys, loads=list(_resources(load, kind, hosts, round_trip_ms)))


def _measures(row: Row, round_trip_ms: int) -> Row:
    size, wait_ms = min(row["bytes"] or 0, entries.LONGEST_BODY), round((row["wait_ms"] or 0) - round_trip_ms)
    return {"size": size if size > 0 else None, "wait_ms": max(0, wait_ms)}


def _credentials(load: _Load) -> Row:
    mode = load.row["credentials"]
    if load.kind == "fetch":
        return {"credentials": "omit" if mode == "omit" else "include"}
    if load.kind == "xhr":
        return {"credentials": "include" if mode == "include" else "same-origin"}
    return {"crossorigin": True} if mode == "omit" and load.kind in ("style", "script", "image") else {}


# -- hosts -------------------------------------------------------------------------------------------------------------


class _Hosts:
    """The entries of hosts and of their certificates; what of them is not known is added to ``left_out``."""

    def __init__(
        self, requests: list[Row], tables: Mapping[str, pl.DataFrame], deployed: Deployment, left_out: list[str]
    ) -> None:
        self.entries: dict[str, entries.HostEntry] = {}
        self._requests = requests
        self._connections = tables["connections"].to_dicts()
        self._queries = tables["dns_queries"].filter(pl.col("rtype").is_in(["A", "AAAA"]))
        self._asns: dict[str, int | None] = dict(tables["addresses"].select("ip", "asn").iter_rows())
        self._names: defaultdict[str | None, set[str]] = defaultdict(set)
        for certificate_id, name in tables["certificate_names"].select("certificate_id", "name").iter_rows():
            if entries.HOST_NAME.fullmatch(name.removeprefix("*.")):
                self._names[certificate_id].add(name)
        self._deployed = deployed
        self._left_out = left_out
        self.certificates: dict[tuple[str | None, ...], tuple[str, entries.CertificateEntry]] = {}

    def add(self, name: str) -> None:
        """Add a host, if it may be in a testbed: it has a name and a public address."""
        addresses = self._addresses(name)
        if not addresses or entries.HOST_NAME.fullmatch(name) is None:
            return
        protocols = Counter(row["protocol"] for row in self._requests if row["host"] == name)
        http3 = protocols["h3"] > 0
        self.entries[name] = entries.HostEntry(
            addresses=addresses,
            asn=self._asns.get(addresses[0]),
            certificate=self._certificate(name),
            protocol="http/1.1" if protocols["http/1.1"] > protocols["h2"] and not http3 else "h2",
            http3="advertised" if http3 else None,
            https_record=entries.HttpsRecordEntry(["h3", "h2"]) if http3 else None,
            origin_set=self._origin_set(name),
            own_connection=any(name in (row["misdirected"] or ()) for row in self._connections),
        )

    def add_redirects(self, document: Row, used: Collection[str]) -> list[Row]:
        """Add the hosts that only redirect to the page; of each its first redirect, in their order."""
        redirects: dict[str, Row] = {}
        for row in self._requests:
            if _redirects(row) and row["request_id"] < document["request_id"] and row["host"] not in used:
                redirects.setdefault(row["host"], row)
        for name in redirects:
            self.add(name)
        way = [row for name, row in redirects.items() if name in self.entries]
        for name, then in pairwise(row["host"] for row in (*way, document)):
            self.entries[name] = replace(self.entries[name], redirect=f"https://{then}/")
        return way

    def _addresses(self, name: str) -> list[str]:
        answers = self._queries.filter(pl.col("host") == name)["answers"].drop_nulls().explode().to_list()
        # A foreign HAR has no answers, only where each request went.
        seen = answers or [row["server_ip"] for row in self._requests if row["host"] == name]
        return [address for address in dict.fromkeys(seen) if address is not None and _is_public(address)]

    def _origin_set(self, name: str) -> list[str] | None:
        if name in self._deployed.origins:
            return list(self._deployed.origins[name])
        own = (row["origin_set"] for row in self._connections if row["first_host"] == name)
        sent = next((entries for entries in own if entries is not None), None)
        return None if sent is None else list(filter(_is_origin, sent))

    def _certificate(self, name: str) -> str:
        """The key of the certificate that the host's own connections showed, else of one that carried it."""
        own = [row for row in self._connections if row["first_host"] == name]
        carried = [row for row in self._connections if name in (row["hosts"] or ())]
        for row in (*own, *carried):
            if names := self._names[row["certificate_id"]]:
                return self._key(name, row["certificate_id"], sorted(names))
        self._left_out.append(f"the certificate of {_shown(name)}, which is not known: it gets one of its own")
        return self._key(name, None, [name])

    def _key(self, host: str, certificate_id: str | None, names: list[str]) -> str:
        new = f"certificate-{len(self.certificates) + 1}", entries.CertificateEntry(names)
        key, entry = self.certificates.setdefault((certificate_id, *names), new)
        if host in self._deployed.origins:
            entry.names.extend(name for name in self._deployed.names if name not in entry.names)
        return key


def _is_public(address: str) -> bool:
    """Answers of a name server may be no addresses."""
    try:
        return is_public(address)
    except ValueError:
        return False


def _is_origin(text: str) -> bool:
    found = _ORIGIN.fullmatch(text)
    return (
        found is not None
        and entries.HOST_NAME.fullmatch(found[1]) is not None
        and int((found[2] or ":0")[1:]) < 1 << 16
    )


def _shown(name: str) -> str:
    """A name as it may stand in a comment or on a terminal."""
    return name if re.fullmatch(r"[a-z0-9_.-]+", name) else json.dumps(name)
