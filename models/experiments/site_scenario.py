"""A visited page as a scenario of the testbed: its hosts, addresses, certificate names, sizes and waits; no contents.

The scenario has the page's hosts, their public addresses in DNS, the names in their certificates, ORIGIN sets, HTTP
versions, refusals (421), the tree of what loaded what, credentials, the transferred size of each answer, and the time
to its first byte, round trip included. Paths and contents are made up. What started after the load event is started by
a script as long after it as it was. A plan can be deployed in the scenario: its ORIGIN sets and names replace the
recorded ones.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import polars as pl

from originset.data.scenario import entries
from originset.data.scenario.toml_text import toml_text
from originset.models.experiments.site_scenario_hosts import Row, SiteHosts, is_redirect, printable_name
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
    """A scenario as TOML (``text``), and sentences on what of the page is not in it (``left_out``).

    ``requests``: the request_ids of the scenario; ``latest_ms``: how long after the load event the last of them starts.
    """

    text: str
    left_out: list[str]
    requests: frozenset[int]
    latest_ms: int


def site_scenario(
    visit: Row, tables: Mapping[str, pl.DataFrame], deployed: Deployment | None = None, round_trip_ms: int = 0
) -> SiteScenario | None:
    """The scenario of one visit; None if it has no document over https, or its host has no known public address.

    ``visit``: a row of visits. ``tables``: that visit's rows of requests, network_requests, documents, connections and
    dns_queries; certificate_names of its certificates; addresses. ``deployed``: the ORIGIN sets that servers send, and
    the additional names of their certificates. ``round_trip_ms``: the testbed's own round trip, which is subtracted
    from each answer's wait.
    """
    left_out: list[str] = []
    requests = _over_tls(tables["requests"], tables["network_requests"], left_out)
    numbers = tables["documents"]["request_id"].to_list()
    document = next((row for row in requests if row["request_id"] in numbers and not is_redirect(row)), None)
    if document is None:
        return None
    subresources = [row for row in requests if row is not document]
    loaded = [row for row in subresources if not _is_redirect_or_preflight(row)]
    # Redirects before the document are those to it.
    if skipped := sum(
        _is_redirect_or_preflight(row) and row["request_id"] > document["request_id"] for row in subresources
    ):
        left_out.append(f"{skipped} redirects and preflights")
    used = {row["host"] for row in (document, *loaded)}
    hosts = SiteHosts(requests, tables, deployed or Deployment({}), left_out)
    for name in sorted(used):
        hosts.add(name)
    if document["host"] not in hosts.entries:
        return None
    if without_host := [row["host"] for row in loaded if row["host"] not in hosts.entries]:
        names = ", ".join(sorted(map(printable_name, set(without_host))))
        left_out.append(f"{len(without_host)} requests to hosts without a public address that is known: {names}")
    redirects_and_document = [*hosts.add_redirects(document, used), document]
    page, *loads = _page(document, loaded, visit["load_ms"])
    placed = [load for load in loads if load.row["host"] in hosts.entries]
    site = entries.SiteEntry(
        lands_on=document["host"] if len(redirects_and_document) > 1 else None,
        loads=list(_resources(page, "page", hosts.entries, round_trip_ms)),
        **_measures(document, round_trip_ms),
    )
    title = redirects_and_document[0]["host"]
    scenario = entries.ScenarioEntries(
        title=title, certificate=dict(hosts.certificates.values()), host=hosts.entries, site={title: site}
    )
    remark = f"Made by originset from a visit of {document['host']}: contents are made up."
    return SiteScenario(
        toml_text(scenario, (remark, *(f"Not in it: {sentence}." for sentence in left_out))),
        left_out,
        frozenset(row["request_id"] for row in (*redirects_and_document, *(load.row for load in placed))),
        max((load.late_ms or 0 for load in placed), default=0),
    )


def _over_tls(requests: pl.DataFrame, on_network: pl.DataFrame, left_out: list[str]) -> list[Row]:
    """The requests over TLS to port 443, in their order."""
    over_tls = on_network.filter("secure", pl.col("host").is_not_null()).sort("request_id")
    if left := requests.height - over_tls.height:
        left_out.append(f"{left} requests that went over no TLS connection, or were answered by a cache")
    to_https_port = over_tls.filter(pl.col("port").is_null() | (pl.col("port") == _HTTPS_PORT))
    if left := over_tls.height - to_https_port.height:
        left_out.append(f"{left} requests to other ports than {_HTTPS_PORT}")
    return to_https_port.to_dicts()


def _is_redirect_or_preflight(row: Row) -> bool:
    return is_redirect(row) or row["method"] == "OPTIONS"


@dataclass(eq=False)
class _Load:
    """A request in the page's tree; ``late_ms``: how long after the load event a script starts it, or None."""

    row: Row
    kind: entries.Kind
    ending: str = ""
    late_ms: int | None = None
    loads: list[_Load] = field(default_factory=list)


def _page(document: Row, loaded: Iterable[Row], load_ms: float | None) -> list[_Load]:
    """All loads of the page in a list, the page first; ``loads`` of each make the tree."""
    page = _Load(document, "page")
    by_id: dict[int, _Load] = {}
    for row in loaded:
        load = by_id[row["request_id"]] = _Load(row, *_KINDS.get(row["resource_type"] or "", _OTHER))
        parent = _parent(load, by_id) or page
        started_ms = row["started_ms"]
        is_late = load_ms is not None and started_ms is not None and started_ms > load_ms + _LATE_MS
        if is_late and load.kind in entries.CHILDREN["script"]:
            script = next(
                (load_of_page for load_of_page in (parent, *page.loads) if load_of_page.kind == "script"), None
            )
            if script is not None:
                load.late_ms, parent = round(started_ms - load_ms), script
        parent.loads.append(load)
    return [page, *by_id.values()]


def _parent(load: _Load, by_id: Mapping[int, _Load]) -> _Load | None:
    """The nearest initiator that can load such a resource; None for the page. An initiator is an earlier request."""
    row = load.row
    while (initiator := by_id.get(row["initiator_id"])) is not None and initiator.row["request_id"] < row["request_id"]:
        if load.kind in entries.CHILDREN.get(initiator.kind, ()):
            return initiator
        row = initiator.row
    return None


def _resources(
    parent: _Load, within: entries.Kind, hosts: Collection[str], round_trip_ms: int
) -> Iterator[entries.ResourceEntry]:
    """What a page or resource loads; a load whose host is not in ``hosts`` is replaced by what it loads itself."""
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
