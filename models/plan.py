"""The plan of a site: which origins its servers can announce now, and which names their certificates lack for more.

RFC 8336 restricts as well as it permits: a client that honours a set no longer uses the connection for a host outside
it, even one that shares address and certificate. So a set holds everything that coalesces today; where it cannot, the
plan says what that breaks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec
import polars as pl

from originset.models.advice import Advice, HttpsRecord, advice, https_records
from originset.models.client_mix import ClientMix
from originset.models.costs import Costs, costs
from originset.models.origins import NotAnOriginError, serialize

VERSION = 1

# A host seen in fewer visits than one in ten is not worth bytes on every connection. Ten visits are needed to say so.
RARE_SHARE = 0.1

_SEEN_COALESCED = 5
_MISDIRECTED = "a server answered 421 for it"

Reason = Literal[
    "misdirected",
    "not_covered",
    "coverage_unknown",
    "not_https",
    "no_http2",
    "other_port",
    "rare",
    "elsewhere",
    "excluded",
    "not_an_origin",
    "not_a_name",
    "multi_cdn",
]

_BLOCKED = {
    "misdirected": _MISDIRECTED,
    "not_a_name": "no CA takes it into a certificate",
    "multi_cdn": "it is on another edge at times",
}
_EXCLUDED = "excluded, as asked"


class Basis(msgspec.Struct, frozen=True, kw_only=True):
    """What a plan rests on. Dates are days in UTC, ``YYYY-MM-DD``; None where no visit says when it was."""

    study: str
    visits: int
    vantages: int
    first_visit: str | None = None
    last_visit: str | None = None


class Announced(msgspec.Struct, frozen=True, kw_only=True):
    """One origin to announce and what was seen of its host.

    ``coalesces_today``: browsers may use the server's connection for it without ORIGIN; always so for the server's own.
    """

    origin: str
    level: int | None
    requests: int | None
    visits: int | None
    seen_share: float | None
    coalesces_today: bool
    connections_saved_firefox: int | None = None


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """A host in the server's AS that is not announced.

    ``coalesces_today``: browsers may use the server's connection for it now, since it shares the server's address and
    certificate; None where it shares the address and the certificate's names are not known. Those that honour ORIGIN
    will open a connection of its own for it.
    """

    host: str
    port: int | None
    reason: Reason
    detail: str
    requests: int | None
    visits: int | None
    coalesces_today: bool | None


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """One server of the site (a host that answered for its document) and its set, most requested origin first.

    ``connections_saved_firefox``: what announcing the set saves there over the site's visits; None if not known.
    ``same_server``: other hosts of the set at its addresses, such as one that redirects to it. Their connections serve
    it too, so that they are to send the same set.
    """

    server: str
    announce: list[Announced]
    left_out: list[LeftOut]
    warnings: list[str]
    connections_saved_firefox: int | None = None
    same_server: list[str] = []

    @property
    def origins(self) -> list[str]:
        """The set, sorted; empty where the server's own name is no origin."""
        return sorted({entry.origin for entry in self.announce})


class Addition(msgspec.Struct, frozen=True, kw_only=True):
    """A name that the site's certificate lacks.

    It may be announced only after the certificate covers it and its owner has confirmed that the server can answer for
    it. ``level`` is the evidence for that so far (0 same AS ... 5 seen coalesced).
    """

    name: str
    rank: int | None
    certificate_id: str | None
    level: int | None
    same_owner: bool | None
    connections_saved_paper: int | None
    validatable_by: Literal["site", "provider", "nobody_known"] | None = None
    connections_saved_chromium: int | None = None
    connections_saved_chromium_h3: int | None = None
    connections_saved_firefox: int | None = None
    connections_saved_mix: float | None = None


class AdditionLeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """A name that the certificate lacks and should go on lacking."""

    name: str
    reason: Reason
    detail: str


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A site's plan, the content of plan.json. Later versions may add fields, never change them.

    ``additions_not_taken`` counts those beyond the asked-for number; ``certificate_names`` is the number of names that
    the site's certificate has today and ``names`` are these, sorted; None where they are not known.
    """

    site: str
    basis: Basis
    servers: list[Server]
    additions: list[Addition]
    additions_left_out: list[AdditionLeftOut]
    additions_not_taken: int
    certificate_id: str | None
    certificate_names: int | None
    names: list[str] | None = None
    client_mix: ClientMix | None = None
    costs: Costs | None = None
    advice: list[Advice] = []
    https_records: list[HttpsRecord] = []
    format: Literal["originset-plan"] = "originset-plan"
    version: int = VERSION


def plan(
    site: str,
    basis: Basis,
    tables: Mapping[str, pl.DataFrame],
    max_additions: int | None = None,
    *,
    excluded: frozenset[str] = frozenset(),
    client_mix: ClientMix | None = None,
) -> Plan:
    """The plan of one site.

    ``tables``: the site's rows of ``origin_sets``, ``certificate_additions`` and ``site_certificates``, the names of
    its certificate from ``certificate_names``, the sizes of its chain (``chain``: der_bytes, leaf first), and of
    ``requests`` scheme, host, protocol, server_ip and the address's asn (repeated rows do not matter). Servers come
    with the most visited first: the one to begin with. ``excluded``: hosts that are neither announced nor added.
    ``client_mix`` ranks additions by what they save on average over these clients; else the paper's rank holds.
    """
    sets, seen = tables["origin_sets"], _seen(tables["requests"])
    names = sorted(tables["certificate_names"]["name"].to_list())
    certificate = next(tables["site_certificates"].iter_rows(named=True), {})
    visited = sets.filter(pl.col("server") == pl.col("host")).sort("visits", "server", descending=[True, False])
    order = dict.fromkeys([*visited["server"], *sets["server"].unique().sort()])
    sets = sets.join(seen, "host", "left").with_columns(pl.col("host").is_in(excluded).alias("excluded"))
    servers = [_server(name, sets.filter(pl.col("server") == name), names) for name in order]
    misdirected = {entry.host for server in servers for entry in server.left_out if entry.reason == "misdirected"}
    additions: list[Addition] = []
    left_out: list[AdditionLeftOut] = []
    for row in tables["certificate_additions"].sort("rank", "name", nulls_last=True).iter_rows(named=True):
        _, why_not = _origin(row["name"], None)
        reason: Reason | None = "misdirected" if row["name"] in misdirected else row["blocked_reason"]
        if row["name"] in excluded:
            left_out.append(AdditionLeftOut(name=row["name"], reason="excluded", detail=_EXCLUDED))
        elif why_not is not None:
            left_out.append(AdditionLeftOut(name=row["name"], reason="not_an_origin", detail=why_not))
        elif reason is not None:
            left_out.append(AdditionLeftOut(name=row["name"], reason=reason, detail=_BLOCKED[reason]))
        else:
            row["connections_saved_mix"] = None if client_mix is None else client_mix.saved(row)
            additions.append(Addition(**{field: row[field] for field in Addition.__struct_fields__}))
    if client_mix is not None:
        # What is not known comes last; equals stay in the paper's order.
        additions.sort(
            key=lambda addition: -1.0 if (worth := addition.connections_saved_mix) is None else worth, reverse=True
        )
    taken = additions[:max_additions]
    asked_for = [addition.name for addition in taken if addition.validatable_by == "site"]
    protocols = {row["host"]: row["protocols"] for row in seen.iter_rows(named=True)}
    return Plan(
        site=site,
        basis=basis,
        servers=servers,
        additions=taken,
        additions_left_out=left_out,
        additions_not_taken=len(additions) - len(taken),
        certificate_id=certificate.get("certificate_id"),
        certificate_names=certificate.get("existing_names"),
        names=names or None,
        client_mix=client_mix,
        costs=costs(asked_for, tables["chain"]["der_bytes"].to_list()),
        advice=advice(msgspec.structs.asdict(addition) for addition in taken),
        https_records=https_records(
            {server.server: protocols.get(server.server, []) for server in servers if server.announce}
        ),
    )


def _seen(requests: pl.DataFrame) -> pl.DataFrame:
    """One row per host: its addresses and protocols, and whether it was asked for over TLS."""
    return requests.group_by("host").agg(
        pl.col("server_ip").drop_nulls().unique().sort().alias("addresses"),
        pl.col("protocol").drop_nulls().unique().sort().alias("protocols"),
        pl.col("asn").drop_nulls().unique().sort().alias("asns"),
        pl.col("scheme").is_in(["https", "wss"]).any().alias("tls"),
    )


def _server(server: str, rows: pl.DataFrame, certificate_names: list[str]) -> Server:
    """One server's set; ``rows``: its rows of ``origin_sets``, joined with :func:`_seen`."""
    own: dict[str, Any] = next(rows.filter(pl.col("host") == server).iter_rows(named=True), {})
    announce: list[Announced] = []
    left_out: list[LeftOut] = []
    same_server: list[str] = []
    for row in rows.sort("requests", "host", descending=[True, False], nulls_last=True).iter_rows(named=True):
        today = True if row["host"] == server else _coalesces_today(row, own)
        origin, why_not = _origin(row["host"], row["port"])
        reason = None if row["host"] == server else _reason(row, own, coalesces_today=today)
        if why_not is not None:
            reason = ("not_an_origin", why_not)
        facts = {name: row[name] for name in ("requests", "visits")}
        if reason is None and origin is not None:
            shown = {name: row[name] for name in ("level", "seen_share", "connections_saved_firefox")}
            shown["coalesces_today"] = today is True
            announce.append(Announced(origin=origin, **facts, **shown))
            if row["host"] != server and today and _shares_address(row, own):
                same_server.append(row["host"])
        elif reason is not None:
            named = {"host": row["host"], "port": row["port"], "coalesces_today": today}
            left_out.append(LeftOut(reason=reason[0], detail=reason[1], **facts, **named))
    # The server always includes itself: where its own name is no origin there is no set.
    if any(entry.host == server for entry in left_out):
        announce, same_server = [], []
    saved = [entry.connections_saved_firefox for entry in announce]
    return Server(
        server=server,
        announce=announce,
        left_out=left_out,
        warnings=_warnings(announce, left_out, own, certificate_names),
        connections_saved_firefox=None if None in saved else sum(one for one in saved if one is not None),
        same_server=sorted(same_server),
    )


def _coalesces_today(row: dict[str, Any], own: dict[str, Any]) -> bool | None:
    """Whether browsers can use the server's connection for the host now, without ORIGIN: by address."""
    if row["level"] == _SEEN_COALESCED:
        return True
    if not _shares_address(row, own) or row["misdirected"] or row["port"] != own.get("port"):
        return False
    covered: bool | None = row["covered_by_certificate"]
    return covered


def _shares_address(row: dict[str, Any], own: dict[str, Any]) -> bool:
    return not set(row["addresses"] or ()).isdisjoint(own.get("addresses") or ())


def _reason(row: dict[str, Any], own: dict[str, Any], *, coalesces_today: bool | None) -> tuple[Reason, str] | None:
    """Why a host is not announced; None where it is."""
    protocols, share, covered = row["protocols"], row["seen_share"], row["covered_by_certificate"]
    other_kind = bool(protocols) and not {"h2", "h3"}.intersection(protocols)
    elsewhere = set(row["asns"] or ()).difference(own.get("asns") or (), [row["asn"]])
    reasons: list[tuple[bool, Reason, str]] = [
        (row["excluded"], "excluded", _EXCLUDED),
        (bool(row["misdirected"]), "misdirected", _MISDIRECTED),
        (row["tls"] is False, "not_https", "it was asked for without TLS only"),
        (covered is None, "coverage_unknown", "the names of the server's certificate are not known"),
        (covered is False, "not_covered", "the server's certificate does not cover it"),
        (row["port"] != own.get("port"), "other_port", "it is reached through another port than the server"),
        (other_kind and not coalesces_today, "no_http2", "it was seen over HTTP/1 only: another kind of server"),
        (
            share is not None and share < RARE_SHARE and not coalesces_today,
            "rare",
            f"it was seen in {counted(row['visits'], 'visit')} only",
        ),
        (
            bool(elsewhere) and row["asn"] in row["asns"] and not coalesces_today,
            "elsewhere",
            f"in some visits it was elsewhere (AS{min(elsewhere, default=0)}), as where it is depends on the vantage",
        ),
    ]
    return next(((reason, detail) for applies, reason, detail in reasons if applies), None)


def _origin(host: str, port: int | None) -> tuple[str | None, str | None]:
    """The origin, or why there is none. A port that is not known is taken for 443, https's own."""
    try:
        return serialize(host, 443 if port is None else port), None
    except NotAnOriginError as error:
        return None, error.reason


def _warnings(
    announce: list[Announced], left_out: list[LeftOut], own: dict[str, Any], certificate_names: list[str]
) -> list[str]:
    warnings = []
    if own.get("protocols") and "h2" not in own["protocols"]:
        warnings.append("the server was not seen over HTTP/2, which ORIGIN frames need (RFC 8336)")
    losing = [entry.host for entry in left_out if entry.coalesces_today is not False]
    if losing:
        warnings.append(
            f"{counted(len(losing), 'host')} at the server's address not announced ({_some(losing)}): browsers that "
            "honour ORIGIN will open connections of their own for what the certificate covers"
        )
    announced = {entry.origin.removeprefix("https://") for entry in announce}
    unseen = [name for name in certificate_names if name not in announced]
    if unseen and announce:
        warnings.append(
            f"the certificate also covers {counted(len(unseen), 'name')} not announced ({_some(unseen)}): where they "
            "share the server's address and connections today, browsers that honour ORIGIN will stop sharing them"
        )
    return warnings


def counted(number: int, noun: str) -> str:
    """``1 visit``, ``2 visits``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
