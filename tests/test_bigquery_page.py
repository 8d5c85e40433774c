"""docs/bigquery.md: the ladder as BigQuery is to have it, tried as far as it can be without BigQuery."""

import importlib.util
from pathlib import Path

import duckdb
import sqlglot
from polars.testing import assert_frame_equal
from sqlglot import exp

from originset.data.studies.database import open_database
from originset.data.studies.study import Study
from originset.queries.catalogue import rows_of

ROOT = Path(__file__).parents[1]

_spec = importlib.util.spec_from_file_location("bigquery_page", ROOT / ".ci" / "bigquery_page.py")
assert _spec is not None
assert _spec.loader is not None
bigquery_page = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(bigquery_page)

# Of BigQuery's reference ("Functions, operators, and conditionals"), as sqlglot names them: COUNTIF, LOGICAL_OR, ...
FUNCTIONS = {
    "And", "Array", "Case", "Cast", "Coalesce", "Count", "CountIf", "FirstValue", "GroupConcat", "If",
    "JSONExtractScalar", "LogicalOr", "Min", "Nullif", "Or", "Round", "Struct", "Sum", "Unnest",
}  # fmt: skip


def test_it_has_the_querys_rows(modelled_example: Study) -> None:
    """Translated back, over nothing but the columns that users are told to load."""
    with open_database(modelled_example) as connection:
        expected = rows_of(connection, "ladder_summary").drop(bigquery_page.LEFT_OUT)
        tables = {name: connection.sql(query).pl() for name, query in bigquery_page.TABLES.items()}
    (back,) = sqlglot.transpile(bigquery_page.statement(), read="bigquery", write="duckdb")
    with duckdb.connect() as loaded:
        for name, table in tables.items():
            loaded.register(name, table)
        found = loaded.sql(back).pl()
    assert expected.height > 20
    assert_frame_equal(found, expected, check_dtypes=False)


def test_it_is_bigquerys_dialect() -> None:
    """Functions that BigQuery has; no order within sums and no NULLS LAST within texts, which BigQuery refuses."""
    statement = sqlglot.parse_one(bigquery_page.statement(), dialect="bigquery", error_level=sqlglot.ErrorLevel.RAISE)
    assert {type(function).__name__ for function in statement.find_all(exp.Func)} <= FUNCTIONS
    assert not [function for function in statement.find_all(exp.Sum) if function.find(exp.Order)]
    orders = [order for function in statement.find_all(exp.GroupConcat) for order in function.find_all(exp.Ordered)]
    assert orders
    assert all(order.args.get("nulls_first") for order in orders)
