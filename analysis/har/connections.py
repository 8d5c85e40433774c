"""Rows of ``connections`` from requests: a HAR knows only connections that carried something."""

from __future__ import annotations

import polars as pl

from originset.data.schema.study_tables import TABLES


def connection_rows(requests: pl.DataFrame, certificate_ids: list[str | None]) -> pl.DataFrame:
    """One row per visit and connection id of :func:`originset.analysis.har.requests.request_rows`.

    ``certificate_ids`` gives the id of each position in ``security``.
    """
    secure = pl.col("scheme").is_in(["https", "wss"])
    opened = pl.col("started_ms") + pl.col("blocked_ms").fill_null(0.0) + pl.col("dns_ms").fill_null(0.0)
    had_connect = pl.col("connect_ms").is_not_null()
    quic = pl.col("protocol") == "h3"
    # WebPageTest gives the details of TLS on the entry that opened the connection only.
    certificates = pl.Series("certificate_ids", certificate_ids, dtype=pl.String)
    rows = (
        requests.filter(pl.col("connection_id").is_not_null())
        .with_columns(opened.alias("opened"))
        .group_by("visit_id", "connection_id", maintain_order=True)
        .agg(
            pl.col("host").drop_nulls().first().alias("first_host"),
            pl.col("host").drop_nulls().unique(maintain_order=True).alias("hosts"),
            pl.col("server_ip").drop_nulls().first(),
            pl.col("port").drop_nulls().first(),
            pl.col("protocol").drop_nulls().first(),
            secure.any().alias("tls"),
            pl.when(quic.any())
            .then(pl.lit("QUIC"))
            .otherwise(pl.col("tls_version").replace("", None).drop_nulls().first())
            .alias("tls_version"),
            pl.col("security").drop_nulls().first(),
            # The phases of a request do not show a connection that was opened ahead of need.
            pl.coalesce(_first_known("opened_ms"), pl.col("opened").filter(had_connect).first()).alias("opened_ms"),
            pl.coalesce(
                _first_known("established_ms"), (pl.col("opened") + pl.col("connect_ms")).filter(had_connect).first()
            ).alias("established_ms"),
            pl.col("tls_resumed").drop_nulls().first().alias("resumed"),
            pl.col("connection_source").first().alias("source"),
        )
    )
    return rows.with_columns(
        certificates.gather(rows["security"]).alias("certificate_id")
        if certificate_ids
        else pl.lit(None).alias("certificate_id"),
        pl.lit(value=True).alias("used"),
    ).select(
        pl.col(name).cast(kind)
        if name in rows.columns or name in {"certificate_id", "used"}
        else pl.lit(None, kind).alias(name)
        for name, kind in TABLES["connections"].polars_schema.items()
    )


def _first_known(name: str) -> pl.Expr:
    return pl.col(name).drop_nulls().first()
