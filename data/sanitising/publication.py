"""A study's tables as they can be published: without paths, query strings and names of local files.

Hosts, addresses and certificates stay, since they are what is measured. In place of a path stands the number of the
first request of the visit for the same address: so addresses that were equal within a visit still are, and models that
compare them give what they gave.
"""

from __future__ import annotations

import polars as pl

_NETWORK = ("https", "http", "wss", "ws")
_AUTHORITY = r"^([A-Za-z][A-Za-z0-9+.-]*://)(?:[^/?#]*@)?([^/?#@]*)"

# Columns whose texts are left out, or have others in their place.
REDACTED_COLUMNS = frozenset({"url", "final_url", "source", "vantage_ip", "user_agent", "protocol_raw", "detail"})

# What follows a browser's own product tokens: a crawl has whom to contact there.
_LAST_COMMENT = r"^(.*\S\s.*\S) \([^()]*\)$"

_NO_TOKENS = pl.DataFrame(schema=dict.fromkeys(("visit_id", "url", "token"), pl.String))


class StudySanitiser:
    """One study's. Requests come first, a whole visit at a time, then the visits that they belong to."""

    def __init__(self, visits: pl.DataFrame, rejects: pl.DataFrame, servers: pl.Series) -> None:
        """``visits`` and ``rejects``: all rows of the two tables. ``servers``: addresses that servers have."""
        sources = pl.concat([visits["source"], rejects["source"]]).unique().drop_nulls().sort().to_frame("source")
        self._sources = sources.with_row_index("n", 1).select("source", pl.format("file-{}", "n").alias("source_name"))
        self._sites = _sites(visits["site"])
        addresses = visits.select("visit_id", pl.concat_list("url", "final_url").alias("url")).explode("url")
        self._addresses = addresses.drop_nulls().unique()
        vantages = visits["vantage_ip"].drop_nulls().unique()
        self._vantage_ips = vantages.filter(~vantages.is_in(servers.implode()))
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
                pl.col("user_agent").str.replace(_LAST_COMMENT, "${1}"),
            )
            .select(rows.columns)
        )

    def vantages(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows of ``vantages``: whose network it is stays, the address in it, which may be a home's, does not."""
        return rows.with_columns(pl.lit(None, pl.String).alias("ip"))

    def addresses(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows of ``addresses`` but those of vantages that are no server's."""
        return rows.filter(~pl.col("ip").is_in(self._vantage_ips.implode()))

    def dns_queries(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows of ``dns_queries``: a resolver at a vantage's own address is not named."""
        resolver = pl.col("resolver")
        own = resolver.is_in(self._vantage_ips.implode())
        return rows.with_columns(pl.when(own).then(None).otherwise(resolver).alias("resolver"))

    def rejects(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows of ``rejects`` without what names the file or quotes from it."""
        return (
            rows.join(self._sources, on="source", how="left", maintain_order="left")
            .with_columns(pl.col("source_name").alias("source"), pl.lit(None, pl.String).alias("detail"))
            .select(rows.columns)
        )


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
