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
from originset.models.keys import keys
from originset.models.parameters import Parameters
from originset.models.reconstruction import (
    NONE,
    Flags,
    Floats,
    Ints,
    Requests,
    Timeline,
    load_times,
    reconstruct,
    timeline,
)
from originset.models.uses import Pages, first_on_page, pages, reduced

_PHASES = ("blocked_ms", "dns_ms", "connect_ms", "send_ms", "wait_ms", "receive_ms")

# Recordings in which connections, or what waited for them, are not to be seen as they were.
_LIMITS = ("truncated", "partial", "proxied", "warm_start", "preserved_log", "cached_hosts")


def page_load_times(
    tables: Mapping[str, pl.LazyFrame], pages: Pages, uses: pl.DataFrame, parameters: Parameters
) -> pl.DataFrame:
    """Rows of ``page_load_times``, one for every row of ``visits``, ordered by ``visit_id``.

    ``pages``: requests whose start is known (:func:`timed`); ``uses``: theirs, with keys.

    The modelled times are all there or all NULL, so that they compare the same pages; ``left_out_reason`` is then one
    of failed, truncated, partial, proxied, warm_start, preserved_log, cached_hosts (what the recording lacks, as in
    visits.quality), no_load_time, no_requests, no_addresses (no server is known), no_handshakes (the recorder shows no
    DNS or connect phase, so that nothing is known of what could be saved), no_request_before_load.
    """
    visits = tables["visits"].select("visit_id", "status", "quality", "load_ms").collect()
    measured = (
        pages.visits.to_frame("visit_id")
        .join(visits.select("visit_id", "load_ms"), on="visit_id", how="left", maintain_order="left")["load_ms"]
        .fill_null(float("nan"))
        .to_numpy()
    )
    requests = _requests(pages, parameters)
    times = timeline(requests, parameters.predecessor)
    modelled = {
        name: load_times(requests, times, reconstruct(requests, times, coalesced, parameters).total, measured)
        for name, coalesced in _coalesced(pages, uses, requests, parameters).items()
    }
    known = pl.DataFrame(
        {
            "visit_id": pages.visits,
            "provider_ms": pl.repeat(None, pages.visits.len(), dtype=pl.Float64, eager=True),
            **modelled,
            **_facts(pages, uses, requests, times, measured),
        }
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


def request_times(tables: Mapping[str, pl.LazyFrame], parameters: Parameters) -> pl.DataFrame:
    """Each request of few visits, as measured and under ORIGIN coalescing: what the paper's Figure 2 draws.

    Columns: visit_id, request_id, host, coalesced (it loses a handshake), and started, blocked, dns, connect, send,
    wait and receive in ms, each also with ``_after``; by visit and start.
    """
    known = timed(pages(tables))
    requests = _requests(known, parameters)
    uses = keys(tables, parameters.colocation).of(known.uses)
    coalesced = _coalesced(known, uses, requests, parameters)["origin_ms"]
    changes = reconstruct(requests, timeline(requests, parameters.predecessor), coalesced, parameters)
    before = {
        "started": requests.started,
        "blocked": requests.blocked,
        "dns": requests.dns,
        "connect": requests.connect,
        "send": requests.send,
        "wait": requests.wait,
        "receive": requests.receive,
    }
    saved = {"started": changes.shift, "blocked": changes.blocked, "dns": changes.dns, "connect": changes.connect}
    return pl.DataFrame(
        {
            "visit_id": known.visits.gather(known.requests["page"]),
            "request_id": known.requests["request_id"],
            "host": known.requests["host"],
            "coalesced": coalesced,
            **before,
            **{f"{name}_after": values - saved.get(name, 0.0) for name, values in before.items()},
        }
    )


def timed(pages: Pages) -> Pages:
    """``pages`` without requests whose start is not known: themselves if there are none."""
    known = pages.requests["started_ms"].is_not_null()
    if known.all():
        return pages
    rows = pages.requests.filter(known)
    visits = pages.visits.gather(rows["page"].unique(maintain_order=True))
    return reduced(visits, rows.with_columns(pl.col("page").rle_id().cast(pl.Int64)))


def _requests(pages: Pages, parameters: Parameters) -> Requests:
    rows = pages.requests
    phases = {name: _milliseconds(rows[name]) for name in _PHASES}
    if parameters.ssl == "beside":
        phases["connect_ms"] = phases["connect_ms"] + _milliseconds(rows["ssl_ms"])
    return Requests(
        rows["page"].to_numpy(),
        rows["request_id"].to_numpy().astype(np.int64),
        rows["initiator_id"].fill_null(NONE).to_numpy().astype(np.int64),
        _lanes(pages),
        rows["started_ms"].to_numpy(),
        *phases.values(),
    )


def _milliseconds(phase: pl.Series) -> Floats:
    # Takes NaN, which is what NULL becomes, for the lesser.
    return np.asarray(np.fmax(phase.to_numpy(), 0.0), np.float64)


def _lanes(pages: Pages) -> Ints:
    """The connection where its id is known, else the origin."""
    unnumbered = pages.connection < 0
    if not unnumbered.any():
        return pages.connection
    lanes = pages.connection.max() + pl.Series(pages.origin).rank("dense").to_numpy().astype(np.int64)
    lanes[(pages.uses["host"].is_null() | pages.uses["port"].is_null()).to_numpy()] = NONE
    return np.where(unnumbered, lanes[pages.use], pages.connection)


def _coalesced(pages: Pages, uses: pl.DataFrame, requests: Requests, parameters: Parameters) -> dict[str, Flags]:
    """By column, the requests that opened a connection although their page had asked the same server before."""
    opened = requests.dns + requests.connect > 0
    servers = {"ip_ms": uses.select("first", asked="server_ip", new="new_address")}
    servers["origin_ms"] = uses.select("first", asked="key", new="new_key")
    if parameters.provider_asns:
        of_provider = pl.col("asn").is_in(parameters.provider_asns).fill_null(value=False)
        own = uses.select("page", "first", pl.when(of_provider).then("key").alias("asked"))
        new = first_on_page(own["page"].to_numpy(), own["asked"])
        servers["provider_ms"] = own.with_columns(pl.Series("new", new))
    found = {}
    for name, server in servers.items():
        flags = opened & server["asked"].is_not_null().to_numpy()[pages.use]
        flags[server["first"].filter(server["new"]).to_numpy()] = False
        found[name] = flags
    return found


def _facts(
    pages: Pages, uses: pl.DataFrame, requests: Requests, times: Timeline, measured: Floats
) -> dict[str, pl.Series]:
    """What decides whether a page can be modelled."""
    addressed = uses["server_ip"].is_not_null().to_numpy()
    flags = {
        "addressed": addressed[pages.use],
        "handshakes": requests.dns + requests.connect > 0,
        "before_load": times.ended <= measured[requests.page],
    }
    starts = requests.starts
    return {
        name: pl.Series(name, np.logical_or.reduceat(flag, starts) if starts.size else [], dtype=pl.Boolean)
        for name, flag in flags.items()
    }
