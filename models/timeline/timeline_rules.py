"""What coalescing does to each request of many pages at once: the rules of two timelines over columns.

The rules are those of :mod:`originset.models.timeline.load_times`, which says where they are from.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from originset.models.parameters import Parameters, Predecessor
from originset.models.timeline import timeline_loop

Ints = np.ndarray[Any, np.dtype[np.int64]]
Numbers = np.ndarray[Any, np.dtype[np.int32]]
Floats = np.ndarray[Any, np.dtype[np.float64]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]

NONE = -1

# How many places for each request a table by number may have.
_PLACES = 8


@dataclass(frozen=True, slots=True)
class Requests:
    """Requests of pages, sorted by page, start and number; times in ms from their page's first request.

    ``starts``: of each page its first row, and at the end the number of rows. ``loaded``: of each page its load event,
    NaN where it is not known. ``number`` is the ``request_id``, ``initiator`` that of the request that caused it;
    ``lane``, a number that no other page has, says with which requests it queued: the connection where its id is known,
    else the origin. ``NONE`` stands for no initiator and no lane. Phases that are NaN or negative take no time.
    """

    starts: Ints
    loaded: Floats
    number: Numbers
    initiator: Numbers
    lane: Ints
    started: Floats
    blocked: Floats
    dns: Floats
    connect: Floats
    send: Floats
    wait: Floats
    receive: Floats

    @property
    def page(self) -> Ints:
        """Of each request its page, from 0."""
        return np.repeat(np.arange(self.loaded.size), np.diff(self.starts))


@dataclass(frozen=True, slots=True)
class MeasuredTimeline:
    """What is the same whoever coalesces; ``predecessor`` and ``opener`` are rows, ``NONE`` where there is none.

    ``handshake``: the DNS and connect phases together. ``established``: when these had ended, so that it could be sent.
    ``opener``: the last request before one in its lane with a
    handshake, if the one queued during it, for ``overlap`` ms.
    """

    handshake: Floats
    established: Floats
    ended: Floats
    predecessor: Ints
    opener: Ints
    overlap: Floats


@dataclass(frozen=True, slots=True)
class Changes:
    """What a timeline does, in ms: each request starts ``shift`` earlier, and queues for ``blocked`` less.

    ``blocked`` is negative where a request waits for another's connection. ``dns`` and ``connect``: what it loses of
    these phases, nothing unless it travels on another's connection. ``loaded``: of each page its load event then, as it
    was where no request had ended by it.
    """

    shift: Floats
    blocked: Floats
    dns: Floats
    connect: Floats
    loaded: Floats


def measured_timeline(requests: Requests, predecessor: Predecessor) -> MeasuredTimeline:
    """The measured times that the model rests on."""
    if requests.number.max(initial=NONE) >= _PLACES * requests.number.size:
        requests = _renumbered(requests)
    return MeasuredTimeline(*timeline_loop.measured_timeline(requests, predecessor == "time"))


def paper_timeline(requests: Requests, times: MeasuredTimeline, coalesced: Flags, parameters: Parameters) -> Changes:
    """What coalescing does to each request by the paper's rule.

    ``coalesced``: the requests whose page had asked the same server before; it changes those that opened a connection
    nevertheless.
    """
    dns, handshake = _saved_at_most(requests, times, coalesced, parameters)
    freed = parameters.blocked_time == "freed"
    shift, blocked, loaded = timeline_loop.paper_timeline(requests, times, coalesced, handshake, freed)
    return Changes(shift, blocked, *_lost(requests, dns, coalesced), loaded)


def causal_timeline(requests: Requests, times: MeasuredTimeline, server: Ints, parameters: Parameters) -> Changes:
    """What coalescing does to each request if nothing is sent before the connection that it travels on is established.

    ``server``: a number for the page and the server that a request went to over TLS, ``NONE`` for any other request.
    """
    earlier = _seen_before(server)
    dns, handshake = _saved_at_most(requests, times, earlier, parameters)
    freed = parameters.blocked_time == "freed"
    shift, saved, rides, loaded = timeline_loop.causal_timeline(requests, times, server, earlier, handshake, freed)
    lost_dns, lost_connect = _lost(requests, dns, rides)
    return Changes(shift, saved - lost_dns - lost_connect, lost_dns, lost_connect, loaded)


def _seen_before(server: Ints) -> Flags:
    """The requests whose server an earlier one went to."""
    known = np.flatnonzero(server != NONE)[::-1]
    first = np.empty(server.max(initial=NONE) + 1, np.int64)
    first[server[known]] = known  # of several the last that is assigned, the first row
    earlier: Flags = server != NONE
    earlier[known] = first[server[known]] != known
    return earlier


def _saved_at_most(
    requests: Requests, times: MeasuredTimeline, coalesced: Flags, parameters: Parameters
) -> tuple[Floats, Floats]:
    """How much of its lookup, and of lookup and handshake, a request at most saves that is ``coalesced``."""
    if parameters.parallel_dns == "own":
        return requests.dns, times.handshake
    dns = _shortest(requests, coalesced)
    return dns, np.fmax(dns, 0.0) + np.fmax(requests.connect, 0.0)


def _lost(requests: Requests, dns: Floats, rides: Flags) -> tuple[Floats, Floats]:
    """What requests that ride on another's connection lose of their lookups and handshakes."""
    return np.where(rides, np.fmax(dns, 0.0), 0.0), np.where(rides, np.fmax(requests.connect, 0.0), 0.0)


def _renumbered(requests: Requests) -> Requests:
    """The same requests with numbers below how many they are."""
    page = requests.page << 32
    numbers, number = np.unique(page + requests.number, return_inverse=True)
    named = page + requests.initiator
    initiator = np.minimum(np.searchsorted(numbers, named), numbers.size - 1)
    initiator[(numbers[initiator] != named) | (requests.initiator < 0)] = NONE
    return replace(requests, number=number.astype(np.int32), initiator=initiator.astype(np.int32))


def _shortest(requests: Requests, coalesced: Flags) -> Floats:
    """The lookups; of those ``coalesced`` that overlapped, directly or through others, the shortest of them."""
    rows = np.flatnonzero(coalesced & (requests.dns > 0))
    dns = requests.dns[rows]
    begun = requests.started[rows] + np.fmax(requests.blocked[rows], 0.0)
    lookups = pl.DataFrame({"row": rows, "page": requests.page[rows], "begun": begun, "dns": dns}).sort(
        "page", "begun", "row"
    )
    busy_until = (pl.col("begun") + pl.col("dns")).cum_max().over("page").shift(1)
    alone = (pl.col("page") != pl.col("page").shift(1)) | (pl.col("begun") >= busy_until)
    shortest = lookups.with_columns(alone.fill_null(value=True).cum_sum().alias("group")).with_columns(
        pl.col("dns").min().over("group").alias("shortest")
    )
    saved = requests.dns.copy()
    saved[shortest["row"].to_numpy()] = shortest["shortest"].to_numpy()
    return saved
