"""Which visit is next: one visit a site at a time, pauses before another attempt, and before the same server again."""

from __future__ import annotations

import hashlib
import heapq
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass

from originset.data.ledger.crawl_ledger import LedgerRow

# How often a waiting slot looks whether the crawl was told to end.
_POLL_S = 0.5


def shuffled(rows: Iterable[LedgerRow], seed: int) -> list[LedgerRow]:
    """Rows in an order that depends on nothing but ``seed`` and themselves, so that what is left keeps its order."""
    return sorted(rows, key=lambda row: _digest(seed, *row.key))


def in_shard(site: str, number: int, count: int) -> bool:
    """Whether a site is in shard ``number`` (from 1) of ``count``: by itself alone, whatever else is in the list."""
    return int.from_bytes(_digest(site)[:8], "big") % count == number - 1


def chosen(seed: int, site: str, urls: Iterable[str], count: int) -> list[str]:
    """``count`` of a site's URLs: the same in every visit that finds them, as far as it finds the same."""
    return sorted(set(urls), key=lambda url: _digest(seed, site, url))[:count]


def _digest(*parts: str | int) -> bytes:
    return hashlib.sha256(repr(parts).encode()).digest()


@dataclass(frozen=True, slots=True)
class RateLimit:
    """A server's key, such as an address, and the seconds that lie between two visits to it at least."""

    key: Hashable
    seconds: float


class Frontier:
    """Visits that wait, shared by all slots. ``site_of`` names what may be visited by one slot at a time.

    ``rate_limits`` says what limits a visit; it may take its time (it resolves names) and is asked once for a site.
    """

    def __init__(
        self,
        rows: Iterable[LedgerRow],
        site_of: Callable[[LedgerRow], str],
        rate_limits: Callable[[LedgerRow], tuple[RateLimit, ...]] = lambda _row: (),
    ) -> None:
        self._ready = deque(rows)
        self._site_of = site_of
        self._rate_limits = rate_limits
        self._limits_by_site: dict[str, tuple[RateLimit, ...]] = {}
        self._changed = threading.Condition()
        self._busy: set[str] = set()
        self._parked: dict[str, deque[LedgerRow]] = {}  # their site is being visited
        self._later: list[tuple[float, int, LedgerRow]] = []  # not before a time; the number keeps the order
        self._pushed = 0
        self._free: dict[Hashable, float] = {}  # when a server may be visited again
        self._given_up = 0

    def __len__(self) -> int:
        with self._changed:
            return self._given_up + self._waiting()

    def _waiting(self) -> int:
        return len(self._ready) + len(self._later) + sum(map(len, self._parked.values()))

    @property
    def finished(self) -> bool:
        """Nothing waits any more, and nothing is under way from which more could come."""
        with self._changed:
            return not self._busy and not self._waiting()

    def take(self, ended: Callable[[], bool]) -> LedgerRow | None:
        """The next visit, once there is one; its site is busy then. None where no more come, or it ``ended``."""
        while not ended():
            with self._changed:
                row, wait_s = self._pop()
                if row is None:
                    if wait_s is None and not self._busy:
                        return None
                    self._changed.wait(_POLL_S if wait_s is None else min(wait_s, _POLL_S))
                    continue
            try:
                rate_limits = self._limits(row)
            except BaseException:
                self.put(row)
                raise
            with self._changed:
                if (wait_s := self._reserve(rate_limits)) <= 0:
                    return row
                self._release(row)
                self._push(row, wait_s)
        return None

    def take_batch(self, ended: Callable[[], bool], most: int) -> list[LedgerRow]:
        """As :meth:`take`, with as many more as can be had at once; empty where no more come.

        More than one may be asked for only where nothing limits the rate of visits: a limit counts from when a visit
        is taken.
        """
        first = self.take(ended)
        rows = [] if first is None else [first]
        with self._changed:
            while rows and len(rows) < most and (row := self._pop()[0]) is not None:
                rows.append(row)
        return rows

    def _limits(self, row: LedgerRow) -> tuple[RateLimit, ...]:
        # Its site is this slot's alone, so nobody else asks meanwhile.
        rate_limits = self._limits_by_site.get(row.site) or self._rate_limits(row)
        if rate_limits:  # nothing is kept of the many sites that nothing limits
            self._limits_by_site[row.site] = rate_limits
        return rate_limits

    def _pop(self) -> tuple[LedgerRow | None, float | None]:
        """A row whose site is free, and takes the site; or how long until one that waits for a time is due."""
        now = time.monotonic()
        while self._later and self._later[0][0] <= now:
            self._ready.append(heapq.heappop(self._later)[2])
        while self._ready:
            row = self._ready.popleft()
            site = self._site_of(row)
            if site not in self._busy:
                self._busy.add(site)
                return row, None
            self._parked.setdefault(site, deque()).append(row)
        return None, self._later[0][0] - now if self._later else None

    def _reserve(self, rate_limits: tuple[RateLimit, ...]) -> float:
        now = time.monotonic()
        if (wait_s := max((self._free.get(pace.key, now) - now for pace in rate_limits), default=0.0)) > 0:
            return wait_s
        self._free.update((pace.key, now + pace.seconds) for pace in rate_limits)
        return 0.0

    def _release(self, row: LedgerRow) -> None:
        site = self._site_of(row)
        self._busy.discard(site)
        self._ready.extendleft(reversed(self._parked.pop(site, deque())))
        self._changed.notify_all()

    def _push(self, row: LedgerRow, wait_s: float) -> None:
        self._pushed += 1
        heapq.heappush(self._later, (time.monotonic() + wait_s, self._pushed, row))
        self._changed.notify_all()

    def done(self, row: LedgerRow, further: Iterable[LedgerRow] = ()) -> None:
        """A visit that :meth:`take` gave is over; ``further`` ones follow from it."""
        with self._changed:
            self._ready.extend(further)
            self._release(row)

    def put(self, row: LedgerRow, wait_s: float | None = None) -> None:
        """Give a visit back: to be the next again, or not before ``wait_s`` have passed."""
        with self._changed:
            if wait_s is None:
                self._ready.appendleft(row)
            else:
                self._push(row, wait_s)
            self._release(row)

    def give_up(self, row: LedgerRow) -> None:
        """A visit that :meth:`take` gave stays to be made, but by another crawl."""
        with self._changed:
            self._given_up += 1
            self._release(row)
