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

from collections.abc import Mapping

import numpy as np
import polars as pl

from originset.data.schema import PAGE_LOAD_TIMES
from originset.models.network import network_requests
from originset.models.parameters import Parameters
from originset.models.reconstruction import NONE, Floats, Ints, Requests, Timeline, load_times, reconstruct, timeline

_PHASES = ("blocked_ms", "dns_ms", "connect_ms", "send_ms", "wait_ms", "receive_ms")

# Recordings in which connections, or what waited for them, are not to be seen as they were.
_LIMITS = ("truncated", "partial", "proxied", "warm_start", "preserved_log", "cached_hosts")

# Lanes are below 2**31: connection ids below this, origins above.
_ORIGINS = 2**30


def page_load_times(tables: Mapping[str, pl.LazyFrame], parameters: Parameters) -> pl.DataFrame:
    """Rows of ``page_load_times``, one for every row of ``visits``, ordered by ``visit_id``.

    The modelled times are all there or all NULL, so that they compare the same pages; ``left_out_reason`` is then one
    of failed, truncated, partial, proxied, warm_start, preserved_log, cached_hosts (what the recording lacks, as in
    visits.quality), no_load_time, no_requests, no_addresses (no server is known), no_handshakes (the recorder shows no
    DNS or connect phase, so that nothing is known of what could be saved), no_request_before_load. Takes memory for all
    requests of ``tables``: give it parts of a large study (:func:`originset.models.parts.parts`).
    """
    rows = _rows(tables, parameters)
    visits = tables["visits"].select("visit_id", "status", "quality", "load_ms").collect()
    pages = (
        rows.select(pl.col("visit_id").unique(maintain_order=True))
        .join(visits.select("visit_id", "load_ms"), on="visit_id", how="left", maintain_order="left")
        .with_columns(pl.col("load_ms").cast(pl.Float64))
    )
    measured = pages["load_ms"].fill_null(float("nan")).to_numpy()
    requests = _requests(rows)
    times = timeline(requests, parameters.predecessor)

    by_key = _codes(rows["key"])
    servers = {"ip_ms": _codes(rows["server_ip"]), "origin_ms": by_key}
    if parameters.provider_asns:
        of_provider = rows["asn"].is_in(parameters.provider_asns).fill_null(value=False).to_numpy()
        servers["provider_ms"] = np.where(of_provider, by_key, NONE)
    modelled = {
        name: load_times(requests, times, reconstruct(requests, times, by, parameters).total, measured)
        for name, by in servers.items()
    }
    known = pages.select("visit_id", pl.lit(None, pl.Float64).alias("provider_ms")).with_columns(
        *(pl.Series(name, values) for name, values in modelled.items()), *_facts(rows, requests, times, measured)
    )
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
    return (
        visits.rename({"load_ms": "measured_ms"})
        .join(known, on="visit_id", how="left")
        .with_columns(reason.alias("left_out_reason"))
        .with_columns(
            pl.when(pl.col("left_out_reason").is_null()).then(pl.col(name)).alias(name)
            for name in ("ip_ms", "origin_ms", "provider_ms")
        )
        .select(pl.col(name).cast(kind) for name, kind in PAGE_LOAD_TIMES.polars_schema.items())
        .sort("visit_id")
    )


def _rows(tables: Mapping[str, pl.LazyFrame], parameters: Parameters) -> pl.DataFrame:
    """The network's requests by page, start and number, phases as numbers."""
    phases = {name: pl.col(name).fill_null(0.0).clip(lower_bound=0.0) for name in _PHASES}
    if parameters.ssl == "beside":
        phases["connect_ms"] += pl.col("ssl_ms").fill_null(0.0).clip(lower_bound=0.0)
    rows = (
        network_requests(tables, parameters.colocation)
        .filter(pl.col("started_ms").is_not_null())
        .select(
            "visit_id",
            pl.col("visit_id").rle_id().cast(pl.Int64).alias("page"),
            pl.col("request_id").cast(pl.Int64),
            pl.col("initiator_id").cast(pl.Int64),
            "connection_id",
            *("scheme", "host", "port", "server_ip", "asn", "key", "started_ms"),
            **phases,
        )
        .collect()
    )
    if not _in_order(rows):
        rows = rows.sort("visit_id", "started_ms", "request_id").with_columns(
            pl.col("visit_id").rle_id().cast(pl.Int64).alias("page")
        )
    return rows


def _in_order(rows: pl.DataFrame) -> bool:
    """Whether each page's rows stand together, by start and number: as they do in what import and analyze write."""
    page, started, number = (rows[name].to_numpy() for name in ("page", "started_ms", "request_id"))
    same, later = page[1:] == page[:-1], started[1:] > started[:-1]
    tied = (started[1:] == started[:-1]) & (number[1:] > number[:-1])
    return bool(np.all(~same | later | tied)) and rows["visit_id"].n_unique() == (int(page[-1]) + 1 if page.size else 0)


def _requests(rows: pl.DataFrame) -> Requests:
    return Requests(
        rows["page"].to_numpy(),
        rows["request_id"].to_numpy(),
        rows["initiator_id"].fill_null(NONE).to_numpy(),
        _lanes(rows),
        *(rows[name].to_numpy() for name in ("started_ms", *_PHASES)),
    )


def _lanes(rows: pl.DataFrame) -> Ints:
    """The connection where its id is known, else the origin."""
    ids = rows["connection_id"]
    numbers = ids.fill_null(NONE).to_numpy()
    if numbers.size and (numbers.max() >= _ORIGINS or (ids.min() or 0) < 0):  # type: ignore[operator]  # an integer
        numbers = ids.rank("dense").cast(pl.Int64).fill_null(NONE).to_numpy()
    unnumbered = np.flatnonzero(ids.is_null().to_numpy())
    if not unnumbered.size:
        return numbers
    lanes = numbers.copy()
    origins = rows[unnumbered].select(pl.format("{}://{}:{}", "scheme", "host", "port")).to_series()
    codes = _codes(origins)
    lanes[unnumbered] = np.where(codes == NONE, NONE, codes + _ORIGINS)
    return lanes


def _codes(texts: pl.Series) -> Ints:
    """Numbers for texts, the same for the same; ``NONE`` for NULL."""
    return texts.cast(pl.Categorical).to_physical().cast(pl.Int64).fill_null(NONE).to_numpy()


def _facts(rows: pl.DataFrame, requests: Requests, times: Timeline, measured: Floats) -> list[pl.Series]:
    """What decides whether a page can be modelled."""
    flags = {
        "addressed": rows["server_ip"].is_not_null().to_numpy(),
        "handshakes": requests.dns + requests.connect > 0,
        "before_load": times.ended <= measured[requests.page],
    }
    starts = requests.starts
    return [
        pl.Series(name, np.logical_or.reduceat(flag, starts) if starts.size else [], dtype=pl.Boolean)
        for name, flag in flags.items()
    ]
