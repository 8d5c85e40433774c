"""A visited page as a scenario of the testbed: its hosts, addresses, certificate names, sizes and waits; no contents.

Same: the hosts, the addresses that DNS gave (public ones; others cannot be had there), the names in their certificates,
ORIGIN sets, HTTP versions, refusals (421), what loaded what and with which credentials, each answer's size as it was
transferred and how long its first byte took, the round trip included. Different: paths and contents are made up, and
what started after the load event starts as late after it as it did, by a script of the page's. A plan can be deployed
in it: its servers' sets and names stand in place of what was seen.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import polars as pl

from originset.data.scenario import entries
from originset.data.scenario.toml_text import toml_text
from originset.models.experiments.site_scenario_hosts import Row, SiteHosts, redirects, shown
from originset.models.plans.planned_connections import Deployment

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

    ``visit``: a row of visits. ``tables``: that visit's rows of requests, network_requests, documents, connections and
    dns_queries; certificate_names of its certificates; addresses. ``deployed``: the sets that servers send, and the
    names that their certificates have besides. ``round_trip_ms``: what the testbed itself takes, which no answer then
    waits for.
    """
    left_out: list[str] = []
    requests = _over_tls(tables["requests"], tables["network_requests"], left_out)
    numbers = tables["documents"]["request_id"].to_list()
    document = next((row for row in requests if row["request_id"] in numbers and not redirects(row)), None)
    if document is None:
        return None
    asked = [row for row in requests if row is not document]
    loaded = [row for row in asked if not _leads_elsewhere(row)]
    # Redirects before the document led to it.
    if skipped := sum(_leads_elsewhere(row) and row["request_id"] > document["request_id"] for row in asked):
        left_out.append(f"{skipped} redirects and preflights")
    used = {row["host"] for row in (document, *loaded)}
    hosts = SiteHosts(requests, tables, deployed or Deployment({}), left_out)
    for name in sorted(used):
        hosts.add(name)
    if document["host"] not in hosts.entries:
        return None
    if lost := [row["host"] for row in loaded if row["host"] not in hosts.entries]:
        names = ", ".join(sorted(map(shown, set(lost))))
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


def _over_tls(every: pl.DataFrame, on_network: pl.DataFrame, left_out: list[str]) -> list[Row]:
    """The requests that went over TLS to https's port, in their order."""
    over_tls = on_network.filter("secure", pl.col("host").is_not_null()).sort("request_id")
    if others := every.height - over_tls.height:
        left_out.append(f"{others} requests that went over no TLS connection, or were answered by a cache")
    kept = over_tls.filter(pl.col("port").is_null() | (pl.col("port") == _HTTPS_PORT))
    if others := over_tls.height - kept.height:
        left_out.append(f"{others} requests to other ports than {_HTTPS_PORT}")
    return kept.to_dicts()


def _leads_elsewhere(row: Row) -> bool:
    return redirects(row) or row["method"] == "OPTIONS"


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
