"""The plan of a site: which origins its servers can announce now, and which names their certificates lack for more.

RFC 8336 restricts as well as it permits: a client that honours a set no longer uses the connection for a host outside
it, even one that shares address and certificate. So a set holds everything that coalesces today; where it cannot, the
plan says what that breaks.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from operator import itemgetter
from typing import Any, Literal

import msgspec
import polars as pl

from originset.data.quantity import quantity
from originset.models.browsers.browser_support import Advice, HttpsRecord, advice, https_records
from originset.models.origins import serialize, why_no_origin
from originset.models.plans.certificate_costs import Costs, costs
from originset.models.plans.client_shares import ClientMix
from originset.models.plans.plan_queries import plan_rows

VERSION = 1

Row = dict[str, Any]

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
    "saves_nothing",
    "no_evidence",
]

_REFUSED = {
    "excluded": "excluded, as asked",
    "misdirected": "a server answered 421 for it",
    "not_a_name": "no CA takes it into a certificate",
    "multi_cdn": "it is on another edge at times",
    "saves_nothing": "it saves no connection in Chromium or Firefox",
}

#: What a name saves over the visits of a site, or of a provider's sites, in each browser.
SAVED = ("connections_saved_chromium", "connections_saved_chromium_h3", "connections_saved_firefox")


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
    zero_savings: bool = False,
) -> Plan:
    """The plan of one site.

    ``tables``: the site's rows of ``origin_sets``, ``certificate_additions`` and ``site_certificates``, the names of
    its certificate from ``certificate_names``, the sizes of its chain (``chain``: der_bytes, leaf first), and of
    ``requests`` scheme, host, protocol, server_ip and the address's asn (repeated rows do not matter). Servers come
    with the most visited first: the one to begin with. ``excluded``: hosts that are neither announced nor added.
    ``client_mix`` ranks additions by what they save on average over these clients; else the paper's rank holds. Names
    that save nothing in any browser are among the additions only with ``zero_savings``.
    """
    names = sorted(tables["certificate_names"]["name"].to_list())
    certificate = next(tables["site_certificates"].iter_rows(named=True), {})
    seen = {name: tables[name].lazy() for name in ("origin_sets", "requests")}
    hosts = plan_rows("server_hosts", seen, {"excluded": sorted(excluded)}).to_dicts()
    by_server = {server: list(rows) for server, rows in groupby(hosts, itemgetter("server"))}
    servers = [_server(server, rows, names) for server, rows in by_server.items()]
    refused: dict[str, Reason] = {row["host"]: "misdirected" for row in hosts if row["reason"] == "misdirected"}
    refused |= dict.fromkeys(excluded, "excluded")
    rows = tables["certificate_additions"].sort("rank", "name", nulls_last=True).to_dicts()
    judged = [_addition(row, refused.get(row["name"]), client_mix, zero_savings=zero_savings) for row in rows]
    additions = [one for one in judged if isinstance(one, Addition)]
    if client_mix is not None:
        # What is not known comes last; equals stay in the paper's order.
        additions.sort(key=lambda one: -(-1.0 if one.connections_saved_mix is None else one.connections_saved_mix))
    taken = additions[:max_additions]
    asked_for = [addition.name for addition in taken if addition.validatable_by == "site"]
    return Plan(
        site=site,
        basis=basis,
        servers=servers,
        additions=taken,
        additions_left_out=[one for one in judged if isinstance(one, AdditionLeftOut)],
        additions_not_taken=len(additions) - len(taken),
        certificate_id=certificate.get("certificate_id"),
        certificate_names=certificate.get("existing_names"),
        names=names or None,
        client_mix=client_mix,
        costs=costs(asked_for, tables["chain"]["der_bytes"].to_list()),
        advice=advice(msgspec.structs.asdict(addition) for addition in taken),
        https_records=https_records(
            {one.server: by_server[one.server][0]["own_protocols"] or [] for one in servers if one.announce}
        ),
    )


def _server(server: str, rows: list[Row], certificate_names: list[str]) -> Server:
    """One server's set; ``rows``: its rows of ``plans/server_hosts.sql``."""
    left_out = [LeftOut(**_fields(LeftOut, row)) for row in rows if row["reason"] is not None]
    kept = [row for row in rows if row["reason"] is None]
    # The server always includes itself: where its own name is no origin there is no set.
    if any(entry.host == server for entry in left_out):
        kept = []
    announce = []
    for row in kept:
        origin, today = serialize(row["host"], row["port"] or 443), row["coalesces_today"] is True
        announce.append(Announced(**_fields(Announced, row | {"origin": origin, "coalesces_today": today})))
    saved = [row["connections_saved_firefox"] for row in kept]
    return Server(
        server=server,
        announce=announce,
        left_out=left_out,
        warnings=_warnings(announce, left_out, rows[0]["own_protocols"], certificate_names),
        connections_saved_firefox=None if None in saved else sum(saved),
        same_server=sorted(
            row["host"] for row in kept if row["host"] != server and row["coalesces_today"] and row["shares_address"]
        ),
    )


def _addition(
    row: Row, refused: Reason | None, client_mix: ClientMix | None, *, zero_savings: bool
) -> Addition | AdditionLeftOut:
    """What becomes of a row of ``certificate_additions``; ``refused``: why its name is not to be announced."""
    no_origin = why_no_origin(row["name"], None)
    reason: Reason | None = refused or row["blocked_reason"]
    if no_origin is not None and refused != "excluded":
        return AdditionLeftOut(name=row["name"], reason="not_an_origin", detail=no_origin)
    # What is not known of one browser may be saved there.
    if reason is None and not zero_savings and all(row[name] == 0 for name in SAVED):
        reason = "saves_nothing"
    if reason is not None:
        return AdditionLeftOut(name=row["name"], reason=reason, detail=_REFUSED[reason])
    mix = None if client_mix is None else client_mix.saved(row)
    return Addition(**_fields(Addition, row | {"connections_saved_mix": mix}))


def _fields(kind: type[msgspec.Struct], row: Row) -> Row:
    return {name: row[name] for name in kind.__struct_fields__}


def _warnings(
    announce: list[Announced], left_out: list[LeftOut], protocols: list[str] | None, certificate_names: list[str]
) -> list[str]:
    warnings = []
    if protocols and "h2" not in protocols:
        warnings.append("the server was not seen over HTTP/2, which ORIGIN frames need (RFC 8336)")
    losing = [entry.host for entry in left_out if entry.coalesces_today is not False]
    if losing:
        warnings.append(
            f"{quantity(len(losing), 'host')} at the server's address not announced ({_some(losing)}): browsers that "
            "honour ORIGIN will open connections of their own for what the certificate covers"
        )
    announced = {entry.origin.removeprefix("https://") for entry in announce}
    unseen = [name for name in certificate_names if name not in announced]
    if unseen and announce:
        warnings.append(
            f"the certificate also covers {quantity(len(unseen), 'name')} not announced ({_some(unseen)}): where they "
            "share the server's address and connections today, browsers that honour ORIGIN will stop sharing them"
        )
    return warnings


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
