"""What each browser needs for a page: connections, and their handshakes' bytes and round trips."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from originset.data.reference.browser_rules import BrowserRules
from originset.models.browsers.candidates import MAYBE, NO, YES
from originset.models.browsers.replay import unknown_modes
from originset.models.network import is_address

# Before the first request: TCP and TLS 1.3 (RFC 8446) take two, TLS 1.2 (RFC 5246) one more, QUIC (RFC 9001) one.
_ROUND_TRIPS = {"TLS 1.3": 2, "TLS 1.2": 3, "QUIC": 1}

# A dNSName in a certificate: its text, a tag and a length (RFC 5280, up to 127 bytes).
_BYTES_BESIDE_NAME = 2


def connections(opens: pl.DataFrame, rules: BrowserRules) -> pl.DataFrame:
    """``opens`` (:func:`originset.models.browsers.replay.replayed`) with ``low`` and ``high``: connections of each."""
    modes = unknown_modes(rules)
    plain = pl.col("protocol") == "h1"
    ordinary = pl.when(pl.col("opens") == NO).then(0).otherwise(pl.col("requests") - pl.col("sockets"))
    least = pl.when(pl.col("opens") == YES).then(ordinary).otherwise(0)
    again = pl.lit(1) if rules.retries_share_connection else pl.col("requests")
    retried, perhaps = (pl.when(pl.col("refused") >= sure).then(again).otherwise(1) for sure in (YES, MAYBE))
    most = pl.min_horizontal(ordinary, modes * rules.connections_per_host)
    several = pl.min_horizontal(pl.col("at_once"), rules.connections_per_host)
    exact = pl.col("at_once").is_not_null() & (modes == 1)
    low = (
        pl.when(plain)
        .then(pl.col("sockets") + pl.min_horizontal(least, pl.when(exact).then(several).otherwise(1)))
        .otherwise(pl.when(pl.col("opens") == YES).then(retried).otherwise(0))
    )
    high = (
        pl.when(plain)
        .then(pl.col("sockets") + pl.min_horizontal(ordinary, pl.when(exact).then(several).otherwise(most)))
        .when(pl.col("protocol").is_null())
        .then(most)
        .otherwise(pl.when(pl.col("opens") > NO).then(pl.max_horizontal(modes, perhaps)).otherwise(0))
    )
    return opens.with_columns(low.cast(pl.Int64).alias("low"), high.cast(pl.Int64).alias("high"))


def with_chains(tables: Mapping[str, pl.LazyFrame], groups: pl.DataFrame) -> pl.DataFrame:
    """``groups`` with ``chain_bytes``: the certificates that their servers send; NULL where one's size is not known."""
    used = groups.lazy().select(pl.col("certificate_id").drop_nulls().unique())
    sizes = tables["certificates"].select("certificate_id", "chain", "der_bytes").unique("certificate_id")
    of_chain = (
        sizes.join(used, on="certificate_id", how="semi")
        .select("certificate_id", "chain")
        .explode("chain")
        .join(sizes.select(pl.col("certificate_id").alias("chain"), "der_bytes"), on="chain", how="left")
        .group_by("certificate_id")
        .agg(pl.when(pl.col("der_bytes").is_not_null().all()).then(pl.col("der_bytes").sum()).alias("chain_bytes"))
        .collect()
    )
    return groups.join(of_chain, on="certificate_id", how="left", maintain_order="left")


def handshakes(counted: pl.DataFrame, planned: pl.DataFrame) -> pl.DataFrame:
    """visit_id, handshake_bytes and round_trips of the ``high`` connections of ``counted`` groups.

    ``planned``: pairs whose later host the earlier one's certificate names on top of what it has.
    """
    added = (
        planned.unique(["group_held", "host"])
        .group_by(pl.col("group_held").alias("group"))
        .agg((pl.col("host").str.len_bytes() + _BYTES_BESIDE_NAME).sum().alias("added"))
    )
    trips = pl.when(pl.col("protocol") == "h3").then(1).otherwise(pl.col("tls_version").replace_strict(
        _ROUND_TRIPS, default=None, return_dtype=pl.Int32
    ))  # fmt: skip
    rows = (
        counted.filter(pl.col("high") > 0)
        .join(added, on="group", how="left")
        .select(
            "visit_id",
            (pl.col("high") * (pl.col("chain_bytes") + pl.col("added").fill_null(0))).alias("handshake_bytes"),
            (pl.col("high") * trips).alias("round_trips"),
        )
    )
    names = ("handshake_bytes", "round_trips")
    return rows.group_by("visit_id").agg(
        pl.when(pl.col(name).is_not_null().all()).then(pl.col(name).sum()).alias(name) for name in names
    )


def of_pages(
    visits: pl.DataFrame, opens: pl.DataFrame, others: pl.DataFrame, shaken: pl.DataFrame, rules: BrowserRules
) -> pl.DataFrame:
    """visit_id, tls_low, tls_high, dns, handshake_bytes and round_trips of each of ``visits``.

    ``opens``: of :func:`connections`; ``others``: names that are looked up whatever it says (visit_id, host, lookups);
    ``shaken``: of :func:`handshakes`.
    """
    counted = opens.group_by("visit_id").agg(
        pl.col("low").sum().alias("tls_low"), pl.col("high").sum().alias("tls_high")
    )
    return (
        visits.join(counted, on="visit_id", how="left")
        .join(_lookups(opens, others, rules), on="visit_id", how="left")
        .with_columns(
            pl.col("tls_low", "tls_high").fill_null(0), pl.col("lookups").fill_null(0).replace(-1, None).alias("dns")
        )
        .drop("lookups")
        .join(shaken, on="visit_id", how="left")
        # Where no connection is needed, none is shaken hands over.
        .with_columns(
            pl.when(pl.col("tls_high") == 0).then(0).otherwise(name).alias(name)
            for name in ("handshake_bytes", "round_trips")
        )
    )


def _lookups(opens: pl.DataFrame, others: pl.DataFrame, rules: BrowserRules) -> pl.DataFrame:
    """Names looked up by each page; -1 where that is not known."""
    keys = ["visit_id", "host", *(["top_site", "cross_site"] if rules.lookups_follow_partition else [])]
    needed = pl.col("looked_up")
    asked_for = opens.group_by(keys).agg(
        # One lookup serves all that share a partition; it is certain if one of them certainly needs it.
        pl.when(needed.any()).then(1).when(needed.is_null().any()).then(None).otherwise(0).cast(pl.Int64)
        .alias("lookups")
    )  # fmt: skip
    counts = pl.col("lookups")
    return (
        pl.concat([asked_for.select("visit_id", "host", "lookups"), others])
        .filter(~is_address(pl.col("host")))
        .group_by("visit_id")
        .agg(pl.when(counts.is_null().any()).then(-1).otherwise(counts.sum()).alias("lookups"))
    )
