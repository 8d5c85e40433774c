"""The questions of docs/schema.md: their SQL gives the numbers that the named queries give."""

from __future__ import annotations

import polars as pl
import pytest

from originset.data.database import open_database
from originset.data.schema_page import EXAMPLES
from originset.queries.catalogue import rows_of, run

# Which rows of the named query, and which of its columns, say the same.
_SAME = {
    "ladder_summary": (
        pl.col("counts").eq("TLS connections") & pl.col("rung").eq("measured"),
        ["vantage", "browser", "median"],
    ),
    "causes_owner_summary": (pl.col("third_party"), ["vantage", "browser", "owner_domain", "connections"]),
    "causes_connection_summary": (pl.lit(True), ["vantage", "browser", "cause", "detail", "fixable_by", "connections"]),
    "additions_provider_summary": (pl.col("rank").eq(1), ["provider", "asn"]),
    "sans_changes_summary": (pl.lit(True), ["median_names", "median_ideal_names"]),
}


@pytest.mark.parametrize(("question", "query", "sql"), EXAMPLES, ids=[query for _, query, _ in EXAMPLES])
def test_an_example_says_what_the_named_query_says(study, question, query, sql) -> None:
    rows, columns = _SAME[query]
    with open_database(study) as connection:
        own = run(connection, sql).select(columns)
        named = rows_of(connection, query).filter(rows).select(columns)
    assert not named.is_empty()
    assert sorted(own.rows(), key=repr) == sorted(named.rows(), key=repr)
