"""The paper's timeline reconstruction (section 4, Figure 2): page load times if connections had been coalesced.

A model, not a measurement: the authors' own live test found no effect on load time. The rules, read off Figure 2:

- A request that opened a connection although the page had already asked a server with the same key loses its DNS and
  connect phases. It keeps what it sent, waited for and received.
- A request that queued behind such a handshake of its own origin (or connection, where ids are known) stops queueing
  for the part of its blocked time that overlapped it.
- A request starts earlier by all that its predecessor saved and was shifted, but never before its predecessor. By time,
  the predecessor is the request whose first byte came last before this one's start: in Figure 2 dependents start while
  their predecessors are still being received.
- The page loads earlier by as much as the last of the requests that had ended by the load event now ends earlier.
  So no modelled time is below the end of any request that the load event waited for, nor above the measured one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from originset.data.schema import PAGE_LOAD_TIMES
from originset.models.keys import keys
from originset.models.parameters import Parameters
from originset.models.reconstruction import NONE, Flags, Floats, Ints, Numbers, Requests, reconstruct, timeline
from originset.models.uses import Pages, first_on_page, pages, reduced

_PHASES = ("blocked", "dns", "connect", "send", "wait", "receive")

# Requests looked at together: few enough that their columns stay near the processor.
_BATCH = 2**15

# Recordings in which connections, or what waited for them, are not to be seen as they were.
_LIMITS = ("truncated", "partial", "proxied", "warm_start", "preserved_log", "cached_hosts")


def page_load_times(
    tables: Mapping[str, pl.LazyFrame], pages: Pages, uses: pl.DataFrame, parameters: Parameters
) -> pl.DataFrame:
    """Rows of ``page_load_times``, one for every row of ``visits``, in their order.

    ``pages``: requests whose start is known (:func:`timed`); ``uses``: theirs, with keys.

    The modelled times are all there or all NULL, so that they compare the same pages; ``left_out_reason`` is then one
    of failed, truncated, partial, proxied, warm_start, preserved_log, cached_hosts (what the recording lacks, as in
    visits.quality), no_load_time, no_requests, no_addresses (no server is known), no_handshakes (the recorder shows no
    DNS or connect phase, so that nothing is known of what could be saved), no_request_before_load.
    """
    visits = tables["visits"].select("visit_id", "status", "quality", pl.col("load_ms").alias("measured_ms")).collect()
    page = pages.page_of(visits["visit_id"])
    of_pages = visits.select("measured_ms", page=page).drop_nulls()
    loaded = np.full(pages.visits.len(), np.nan)
    loaded[of_pages["page"].to_numpy()] = of_pages["measured_ms"].to_numpy()
    known = _modelled(pages, uses, loaded, parameters)
    reasons = {
        "failed": pl.col("status") == "failed",
        **{limit: pl.col("quality").list.contains(limit) for limit in _LIMITS},
        "no_load_time": pl.col("measured_ms").is_null() | (pl.col("measured_ms") <= 0),
        "no_requests": pl.col("addressed").is_null(),
        "no_addresses": ~pl.col("addressed"),
        "no_handshakes": ~pl.col("handshakes"),
        "no_request_before_load": ~pl.col("before_load"),
    }
    reason = pl.coalesce(pl.when(applies).then(pl.lit(name)) for name, applies in reasons.items())
    modelled = {
        name: pl.when(pl.col("left_out_reason").is_null()).then(name) if name in known.columns else None
        for name in ("ip_ms", "origin_ms", "provider_ms")
    }
    return (
        pl.concat([visits, known.select(pl.all().gather(page))], how="horizontal")
        .with_columns(left_out_reason=reason)
        .with_columns(**modelled)
        .select(pl.col(name).cast(kind) for name, kind in PAGE_LOAD_TIMES.polars_schema.items())
    )


def request_times(tables: Mapping[str, pl.LazyFrame], parameters: Parameters) -> pl.DataFrame:
    """Each request of few visits, as measured and under ORIGIN coalescing: what the paper's Figure 2 draws.

    Columns: visit_id, request_id, host, coalesced (it loses a handshake), and started, blocked, dns, connect, send,
    wait and receive in ms, each also with ``_after``; by visit and start.
    """
    known = timed(pages(tables, None, *timed_by(parameters)))
    rows, loaded = known.requests, np.full(known.visits.len(), np.nan)
    requests = _requests(rows, _starts(known), loaded, _lanes(known), parameters)
    times = timeline(requests, parameters.predecessor)
    uses = keys(tables, parameters.colocation).of(known.uses)
    coalesced = (times.handshake > 0) & _asked_before(known, uses, parameters)["origin_ms"]
    changes = reconstruct(requests, times, coalesced, parameters)
    before = {"started": requests.started, **{name: np.fmax(getattr(requests, name), 0.0) for name in _PHASES}}
    saved = {
        "started": changes.shift,
        "blocked": changes.blocked,
        "dns": np.where(coalesced, np.fmax(changes.dns, 0.0), 0.0),
        "connect": np.where(coalesced, before["connect"], 0.0),
    }
    return pl.DataFrame(
        {
            "visit_id": known.visits.gather(rows["page"]),
            "request_id": rows["request_id"],
            "host": rows["host"],
            "coalesced": coalesced,
            **before,
            **{f"{name}_after": values - saved.get(name, 0.0) for name, values in before.items()},
        }
    )


def timed_by(parameters: Parameters) -> tuple[str, ...]:
    """Columns of requests that are needed with these parameters alone."""
    return ("ssl_ms",) if parameters.ssl == "beside" else ()


def timed(pages: Pages) -> Pages:
    """``pages`` without requests whose start is not known: themselves if there are none."""
    known = pages.requests["started_ms"].is_not_null()
    if known.all():
        return pages
    rows = pages.requests.filter(known)
    visits = pages.visits.gather(rows["page"].unique(maintain_order=True))
    return reduced(visits, rows.with_columns(pl.col("page").rle_id().cast(pl.Int64)))


def _modelled(pages: Pages, uses: pl.DataFrame, loaded: Floats, parameters: Parameters) -> pl.DataFrame:
    """Of each page its load times, by column, and what decides whether it can be modelled.

    ``loaded``: when each page loaded, in ms, NaN where that is not known.
    """
    asked = _asked_before(pages, uses, parameters)
    names = ("handshakes", "before_load", *asked)
    found: dict[str, list[np.ndarray[Any, Any]]] = {name: [np.zeros(0, np.bool_)] for name in names}
    for rows, requests in _batches(pages, loaded, parameters):
        times = timeline(requests, parameters.predecessor)
        found["handshakes"].append(np.logical_or.reduceat(times.handshake > 0, requests.starts[:-1]))
        found["before_load"].append(np.minimum.reduceat(times.ended, requests.starts[:-1]) <= requests.loaded)
        for name, flags in asked.items():
            found[name].append(reconstruct(requests, times, flags[rows], parameters).loaded)
    addressed = np.zeros(loaded.size, np.bool_)
    addressed[uses["page"].filter(uses["server_ip"].is_not_null()).to_numpy()] = True
    return pl.DataFrame({"addressed": addressed, **{name: np.concatenate(parts) for name, parts in found.items()}})


def _batches(pages: Pages, loaded: Floats, parameters: Parameters) -> Iterator[tuple[slice, Requests]]:
    """The requests of some whole pages after another, and which rows they are."""
    starts, lanes = _starts(pages), _lanes(pages)
    bounds = np.unique(np.append(np.searchsorted(starts, np.arange(0, starts[-1], _BATCH)), loaded.size))
    for first, end in pairwise(bounds.tolist()):
        rows = slice(int(starts[first]), int(starts[end]))
        own = starts[first : end + 1] - rows.start
        yield rows, _requests(pages.requests[rows], own, loaded[first:end], lanes[rows], parameters)


def _starts(pages: Pages) -> Ints:
    """Of each page its first row, and at the end the number of rows."""
    return np.searchsorted(pages.requests["page"].to_numpy(), np.arange(pages.visits.len() + 1))


def _requests(rows: pl.DataFrame, starts: Ints, loaded: Floats, lanes: Ints, parameters: Parameters) -> Requests:
    known = {name: _milliseconds(rows[f"{name}_ms"]) for name in _PHASES}
    if parameters.ssl == "beside":
        known["connect"] = np.fmax(known["connect"], 0.0) + np.fmax(_milliseconds(rows["ssl_ms"]), 0.0)
    return Requests(
        starts=starts,
        loaded=loaded,
        number=_numbers(rows["request_id"]),
        initiator=_numbers(rows["initiator_id"]),
        lane=lanes,
        started=rows["started_ms"].to_numpy(),
        **known,
    )


def _milliseconds(phase: pl.Series) -> Floats:
    """0 for NULL: a phase that is not known takes no time that could be saved."""
    values, known = _values(phase)
    # Where it is not known anything may stand in its place.
    with np.errstate(invalid="ignore"):
        return values if known is None else values * known


def _numbers(ids: pl.Series) -> Numbers:
    """-1, that is ``NONE``, for NULL."""
    values, known = _values(ids)
    return values if known is None else values | (known.view(np.int8) - 1)


def _values(column: pl.Series) -> tuple[np.ndarray[Any, Any], Flags | None]:
    """The values of a column of numbers, and where they are known unless all are.

    For so few rows Series.fill_null takes longer to be planned than to be done.
    """
    if not column.null_count():
        return column.to_numpy(), None
    arrow = column.rechunk().to_arrow()
    bits, values = arrow.buffers()
    rows = slice(arrow.offset, arrow.offset + len(arrow))
    known = np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little")[rows].view(np.bool_)
    return np.frombuffer(values, arrow.type.to_pandas_dtype())[rows], known


def _lanes(pages: Pages) -> Ints:
    """The connection where its id is known, else the origin."""
    unnumbered = pages.connection < 0
    if not unnumbered.any():
        return pages.connection
    lanes = pages.origin + pages.connection.max() + 1
    lanes[(pages.uses["host"].is_null() | pages.uses["port"].is_null()).to_numpy()] = NONE
    return np.where(unnumbered, lanes[pages.use], pages.connection)


def _asked_before(pages: Pages, uses: pl.DataFrame, parameters: Parameters) -> dict[str, Flags]:
    """By column, the requests whose page had asked the same server before."""
    servers = {"ip_ms": uses.select("first", asked="server_ip", new="new_address")}
    servers["origin_ms"] = uses.select("first", asked="key", new="new_key")
    if parameters.provider_asns:
        of_provider = pl.col("asn").is_in(parameters.provider_asns).fill_null(value=False)
        own = uses.select("page", "first", pl.when(of_provider).then("key").alias("asked"))
        new = first_on_page(own["page"].to_numpy(), own["asked"])
        servers["provider_ms"] = own.with_columns(pl.Series("new", new))
    found = {}
    for name, server in servers.items():
        found[name] = server["asked"].is_not_null().to_numpy()[pages.use]
        found[name][server["first"].filter(server["new"]).to_numpy()] = False
    return found
