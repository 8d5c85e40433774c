"""What coalescing does to each request of many pages at once: the paper's timeline rules over columns.

The rules are those of :mod:`originset.models.timeline`, which says where they are from. No Python object per request:
whole columns at a time, and a tree of any depth is followed to its root in as many steps as its depth has bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from originset.models.parameters import Parameters, Predecessor

Ints = np.ndarray[Any, np.dtype[np.int64]]
Floats = np.ndarray[Any, np.dtype[np.float64]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]
Chains = list[tuple[Ints, Ints]]

NONE = -1


@dataclass(frozen=True, slots=True)
class Requests:
    """Requests of pages, sorted by page, start and number; times in ms from their page's first request.

    ``page`` counts from 0 without gaps; ``number`` is the ``request_id``, ``initiator`` that of the request that caused
    it; ``lane``, a number that no other page has, says with which requests it queued: the connection where its id is
    known, else the origin. ``NONE`` stands for no initiator and no lane.
    """

    page: Ints
    number: Ints
    initiator: Ints
    lane: Ints
    started: Floats
    blocked: Floats
    dns: Floats
    connect: Floats
    send: Floats
    wait: Floats
    receive: Floats

    @property
    def starts(self) -> Ints:
        """Of each page, its first row."""
        return np.searchsorted(self.page, np.arange(self.page[-1] + 1 if self.page.size else 0))


@dataclass(frozen=True, slots=True)
class Timeline:
    """What is the same whoever coalesces: ``predecessor`` are rows, ``NONE`` where there is none.

    The rows ``after`` have one, and start ``gap`` ms after it; ``chains`` (:func:`_chains`) lead to the first. The
    requests ``waited`` queued while their ``opener`` had a DNS or connect phase: the last request before them in
    their lane that had one.
    """

    begun: Floats
    established: Floats
    first_byte: Floats
    ended: Floats
    predecessor: Ints
    after: Ints
    gap: Floats
    chains: Chains
    waited: Ints
    opener: Ints


@dataclass(frozen=True, slots=True)
class Changes:
    """What the model does to each request: it starts ``shift`` ms earlier and takes less time by the others."""

    shift: Floats
    dns: Floats
    connect: Floats
    blocked: Floats

    @property
    def total(self) -> Floats:
        """By how much each request ends earlier."""
        return self.shift + self.dns + self.connect + self.blocked


def timeline(requests: Requests, predecessor: Predecessor) -> Timeline:
    """The measured times that the model rests on."""
    begun = requests.started + requests.blocked
    established = begun + requests.dns + requests.connect
    first_byte = established + requests.send + requests.wait
    before = _predecessors(requests, first_byte, predecessor)
    after = np.flatnonzero(before != NONE)
    return Timeline(
        begun,
        established,
        first_byte,
        first_byte + requests.receive,
        before,
        after,
        requests.started[after] - requests.started[before[after]],
        _chains(before, after),
        *_openers(requests, begun, established),
    )


def reconstruct(requests: Requests, times: Timeline, coalesced: Flags, parameters: Parameters) -> Changes:
    """What coalescing does to each request.

    ``coalesced``: the requests that opened a connection although their page had asked the same server before.
    """
    dns = np.where(coalesced, requests.dns, 0.0)
    if parameters.parallel_dns == "minimum":
        _shorten(requests, times, dns)
    connect = np.where(coalesced, requests.connect, 0.0)
    blocked = np.zeros_like(dns)
    if parameters.blocked_time == "freed":
        # The handshake that these queued behind no longer happens.
        behind, opener = times.waited, times.opener
        behind, opener = behind[coalesced[opener]], opener[coalesced[opener]]
        overlap = np.minimum(times.established[opener], times.begun[behind]) - np.maximum(
            times.begun[opener], requests.started[behind]
        )
        blocked[behind] = np.maximum(0.0, np.minimum(overlap, dns[opener] + connect[opener]))
    own = dns + connect + blocked
    step = np.zeros_like(own)
    step[times.after] = np.minimum(own[times.predecessor[times.after]], times.gap)
    return Changes(_along(times.chains, step), dns, connect, blocked)


def load_times(requests: Requests, times: Timeline, total: Floats, measured: Floats) -> Floats:
    """The load event of each page if its requests end earlier by ``total``; ``measured`` where none had ended by then.

    ``measured``: one value a page, NaN where it is not known.
    """
    waited_for = times.ended <= measured[requests.page]
    starts = requests.starts
    if not starts.size:
        return measured
    was = np.maximum.reduceat(np.where(waited_for, times.ended, -np.inf), starts)
    now = np.maximum.reduceat(np.where(waited_for, times.ended - total, -np.inf), starts)
    some = np.isfinite(was)
    return np.where(some, measured - (np.where(some, was, 0.0) - np.where(some, now, 0.0)), measured)


def _predecessors(requests: Requests, first_byte: Floats, rule: Predecessor) -> Ints:
    rows = np.arange(requests.page.size)
    found = _initiators(requests) if rule == "initiator" else np.full(rows.size, NONE)
    # What started before it was asked for cannot have waited for it.
    found[found >= rows] = NONE
    first = np.ones(rows.size, dtype=np.bool_)
    first[1:] = requests.page[1:] != requests.page[:-1]
    open_ = np.flatnonzero((found == NONE) & ~first)
    found[open_] = _by_time(requests, first_byte, open_)
    return found


def _initiators(requests: Requests) -> Ints:
    """The row of each request's initiator in its page; ``NONE`` where it is not among the rows."""
    named = np.flatnonzero(requests.initiator >= 0)
    span = int(max(requests.number.max(initial=0), requests.initiator.max(initial=0))) + 1
    keys = requests.page * span + requests.number
    order = None if np.all(keys[1:] > keys[:-1]) else np.argsort(keys, kind="stable")
    keys = keys if order is None else keys[order]
    wanted = requests.page[named] * span + requests.initiator[named]
    # Mostly no row is missing, so the place follows from the number.
    first = requests.starts[requests.page[named]]
    place = np.minimum(first + requests.initiator[named], keys.size - 1)
    other = np.flatnonzero(keys[place] != wanted)
    place[other] = np.minimum(np.searchsorted(keys, wanted[other]), keys.size - 1)
    found = np.full(requests.page.size, NONE)
    there = keys[place] == wanted
    place = place[there]
    found[named[there]] = place if order is None else order[place]
    return found


def _by_time(requests: Requests, first_byte: Floats, rows: Ints) -> Ints:
    """For each of ``rows`` the request of its page whose first byte came last before its start."""
    order, scale = _by_arrival(requests.page, first_byte)
    arrived = first_byte[order]
    low = requests.starts[requests.page[rows]]
    started = requests.started[rows]

    def came_before(middle: Ints, searching: Ints) -> Flags:
        at, when = arrived[middle], started[searching]
        return np.asarray((at < when) | ((at == when) & (order[middle] < rows[searching])), np.bool_)

    # Sums of page and time find nearly all places; what rounding made equal is searched for again. No first byte
    # precedes its request's start, so at most as many came before as rows stand before.
    end = np.searchsorted(requests.page[order] * scale + arrived, requests.page[rows] * scale + started, side="right")
    end = np.clip(end, low, rows)
    every = np.arange(rows.size)
    sure = (end == low) | came_before(np.maximum(end - 1, low), every)
    sure &= (end == rows) | ~came_before(np.minimum(end, order.size - 1), every)
    again = np.flatnonzero(~sure)
    end[again] = _bisect(low[again], rows[again], lambda middle, which: came_before(middle, again[which]))
    last = end - 1
    return np.where(last >= low, order[np.maximum(last, 0)], NONE)


def _by_arrival(page: Ints, first_byte: Floats) -> tuple[Ints, float]:
    """Rows by page, first byte and place; and how far pages lie apart where both are added up to one number."""
    scale = 2.0 * float(first_byte.max(initial=0.0)) + 1.0
    # Sums keep the order but for what rounding makes equal, and sorting what is nearly sorted is cheap.
    order = np.argsort(page * scale + first_byte, kind="stable")
    arrived, of = first_byte[order], page[order]
    if np.any((arrived[1:] < arrived[:-1]) & (of[1:] == of[:-1])) or np.any(of[1:] < of[:-1]):
        return np.lexsort((first_byte, page)), scale
    return order, scale


def _openers(requests: Requests, begun: Floats, established: Floats) -> tuple[Ints, Ints]:
    """Rows that queued during a handshake of their lane, and the row of that handshake."""
    opens = np.flatnonzero((requests.dns + requests.connect > 0) & (requests.lane != NONE))
    waits = np.flatnonzero((requests.blocked > 0) & (requests.lane != NONE))
    first = np.full(int(requests.lane.max(initial=NONE)) + 1, NONE)
    first[requests.lane[opens][::-1]] = opens[::-1]
    opener = first[requests.lane[waits]]
    there = (opener != NONE) & (opener < waits)
    waits, opener = waits[there], opener[there]
    # Most lanes have one handshake; the last one before is to be searched for in the others alone.
    again = opens[first[requests.lane[opens]] != opens]
    if again.size:
        several = np.zeros(first.size, np.bool_)
        several[requests.lane[again]] = True
        searching = np.flatnonzero(several[requests.lane[waits]])
        opener[searching] = _last_before(requests.lane, opens[several[requests.lane[opens]]], waits[searching])
    overlap = np.minimum(established[opener], begun[waits]) > np.maximum(begun[opener], requests.started[waits])
    return waits[overlap], opener[overlap]


def _last_before(lane: Ints, opens: Ints, waits: Ints) -> Ints:
    """Of each of ``waits`` the last of ``opens`` (rows, ascending) before it in its lane, which has one."""
    opens = opens[np.argsort(lane[opens], kind="stable")]
    low = np.searchsorted(lane[opens], lane[waits], side="left")
    high = np.searchsorted(lane[opens], lane[waits], side="right")
    return np.asarray(opens[_bisect(low, high, lambda middle, which: opens[middle] < waits[which]) - 1])


def _bisect(low: Ints, high: Ints, before: Callable[[Ints, Ints], Flags]) -> Ints:
    """For each range the first place at which ``before(places, which ranges)`` no longer holds: bisections at once."""
    low, high = low.copy(), high.copy()
    searching = np.flatnonzero(low < high)
    while searching.size:
        middle = (low[searching] + high[searching]) // 2
        further = before(middle, searching)
        low[searching] = np.where(further, middle + 1, low[searching])
        high[searching] = np.where(further, high[searching], middle)
        searching = searching[low[searching] < high[searching]]
    return low


def _shorten(requests: Requests, times: Timeline, dns: Floats) -> None:
    """Lookups that overlapped, directly or through others, save each the shortest of them."""
    rows = np.flatnonzero(dns > 0)
    lookups = pl.DataFrame(
        {"row": rows, "page": requests.page[rows], "begun": times.begun[rows], "dns": dns[rows]}
    ).sort("page", "begun", "row")
    busy_until = (pl.col("begun") + pl.col("dns")).cum_max().over("page").shift(1)
    alone = (pl.col("page") != pl.col("page").shift(1)) | (pl.col("begun") >= busy_until)
    shortest = lookups.with_columns(alone.fill_null(value=True).cum_sum().alias("group")).with_columns(
        pl.col("dns").min().over("group").alias("shortest")
    )
    dns[shortest["row"].to_numpy()] = shortest["shortest"].to_numpy()


def _chains(predecessor: Ints, after: Ints) -> Chains:
    """By pointer doubling: rows, and for each the row up to which nothing is summed yet, step by step."""
    pointer, moving, steps = predecessor.copy(), after, []
    while moving.size:
        at = pointer[moving]
        steps.append((moving, at))
        further = pointer[at]
        pointer[moving] = further
        moving = moving[further != NONE]
    return steps


def _along(chains: Chains, step: Floats) -> Floats:
    """The sum of ``step`` over each row and all that precede it."""
    total = step.copy()
    for moving, at in chains:
        total[moving] += total[at]
    return total
