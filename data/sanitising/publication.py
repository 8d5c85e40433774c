"""A study's tables and manifest as they can be published: without paths, query strings and names of local files.

Hosts, addresses and certificates stay, since they are what is measured. In place of a path stands the number of the
first request of the visit for the same address: so addresses that were equal within a visit still are, and models that
compare them give what they gave.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

import polars as pl

_NETWORK = ("https", "http", "wss", "ws")
_AUTHORITY = r"^([A-Za-z][A-Za-z0-9+.-]*://)(?:[^/?#]*@)?([^/?#@]*)"
_LOCAL = re.compile(r"^(?:[/~\\]|\.{1,2}[/\\]|[A-Za-z]:[/\\])")
_WITH_PATH = re.compile(r"[/?#]")

# Parameters of a run whose values name files, whatever they look like.
_FILES = {"files", "site_list"}
_PERSONAL = {"contact"}

_NO_TOKENS = pl.DataFrame(schema=dict.fromkeys(("visit_id", "url", "token"), pl.String))


class StudySanitiser:
    """One study's. Requests come first, a whole visit at a time, then the visits that they belong to."""

    def __init__(self, visits: pl.DataFrame, rejects: pl.DataFrame) -> None:
        """``visits`` and ``rejects``: all rows of the two tables."""
        sources = pl.concat([visits["source"], rejects["source"]]).unique().drop_nulls().sort().to_frame("source")
        self._sources = sources.with_row_index("n", 1).select("source", pl.format("file-{}", "n").alias("source_name"))
        self._sites = _sites(visits["site"])
        addresses = visits.select("visit_id", pl.concat_list("url", "final_url").alias("url")).explode("url")
        self._addresses = addresses.drop_nulls().unique()
        self._tokens: list[pl.DataFrame] = []

    def requests(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows of ``requests`` of whole visits, as they can be published."""
        # What a recorder wrote for the protocol may be a piece of a header.
        stripped = rows.with_columns(_token().alias("token"), pl.lit(None, pl.String).alias("protocol_raw"))
        of_visits = stripped.join(self._addresses, on=["visit_id", "url"], how="semi")
        self._tokens.append(of_visits.select("visit_id", "url", "token").unique(["visit_id", "url"]))
        return stripped.with_columns(pl.col("token").alias("url")).select(rows.columns)

    def visits(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows of ``visits`` whose requests have been stripped."""
        tokens = pl.concat([_NO_TOKENS, *self._tokens])
        stripped = rows
        for column in ("url", "final_url"):
            of_column = tokens.rename({"url": column})
            origin = pl.concat_str(pl.col(column).str.extract(_AUTHORITY, 1), pl.col(column).str.extract(_AUTHORITY, 2))
            stripped = (
                stripped.join(of_column, on=["visit_id", column], how="left", maintain_order="left")
                .with_columns(pl.coalesce("token", pl.format("{}/", origin)).alias(column))
                .drop("token")
            )
        crawled = pl.col("source") == "crawl"
        return (
            stripped.join(self._sources, on="source", how="left", maintain_order="left")
            .join(self._sites, on="site", how="left", maintain_order="left")
            .with_columns(
                pl.when(crawled).then("source").otherwise("source_name").alias("source"),
                pl.coalesce("site_name", "site").alias("site"),
                pl.lit(None, pl.String).alias("vantage_ip"),
            )
            .select(rows.columns)
        )

    def vantages(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows of ``vantages``: whose network it is stays, the address in it, which may be a home's, does not."""
        return rows.with_columns(pl.lit(None, pl.String).alias("ip"))

    def rejects(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows of ``rejects`` without what names the file or quotes from it."""
        return (
            rows.join(self._sources, on="source", how="left", maintain_order="left")
            .with_columns(pl.col("source_name").alias("source"), pl.lit(None, pl.String).alias("detail"))
            .select(rows.columns)
        )


def sanitised_manifest(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest without the folders of the machine that it was made on, and without who to write to."""
    return {key: _stripped(key, value) for key, value in manifest.items()}


def _token() -> pl.Expr:
    """The address with a number for its path; of what is not of the network, the scheme alone."""
    host = pl.when(pl.col("host").str.contains(":", literal=True)).then(pl.format("[{}]", "host")).otherwise("host")
    usual = ((pl.col("scheme").is_in(["https", "wss"])) & (pl.col("port") == 443)) | (
        (pl.col("scheme").is_in(["http", "ws"])) & (pl.col("port") == 80)
    )
    port = pl.when(usual | pl.col("port").is_null()).then(pl.lit("")).otherwise(pl.format(":{}", "port"))
    first = pl.col("request_id").min().over("visit_id", "url")
    scheme = pl.col("scheme").fill_null("")
    return (
        pl.when(pl.col("url").is_null())
        .then(pl.lit(None, pl.String))
        .when(scheme.is_in(_NETWORK))
        .then(pl.format("{}://{}{}/{}", scheme, host.fill_null(""), port, first))
        .otherwise(pl.format("{}:", scheme))
    )


def _sites(sites: pl.Series) -> pl.DataFrame:
    """Sites that are more than a host, each with its host and a number that tells it from others of that host."""
    host = pl.coalesce(pl.col("site").str.extract(_AUTHORITY, 2), pl.col("site").str.extract(r"^([^/?#]*)", 1))
    more = sites.unique().drop_nulls().sort().to_frame("site").filter(pl.col("site").str.contains(r"[/?#]"))
    return more.with_columns(host.alias("host")).select(
        "site", pl.format("{}~{}", "host", pl.int_range(1, pl.len() + 1).over("host")).alias("site_name")
    )


def _stripped(key: str, value: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
    if isinstance(value, Mapping):
        # A site list's source is its file; that of reference data is who published it.
        named = ((key if inner == "source" else inner, inner, part) for inner, part in value.items())
        return {inner: _stripped(rule, part) for rule, inner, part in named if inner not in _PERSONAL}
    if isinstance(value, list):
        return [_stripped(key, part) for part in value]
    if not isinstance(value, str):
        return value
    option, equals, path = value.partition("=")
    if equals and option.startswith("--") and _LOCAL.match(path):
        return f"{option}={PurePath(path).name}"
    if _LOCAL.match(value) or (key in _FILES and "://" not in value and _WITH_PATH.search(value)):
        return PurePath(value).name
    return value
