"""Which names of a page an observer on the path sees: as measured, for each browser, after a plan, at best."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from originset.data.reference.browser_rules import browser_rules
from originset.data.schema import PAGE_NAMES
from originset.models.browsers.candidates import NO, YES
from originset.models.network import is_address, network_requests

_NAME = ["visit_id", "host"]


def page_names(tables: Mapping[str, pl.LazyFrame], replays: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Rows of ``page_names``, from which the view ``exposures`` is made; ordered by their key.

    ``replays``: by ``chromium``, ``firefox``, ``planned_chromium`` and ``planned_firefox`` what
    :func:`originset.models.browsers.replay.replayed` gives.
    """
    names = _measured(tables, replays["chromium"])
    for model, groups in replays.items():
        named = groups.filter(~is_address(pl.col("host")))
        opens, asked = pl.col("opens"), pl.col("looked_up")
        names = names.join(
            named.group_by(_NAME).agg(
                _any(opens == YES, opens != NO).alias(f"{model}_sni"),
                _any(asked.fill_null(value=False), asked.fill_null(value=True)).alias(f"{model}_dns"),
            ),
            on=_NAME,
            how="left",
        )
    secure = pl.col("best_case").is_not_null()
    names = names.with_columns(
        *(pl.col(f"{model}_sni").fill_null(pl.when(~secure).then(pl.lit(value=False))) for model in replays),
        # A name that only http asked for, or that does not exist, is looked up whatever browser and plan.
        *(pl.col(f"{model}_dns").fill_null(pl.when(~secure).then(pl.lit(value=True))) for model in replays),
        pl.col("best_case").fill_null(value=True).alias("best_case_dns"),
        pl.col("best_case").fill_null(value=False).alias("best_case_sni"),
    )
    return names.select(
        pl.col(name) if name == "visit_id" else pl.col(name).cast(kind)
        for name, kind in PAGE_NAMES.polars_schema.items()
    ).sort(_NAME)


def _any(certain: pl.Expr, possible: pl.Expr) -> pl.Expr:
    """True or False where that is certain of at least one, or of none; else NULL."""
    return pl.when(certain.any()).then(pl.lit(value=True)).when(~possible.any()).then(pl.lit(value=False))


def _measured(tables: Mapping[str, pl.LazyFrame], groups: pl.DataFrame) -> pl.DataFrame:
    asked = tables["dns_queries"].filter(pl.col("source") == "browser")
    encrypted = pl.col("resolver").str.contains("^(https|tls|quic)://").fill_null(value=False)
    lookups = asked.group_by(_NAME).agg((~encrypted).any().alias("dns_clear"))
    # An HTTPS record with ECH keys (RFC 9849) lets those hide the name that use it.
    keys = (
        tables["dns_queries"]
        .filter(pl.col("rtype") == "HTTPS")
        .group_by(_NAME)
        .agg(pl.col("answers").list.eval(pl.element().str.contains(r"\bech\b")).list.any().any().alias("ech_offered"))
    )
    network = network_requests(tables).filter(pl.col("host").is_not_null())
    phases = network.group_by(_NAME).agg((pl.col("dns_ms") > 0).any().alias("phase"))
    opened = (
        tables["connections"]
        .filter(pl.col("tls").ne_missing(other=False), pl.col("first_host").is_not_null())
        .group_by("visit_id", pl.col("first_host").alias("host"))
        .agg((~pl.col("ech")).any().alias("sni_clear"), pl.lit(value=True).alias("measured_sni"))
    )
    pages = tables["visits"].select("visit_id", (pl.col("source") == "crawl").fill_null(value=False).alias("crawled"))
    has_ids = (
        tables["connections"].select("visit_id").unique().with_columns(pl.lit(value=True).alias("has_connections"))
    )
    names = pl.concat([network.select(_NAME), asked.select(_NAME), opened.select(_NAME)]).unique()
    return (
        names.filter(~is_address(pl.col("host")))
        .join(pages, on="visit_id")
        .join(lookups.with_columns(pl.lit(value=True).alias("looked_up")), on=_NAME, how="left")
        .join(keys, on=_NAME, how="left")
        .join(phases, on=_NAME, how="left")
        .join(opened, on=_NAME, how="left")
        .join(has_ids, on="visit_id", how="left")
        .join(_best(tables, groups), on=_NAME, how="left")
        .with_columns(
            pl.when("crawled").then(pl.col("looked_up").fill_null(value=False)).when("phase").then(pl.lit(value=True))
            .alias("measured_dns"),
            pl.when("has_connections").then(pl.col("measured_sni").fill_null(value=False)).alias("measured_sni"),
            pl.col("ech_offered").fill_null(pl.when("crawled").then(pl.lit(value=False))),
        )
        .with_columns(
            *((~_hidden(browser, pl.col("ech_offered"))).alias(f"{browser}_sni_clear") for browser in browser_rules()),
        )
        .collect()
    )  # fmt: skip


def _hidden(browser: str, offered: pl.Expr) -> pl.Expr:
    """Whether a browser whose DNS is not encrypted would hide a server name that ECH is offered for."""
    return offered & (not browser_rules()[browser].ech_needs_encrypted_dns)


def _best(tables: Mapping[str, pl.LazyFrame], groups: pl.DataFrame) -> pl.LazyFrame:
    """``best_case``: the name is the first of the page in its AS (or at an address in none)."""
    places = tables["addresses"].select(pl.col("ip").alias("server_ip"), pl.col("asn").cast(pl.String).alias("key"))
    keyed = groups.lazy().join(places, on="server_ip", how="left").with_columns(
        pl.coalesce("key", "server_ip", "host").alias("key")
    )  # fmt: skip
    first = pl.col("first") == pl.col("first").min().over("visit_id", "key")
    return keyed.with_columns(first.alias("is_first")).group_by(_NAME).agg(pl.col("is_first").any().alias("best_case"))
