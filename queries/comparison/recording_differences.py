"""How the recordings of two sides of a comparison differ, which can explain a difference in numbers."""

from __future__ import annotations

import duckdb
import polars as pl

from originset.queries.comparison.compared_values import GROUPS

# In the order of the sentences.
_FACTS = {
    "recorder": "p.recorder",
    "browser": "concat_ws(' ', p.browser, p.browser_version)",
    "client": "p.client",
    "viewport": "p.viewport",
    "user agent": "p.user_agent",
    "third-party cookies": "p.third_party_cookies",
    "address families": "p.ip_families",
    "vantage": "p.vantage",
    "crawl settings": "p.profile",
    "consent banner": "p.consent_banner",
    "limits of the recording": "array_to_string(list_sort(p.quality), ', ')",
}

_SQL = """
SELECT DISTINCT {group} AS "group", what, coalesce(nullif(value, ''), 'not known') AS value
FROM (
    SELECT p.*, unnest([{names}]) AS what, unnest([{values}]) AS value
    FROM visits AS p WHERE p.visit_id IN (SELECT visit_id FROM counted_visits)
) AS p
"""


def recording_facts(connection: duckdb.DuckDBPyConnection, by: str | None = None) -> pl.DataFrame:
    """How the compared visits were recorded: distinct group, what, value; ``not known`` if that is not recorded.

    ``by``: see :func:`originset.queries.comparison.compared_values.page_values`; the visits are the same.
    """
    names = ", ".join(f"'{name}'" for name in _FACTS)
    values = ", ".join(f"({value})::VARCHAR" for value in _FACTS.values())
    sql = _SQL.format(group=GROUPS[by], names=names, values=values)
    rows: pl.DataFrame = connection.sql(sql).pl()
    none = (pl.col("what") == "limits of the recording") & (pl.col("value") == "not known")
    return rows.with_columns(pl.when(none).then(pl.lit("none")).otherwise("value").alias("value"))


def recording_differences(before: pl.DataFrame, after: pl.DataFrame, by: str | None = None) -> list[str]:
    """``browser: chromium 1 and firefox 2`` for each fact that differs.

    ``before``, ``after``: the results of :func:`recording_facts`. ``by``: the fact that differs by intention.
    """
    differences = {}
    for name in _FACTS:
        sides = [sorted(side.filter(pl.col("what") == name)["value"].unique()) for side in (before, after)]
        if sides[0] != sides[1] and name != by:
            differences[name] = " and ".join(", ".join(side) for side in sides)
    if "browser" in differences:
        differences.pop("user agent", None)
    return [f"{name}: {values}" for name, values in differences.items()]
