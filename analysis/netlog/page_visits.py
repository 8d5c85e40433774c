"""The page loads in a NetLog, of several tabs too: which requests, connections and lookups belong to which.

A page load begins with a request of a main frame. What follows belongs to it by the network anonymization key, whose
first part is the page's site; of several loads of one site, to the latest that had begun. A connection belongs to the
loads whose requests it carried; one that carried none, to the load during which it was opened.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field

from originset.analysis.netlog.exchanges import Exchange
from originset.data.netlog.resolver_jobs import Lookup
from originset.data.netlog.sockets import Socket, top_site
from originset.data.netlog.visit_log import VisitLog

_NO_SITE = {"", "null"}


@dataclass(slots=True)
class PageVisit:
    """One page load. ``document``: the source of its main frame's requests; ``earlier``: a load of the site before."""

    document: int
    started: int
    top_sites: set[str] = field(default_factory=set)
    exchanges: list[Exchange] = field(default_factory=list)
    sockets: dict[int, Socket] = field(default_factory=dict)
    lookups: list[Lookup] = field(default_factory=list)
    earlier: bool = False

    @property
    def main_exchanges(self) -> list[Exchange]:
        """The main frame's requests: one, and one for each redirect."""
        return [one for one in self.exchanges if one.sent.source == self.document and one.sent.main_frame]


class _LoadsOfSites:
    """Which page load a site's requests belong to at a time."""

    def __init__(self, visits: Iterable[PageVisit]) -> None:
        self._by_site: dict[str, list[PageVisit]] = {}
        self._starts: dict[str, list[int]] = {}
        for visit in sorted(visits, key=lambda one: one.started):
            for site in visit.top_sites:
                visit.earlier |= site in self._by_site
                self._by_site.setdefault(site, []).append(visit)
                self._starts.setdefault(site, []).append(visit.started)

    def at(self, site: str | None, time: int | None) -> PageVisit | None:
        """The latest load that had begun; the first for what was made ahead of it."""
        visits = self._by_site.get(site or "")
        if not visits:
            return None
        place = 0 if time is None else bisect_right(self._starts[site or ""], time)
        return visits[max(0, place - 1)]


def page_visits(log: VisitLog, exchanges: Iterable[Exchange]) -> list[PageVisit]:
    """The page loads, in the order of their start; requests that belong to none are the browser's own."""
    exchanges = [one for one in exchanges if one.sent.url.startswith(("http://", "https://", "ws://", "wss://"))]
    visits: dict[int, PageVisit] = {}
    for exchange in exchanges:
        sent = exchange.sent
        if sent.main_frame and sent.source is not None and sent.partition_key not in _NO_SITE:
            visit = visits.setdefault(sent.source, PageVisit(sent.source, sent.started))
            visit.top_sites.add(sent.partition_key)
    loads = _LoadsOfSites(visits.values())
    carriers: dict[int, list[PageVisit]] = {}
    for exchange in exchanges:
        sent = exchange.sent
        own = None if sent.source is None else visits.get(sent.source)
        owner = own if sent.main_frame else loads.at(sent.partition_key, sent.started)
        if owner is None:
            continue
        owner.exchanges.append(exchange)
        if sent.socket is not None and sent.socket in log.sockets:
            owner.sockets[sent.socket] = log.sockets[sent.socket]
            carriers.setdefault(sent.socket, []).append(owner)
    for number, socket in log.sockets.items():
        owner = loads.at(top_site(socket.partition_key), socket.opened)
        if number not in carriers and owner is not None:
            owner.sockets[number] = socket
    for lookup in log.lookups:
        if (owner := loads.at(top_site(lookup.partition_key), lookup.asked)) is not None:
            owner.lookups.append(lookup)
    return sorted(visits.values(), key=lambda one: one.started)
