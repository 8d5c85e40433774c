"""Page load times if connections had been coalesced, by two timelines: a causal one, and the paper's (section 4).

These are models, not measurements: the paper's authors found no effect on load time in their live test. Both timelines
have these rules, which are read off the paper's Figure 2:

- A request that opened a connection, although the page had an earlier request to a server with the same key, loses its
  DNS and connect phases. Its send, wait and receive phases stay.
- A request that queued behind such a handshake of its own origin (or connection, if ids are known) no longer queues for
  the part of its blocked time that overlapped the handshake.
- A request starts earlier by what its predecessor saved and by how much that one was shifted, but never before its
  predecessor. The predecessor is its initiator if that was still being received when it started. What starts later
  waited for something else too, such as a script that stops the parser, or an initiator that is not recorded: its
  predecessor is the one by time, the request whose first byte came last before its start. In Figure 2 dependents start
  while their predecessors are still being received.
- The load event is earlier by as much as the last of the requests that had ended by then now ends earlier. So no
  modelled time is before the end of a request that the load event waited for, or after the measured time.

The paper's timeline only requires an earlier request to the server, over TLS or not, and lets a request use a
connection that is still being opened. It is here for comparison with the paper. The causal timeline can be achieved:

- Only requests over TLS open connections that others use, and only requests over TLS use them.
- Nothing is sent before its connection is established: the first connection to the server, or the one that the request
  used. A request that would wait longer for it than for a connection of its own opens its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from originset.models.model_types import Rows
from originset.models.parameters import Parameters
from originset.models.timeline.timeline_rules import (
    NONE,
    Flags,
    Floats,
    Ints,
    Requests,
    causal_timeline,
    measured_timeline,
    paper_timeline,
)

# About how many requests are processed at a time, so that their columns fit into the processor's cache.
_REQUESTS = 1 << 18

#: The phases of a request, in their order.
PHASES = ("blocked", "dns", "connect", "send", "wait", "receive")

MODELLED_LOAD_TIMES = pl.Schema(
    {
        "page": pl.Int32(),
        "has_address": pl.Boolean(),
        "has_handshake": pl.Boolean(),
        "has_request_before_load": pl.Boolean(),
        "ip_ms": pl.Float64(),
        "origin_ms": pl.Float64(),
        "provider_ms": pl.Float64(),
        "paper_ip_ms": pl.Float64(),
        "paper_origin_ms": pl.Float64(),
        "paper_provider_ms": pl.Float64(),
    }
)


@dataclass(frozen=True, slots=True)
class PairColumns:
    """Columns of numbered_pairs, indexed by ``pair``; ``NONE`` for NULL.

    ``server``: for each column of the causal timeline the server that a pair's requests go to over TLS.
    ``first_request``: for each column of the paper's timeline the first request of the page to the same server.
    """

    lane: Ints
    has_address: Flags
    server: dict[str, Ints]
    first_request: dict[str, Ints]


def modelled_load_times(rows: Rows, parameters: Parameters) -> Rows:
    """The modelled load event of each page with a request whose start is known.

    ``rows``: pages, numbered_pairs and timeline_requests. ``ip_ms``: hosts at one address share connections;
    ``origin_ms``: hosts with one server key; ``provider_ms``: those in one of ``parameters.provider_asns``, NULL
    without any; ``paper_``: the same by the paper's timeline. [ms]
    """
    requests, pairs = requests_in_order(rows["timeline_requests"]), pair_columns(rows["numbered_pairs"], parameters)
    loaded = rows["pages"].sort("page")["load_ms"].fill_null(np.nan).to_numpy()
    pages = [_modelled_pages(part, pairs, loaded, parameters) for part in _whole_pages(requests)]
    return {"modelled_load_times": pl.concat([MODELLED_LOAD_TIMES.to_frame(), *pages])}


def _whole_pages(requests: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """The requests in parts of whole pages, about _REQUESTS each."""
    page = requests["page"].to_numpy()
    first = 0
    while first < page.size:
        last = min(first + _REQUESTS, page.size) - 1
        end = int(np.searchsorted(page, page[last], side="right"))
        yield requests[first:end]
        first = end


def _modelled_pages(requests: pl.DataFrame, pairs: PairColumns, loaded: Floats, parameters: Parameters) -> pl.DataFrame:
    """Rows of MODELLED_LOAD_TIMES, from :func:`requests_in_order`; ``loaded``: load events by page."""
    measured = timeline_columns(requests, pairs, loaded, parameters)
    times = measured_timeline(measured, parameters.predecessor)
    first, pair = measured.starts[:-1], requests["pair"].to_numpy()
    columns = {
        "page": requests["page"].to_numpy()[first],
        "has_address": np.logical_or.reduceat(pairs.has_address[pair], first),
        "has_handshake": np.logical_or.reduceat(times.handshake > 0, first),
        "has_request_before_load": np.minimum.reduceat(times.ended, first) <= measured.loaded,
    }
    for column, server in pairs.server.items():
        columns[column] = causal_timeline(measured, times, server[pair], parameters).loaded
    for column, first_request in pairs.first_request.items():
        has_earlier_request = (first_request[pair] != NONE) & (first_request[pair] != measured.number)
        columns[column] = paper_timeline(measured, times, has_earlier_request, parameters).loaded
    return pl.DataFrame(columns).match_to_schema(MODELLED_LOAD_TIMES, missing_columns="insert")


def pair_columns(rows: pl.DataFrame, parameters: Parameters) -> PairColumns:
    """The rows of numbered_pairs as columns."""
    rows = rows.sort("pair")
    over_tls = {"ip_ms": ("address", pl.col("secure")), "origin_ms": ("server", pl.col("secure"))}
    first_request = {"paper_ip_ms": "first_to_address", "paper_origin_ms": "first_to_server"}
    if parameters.provider_asns:
        over_tls["provider_ms"] = ("server", pl.col("secure") & pl.col("of_provider"))
        first_request["paper_provider_ms"] = "first_to_provider"

    def column_numbers(column: pl.Expr) -> Ints:
        return rows.select(column.fill_null(NONE).cast(pl.Int64)).to_series().to_numpy()

    return PairColumns(
        column_numbers(pl.col("lane")),
        rows["address"].is_not_null().to_numpy(),
        {column: column_numbers(pl.when(condition).then(name)) for column, (name, condition) in over_tls.items()},
        {column: column_numbers(pl.col(name)) for column, name in first_request.items()},
    )


def requests_in_order(requests: pl.DataFrame) -> pl.DataFrame:
    """The requests sorted by page, start and number, each column in one piece of memory."""
    requests = requests.rechunk()
    # Rows are mostly in order, and to check this takes a tenth of the time of sorting.
    step = [np.diff(requests[name].to_numpy()) for name in ("page", "started_ms", "request_id")]
    later = (step[0] > 0) | (step[0] == 0) & ((step[1] > 0) | ((step[1] == 0) & (step[2] > 0)))
    return requests if later.all() else requests.sort("page", "started_ms", "request_id")


def timeline_columns(rows: pl.DataFrame, pairs: PairColumns, loaded: Floats, parameters: Parameters) -> Requests:
    """The rows as columns; ``loaded``: the load event of each page by its number."""
    phases = {name: rows[f"{name}_ms"].to_numpy() for name in PHASES}
    if parameters.ssl == "beside":
        phases["connect"] = np.fmax(phases["connect"], 0.0) + np.fmax(rows["ssl_ms"].to_numpy(), 0.0)
    page = rows["page"].to_numpy()
    first = np.flatnonzero(np.diff(page, prepend=NONE))
    return Requests(
        starts=np.append(first, page.size),
        loaded=loaded[page[first]],
        number=rows["request_id"].to_numpy(),
        initiator=rows["initiator_id"].fill_null(NONE).to_numpy(),
        lane=pairs.lane[rows["pair"].to_numpy()],
        started=rows["started_ms"].to_numpy(),
        **phases,
    )
