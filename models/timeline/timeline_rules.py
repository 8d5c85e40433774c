"""The rules of both timelines, over columns with the requests of many pages: how coalescing changes each request.

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

    ``handshake``: the DNS and connect phases together. ``established``: their end, when the request could be sent.
    ``opener``: the last earlier request of the lane with a handshake, if this request queued during that handshake;
    ``overlap``: for how many ms.
    """

    handshake: Floats
    established: Floats
    ended: Floats
    predecessor: Ints
    opener: Ints
    overlap: Floats


@dataclass(frozen=True, slots=True)
class Changes:
    """How a timeline changes the requests, in ms: each starts ``shift`` earlier, and queues for ``blocked`` less.

    ``blocked`` is negative if a request waits for another's connection. ``dns`` and ``connect``: how much shorter these
    phases are; 0 unless the request uses another's connection. ``loaded``: the modelled load event of each page; the
    measured one if no request had ended by then.
    """

    shift: Floats
    blocked: Floats
    dns: Floats
    connect: Floats
    loaded: Floats


def measured_timeline(requests: Requests, predecessor: Predecessor) -> MeasuredTimeline:
    """The measured times that both timelines start from."""
    if requests.number.max(initial=NONE) >= _PLACES * requests.number.size:
        requests = _with_dense_numbers(requests)
    return MeasuredTimeline(*timeline_loop.measured_timeline(requests, predecessor == "time"))


def paper_timeline(requests: Requests, times: MeasuredTimeline, coalesced: Flags, parameters: Parameters) -> Changes:
    """How coalescing changes each request by the paper's timeline.

    ``coalesced``: the requests whose page had an earlier request to the same server. Only those that opened a
    connection change.
    """
    dns, handshake = _largest_savings(requests, times, coalesced, parameters)
    freed = parameters.blocked_time == "freed"
    shift, blocked, loaded = timeline_loop.paper_timeline(requests, times, coalesced, handshake, freed)
    return Changes(shift, blocked, *_lost_phases(requests, dns, coalesced), loaded)


def causal_timeline(requests: Requests, times: MeasuredTimeline, server: Ints, parameters: Parameters) -> Changes:
    """How coalescing changes each request by the causal timeline: nothing is sent before its connection is established.

    ``server``: a number for the page and the server that a request went to over TLS, ``NONE`` for any other request.
    """
    earlier = _with_earlier_request(server)
    dns, handshake = _largest_savings(requests, times, earlier, parameters)
    freed = parameters.blocked_time == "freed"
    shift, saved, coalesced, loaded = timeline_loop.causal_timeline(requests, times, server, earlier, handshake, freed)
    lost_dns, lost_connect = _lost_phases(requests, dns, coalesced)
    return Changes(shift, saved - lost_dns - lost_connect, lost_dns, lost_connect, loaded)


def timeline_with_less_handshake(
    requests: Requests, times: MeasuredTimeline, saved: Floats, parameters: Parameters
) -> Floats:
    """The load event of each page in ms if some requests' lookups and handshakes took ``saved`` ms less of their time.

    It is that of the paper's timeline, with these requests in place of those that use another's connection.
    Nobody uses another's connection: the connections are the recorded ones, opened earlier.
    """
    freed = parameters.blocked_time == "freed"
    _, _, loaded = timeline_loop.paper_timeline(requests, times, saved > 0, saved, freed)
    return np.asarray(loaded)


def _with_earlier_request(server: Ints) -> Flags:
    """The requests that have an earlier request to the same server."""
    rows = np.flatnonzero(server != NONE)[::-1]
    first = np.empty(server.max(initial=NONE) + 1, np.int64)
    first[server[rows]] = rows  # of several the last that is assigned, the first row
    earlier: Flags = server != NONE
    earlier[rows] = first[server[rows]] != rows
    return earlier


def _largest_savings(
    requests: Requests, times: MeasuredTimeline, coalesced: Flags, parameters: Parameters
) -> tuple[Floats, Floats]:
    """The most that ``coalesced`` requests can save of their lookups, and of lookups and handshakes together."""
    if parameters.parallel_dns == "own":
        return requests.dns, times.handshake
    dns = _shortest_lookups(requests, coalesced)
    return dns, np.fmax(dns, 0.0) + np.fmax(requests.connect, 0.0)


def _lost_phases(requests: Requests, dns: Floats, coalesced: Flags) -> tuple[Floats, Floats]:
    """How much shorter the lookups and handshakes get of requests that use another's connection."""
    return np.where(coalesced, np.fmax(dns, 0.0), 0.0), np.where(coalesced, np.fmax(requests.connect, 0.0), 0.0)


def _with_dense_numbers(requests: Requests) -> Requests:
    """The same requests with numbers from 0 to their count."""
    page = requests.page << 32
    numbers, number = np.unique(page + requests.number, return_inverse=True)
    named = page + requests.initiator
    initiator = np.minimum(np.searchsorted(numbers, named), numbers.size - 1)
    initiator[(numbers[initiator] != named) | (requests.initiator < 0)] = NONE
    return replace(requests, number=number.astype(np.int32), initiator=initiator.astype(np.int32))


def _shortest_lookups(requests: Requests, coalesced: Flags) -> Floats:
    """The lookup times; ``coalesced`` lookups that overlap, directly or through others, have that of the shortest."""
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
