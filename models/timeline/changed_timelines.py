"""Page loads if other connections had carried some requests, or if some connections had been opened earlier.

The former are by the causal timeline. The latter, preconnects, are by the rules of the paper's: what a request saves of
its handshake is passed on to later requests, which are not held back until their own connections are established.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from originset.models.model_types import Rows
from originset.models.parameters import Parameters
from originset.models.timeline.load_times import PHASES, pair_columns, requests_in_order, timeline_columns
from originset.models.timeline.timeline_rules import (
    NONE,
    Changes,
    Floats,
    Ints,
    causal_timeline,
    measured_timeline,
    timeline_with_less_handshake,
)

#: The models whose rows :class:`PageTimelines` takes.
TIMELINE_READS = ("pages", "numbered_pairs", "host_connections", "timeline_requests", "network_requests", "documents")

# What brings less is not worth a line in a document; more hints than a few compete with what the document itself needs.
_LEAST_PRECONNECT_MS = 1.0
_MOST_PRECONNECTS = 3
_PRECONNECTS_TRIED = 12

# Browsers close what was preconnected and not used for so long (https://web.dev/articles/preconnect-and-dns-prefetch).
_UNUSED_MS = 10_000.0

_CONNECTION = ["visit_id", "connection_id"]


class PageTimelines:
    """The requests of some visits, measured, and what becomes of them under changes. All times are in ms."""

    def __init__(self, rows: Rows, parameters: Parameters) -> None:
        """``rows``: of the models TIMELINE_READS."""
        requests = requests_in_order(rows["timeline_requests"])
        self._parameters = parameters
        self._pairs = pair_columns(rows["numbered_pairs"], parameters)
        self._pair = requests["pair"].to_numpy()
        loaded = rows["pages"].sort("page")["load_ms"].fill_null(np.nan).to_numpy()
        self._measured = timeline_columns(requests, self._pairs, loaded, parameters)
        self._times = measured_timeline(self._measured, parameters.predecessor)
        visits = rows["pages"].select("page", "visit_id")
        hosts = rows["network_requests"].select("visit_id", "request_id", "host", "connection_id")
        self._requests = (
            requests.select("page", "request_id")
            .join(visits, on="page", maintain_order="left")
            .join(hosts, on=["visit_id", "request_id"], maintain_order="left")
            .select("visit_id", "request_id", "host", "connection_id")
        )
        connections = rows["host_connections"].join(visits, on="page").select("pair", "secure", *_CONNECTION)
        self._connections = connections.sort("pair")
        documents = rows["documents"].select("visit_id", "request_id", document_host="host")
        self._documents = documents

    @property
    def loaded(self) -> Floats:
        """The load event of each page with requests, NaN where it is not known."""
        return self._measured.loaded

    def requests(self) -> pl.DataFrame:
        """visit_id, request_id, host, connection_id, started and the phases, as measured; by page and start."""
        measured = {"started": self._measured.started}
        measured |= {name: np.fmax(getattr(self._measured, name), 0.0) for name in PHASES}
        return self._requests.with_columns(**measured)

    def carried_by(self, instead: pl.DataFrame) -> Changes:
        """How requests change if connections carry others' (``instead``: visit_id, connection_id, carrier_id)."""
        return causal_timeline(self._measured, self._times, self._servers(instead)[self._pair], self._parameters)

    def at_best(self) -> Changes:
        """The same if one connection carried all that went to servers with one key, as in ``page_load_times``."""
        server = self._pairs.server["origin_ms"][self._pair]
        return causal_timeline(self._measured, self._times, server, self._parameters)

    def best_carriers(self) -> pl.DataFrame:
        """visit_id, connection_id, carrier_id: the first connection to a server with the same key, if another."""
        server = self._pairs.server["origin_ms"][self._pair]
        rows = self._requests.select(*_CONNECTION).with_columns(server=pl.Series(server))
        known = rows.filter(pl.col("connection_id").is_not_null(), pl.col("server") != NONE)
        first = known.group_by("visit_id", "server", maintain_order=True).agg(
            pl.col("connection_id").first().alias("carrier_id")
        )
        carried = known.join(first, on=["visit_id", "server"]).select(*_CONNECTION, "carrier_id")
        return carried.filter(pl.col("connection_id") != pl.col("carrier_id")).unique(
            _CONNECTION, keep="first", maintain_order=True
        )

    def with_changes(self, changes: Changes, suffix: str) -> pl.DataFrame:
        """Columns of :meth:`requests` after ``changes``, with ``suffix``."""
        before = self.requests()
        saved = {"started": changes.shift, "blocked": changes.blocked, "dns": changes.dns, "connect": changes.connect}
        return before.select(
            (pl.col(name) - (pl.Series(saved[name]) if name in saved else 0.0)).alias(f"{name}{suffix}")
            for name in ("started", *PHASES)
        )

    def load_events(self, loaded: Floats, name: str) -> pl.DataFrame:
        """visit_id and the load events (of a timeline) of the visits with requests; NULL where not known."""
        visits = self._requests["visit_id"].gather(self._measured.starts[:-1])
        return pl.DataFrame({"visit_id": visits, name: pl.Series(loaded, dtype=pl.Float64).fill_nan(None)})

    def preconnects(self, without: pl.DataFrame) -> pl.DataFrame:
        """visit_id, host, connection_id, opened_ms, announced_ms, handshake_ms and saved_ms of preconnects that help.

        A connection would be opened when the document's answer begins (announced_ms), instead of at opened_ms. Only
        what makes the load event earlier is named (saved_ms, each alone), so it is on the way to it: at most three of a
        page, by the paper's timeline. ``without``: visit_id and connection_id of connections that go anyway.
        """
        candidates = self._late_connections(without)
        found = []
        for place in range(int(candidates["place"].max() or 0)):  # type: ignore[arg-type]  # ranks are integers
            of_place = candidates.filter(place=place + 1)
            saved = np.zeros(self._measured.started.size)
            saved[of_place["row"].to_numpy()] = of_place["saves"].to_numpy()
            loaded = timeline_with_less_handshake(self._measured, self._times, saved, self._parameters)
            events = self.load_events(self._measured.loaded - loaded, "saved_ms")
            found.append(of_place.join(events, on="visit_id"))
        columns = ("visit_id", "host", "connection_id", "opened_ms", "announced_ms", "handshake_ms", "saved_ms")
        if not found:
            return pl.DataFrame(schema=dict.fromkeys(columns))
        useful = pl.concat(found).filter(pl.col("saved_ms") >= _LEAST_PRECONNECT_MS).sort("saved_ms", descending=True)
        return useful.group_by("visit_id", maintain_order=True).head(_MOST_PRECONNECTS).select(columns)

    def _late_connections(self, without: pl.DataFrame) -> pl.DataFrame:
        """Of each page the connections to other hosts that began long after the document's answer, with ``place``."""
        rows = self._requests.with_row_index("row").with_columns(
            handshake_ms=pl.Series(self._times.handshake),
            established=pl.Series(self._times.established),
            answered=pl.Series(
                self._times.established + np.fmax(self._measured.send, 0) + np.fmax(self._measured.wait, 0)
            ),
            over_tls=pl.Series(self._pairs.server["ip_ms"][self._pair] != NONE),
        )
        documents = rows.join(self._documents, on=["visit_id", "request_id"]).select(
            "visit_id", "document_host", announced_ms="answered"
        )
        late = (
            rows.filter("over_tls", pl.col("handshake_ms") > 0, pl.col("connection_id").is_not_null())
            .join(without.select(_CONNECTION), on=_CONNECTION, how="anti")
            .join(documents, on="visit_id")
            .with_columns(opened_ms=pl.col("established") - pl.col("handshake_ms"))
            .filter(pl.col("host") != pl.col("document_host"))
            .unique(["visit_id", "host"], keep="first", maintain_order=True)
            .with_columns(saves=pl.min_horizontal("handshake_ms", pl.col("opened_ms") - pl.col("announced_ms")))
            .filter(pl.col("saves") > 0, pl.col("opened_ms") - pl.col("announced_ms") < _UNUSED_MS)
        )
        ranked = late.with_columns(place=pl.col("saves").rank("ordinal", descending=True).over("visit_id"))
        return ranked.filter(pl.col("place") <= _PRECONNECTS_TRIED).sort("row")

    def _servers(self, instead: pl.DataFrame) -> Ints:
        """A number for each pair whose connection carries another's requests, or is carried; ``NONE`` for others."""
        roots = carriers(instead)
        ends = pl.concat([roots, roots.select("visit_id", connection_id="carrier_id", carrier_id="carrier_id")]).unique(
            _CONNECTION, keep="first", maintain_order=True
        )
        numbered = ends.with_columns(
            server=pl.struct("visit_id", "carrier_id").rank("dense").cast(pl.Int64)
            if ends.height
            else pl.lit(None, pl.Int64)
        )
        joined = self._connections.join(numbered, on=_CONNECTION, how="left", maintain_order="left")
        return joined.select(pl.when("secure").then("server").fill_null(NONE).cast(pl.Int64)).to_series().to_numpy()


def request_times(rows: Rows, parameters: Parameters) -> pl.DataFrame:
    """The times of each request, measured and under ORIGIN coalescing by the causal timeline, as in Figure 2.

    ``rows``: of the models TIMELINE_READS, of a few visits. Columns: visit_id, request_id, host, coalesced (it uses
    another request's connection), and started, blocked, dns, connect, send, wait and receive in ms, each also with
    ``_after``; sorted by page and start.
    """
    timelines = PageTimelines(rows, parameters)
    changes = timelines.at_best()
    coalesced = pl.Series("coalesced", changes.dns + changes.connect > 0)
    measured = timelines.requests().select("visit_id", "request_id", "host", coalesced, "started", *PHASES)
    return measured.hstack(timelines.with_changes(changes, "_after"))


def carriers(instead: pl.DataFrame) -> pl.DataFrame:
    """``instead`` (visit_id, connection_id, carrier_id) with the last of each chain of carriers."""
    next_of = {(visit, one): then for visit, one, then in instead.select(*_CONNECTION, "carrier_id").iter_rows()}
    ends = []
    for (visit, connection), carrier in next_of.items():
        seen, end = {connection}, carrier
        while (visit, end) in next_of and end not in seen:
            seen.add(end)
            end = next_of[visit, end]
        ends.append((visit, connection, end))
    return pl.DataFrame(
        ends, schema={"visit_id": pl.String, "connection_id": pl.Int64, "carrier_id": pl.Int64}, orient="row"
    )
