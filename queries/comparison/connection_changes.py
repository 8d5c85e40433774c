"""The connections that two sides of a comparison do not have in common: by page and host."""

from __future__ import annotations

import duckdb
import polars as pl

from originset.queries.comparison.compared_values import GROUPS, renamed_alike

_SQL = """
WITH compared AS (
    SELECT v.site, v.page, {group} AS "group", v.visit_id
    FROM counted_visits AS v JOIN visits AS p USING (visit_id)
    WHERE v.question = 'connections'
),
requested AS (
    SELECT p.site, p.page, p."group", p.visit_id, r.host, r.connection_id, coalesce(n.first_host, r.host) AS opened_for
    FROM compared AS p
    JOIN network_requests AS r USING (visit_id)
    LEFT JOIN connections AS n USING (visit_id, connection_id)
    WHERE r.secure AND r.connection_id IS NOT NULL AND r.host IS NOT NULL
),
loads AS (
    SELECT site, page, "group", count(*) AS visits FROM compared GROUP BY ALL
)
SELECT
    l.site, l.page, l."group", a.host,
    count(DISTINCT (a.visit_id, a.connection_id)) FILTER (a.opened_for = a.host) / any_value(l.visits) AS connections,
    list(DISTINCT a.opened_for ORDER BY a.opened_for) FILTER (a.opened_for <> a.host) AS carriers
FROM loads AS l
LEFT JOIN requested AS a
    ON a.site = l.site AND a.page IS NOT DISTINCT FROM l.page AND a."group" IS NOT DISTINCT FROM l."group"
GROUP BY l.site, l.page, l."group", a.host
"""

_KEYS = ["site", "page", "host"]

#: The rows of :func:`connection_changes`.
CONNECTION_CHANGES = pl.Schema(
    {
        "site": pl.String(),
        "page": pl.String(),
        "host": pl.String(),
        "before": pl.Float64(),
        "after": pl.Float64(),
        "change": pl.Float64(),
        "why": pl.String(),
    }
)


def host_connections(connection: duckdb.DuckDBPyConnection, by: str | None = None) -> pl.DataFrame:
    """The hosts of each page: site, page, group, host, connections, carriers; a page without hosts has a row with NULL.

    ``connections``: used TLS connections that were opened for the host, per visit of the page. ``carriers``: other
    hosts whose connections carried requests to it. Only visits that count for connections. ``by``: see
    :func:`originset.queries.comparison.compared_values.page_values`.
    """
    rows: pl.DataFrame = connection.sql(_SQL.format(group=GROUPS[by])).pl()
    return rows


def connection_changes(before: pl.DataFrame, after: pl.DataFrame) -> pl.DataFrame:
    """Hosts with more or fewer connections after: site, page, host, before, after, change, why; by page and change.

    ``before`` and ``after``: the results of :func:`host_connections`, of one group each. Pages are paired as in
    :func:`originset.queries.comparison.compared_values.compare_pages`. ``why``: one side has no requests to the host,
    or they use a connection to another host.
    """
    before = renamed_alike(before, after)
    pages = [side.select("site", "page").unique() for side in (before, after)]
    common_pages = pages[0].join(pages[1], on=["site", "page"], how="semi", nulls_equal=True)
    sides = [
        side.join(common_pages, on=["site", "page"], how="semi", nulls_equal=True).drop("group").drop_nulls("host")
        for side in (before, after)
    ]
    joined = sides[0].join(sides[1], on=_KEYS, how="full", coalesce=True, suffix="_after", nulls_equal=True)
    requested, requested_after = pl.col("connections").is_not_null(), pl.col("connections_after").is_not_null()
    changed = joined.with_columns(
        pl.when(~requested_after).then(pl.lit("no requests after"))
        .when(~requested).then(pl.lit("no requests before"))
        .when((pl.col("connections_after") == 0) & (pl.col("carriers_after").list.len() > 0))
        .then(pl.format("after on the connection to {}", pl.col("carriers_after").list.join(", ")))
        .when((pl.col("connections") == 0) & (pl.col("carriers").list.len() > 0))
        .then(pl.format("before on the connection to {}", pl.col("carriers").list.join(", ")))
        .alias("why"),
        pl.col("connections", "connections_after").fill_null(0.0),
    )  # fmt: skip
    return (
        changed.select(
            *_KEYS,
            pl.col("connections").alias("before"),
            pl.col("connections_after").alias("after"),
            (pl.col("connections_after") - pl.col("connections")).alias("change"),
            "why",
        )
        .filter(pl.col("change") != 0)
        .sort("site", "page", "change", "host", nulls_last=True)
    )
