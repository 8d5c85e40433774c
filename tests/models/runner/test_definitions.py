"""The models are described, and run in an order in which each finds what it reads."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any

import duckdb
import polars as pl
import pytest

from originset.data.schema.study_tables import TABLES, Stage
from originset.models.model_types import FunctionModel, Scope, SqlModel, written_by
from originset.models.parameters import Parameters
from originset.models.runner import definitions
from originset.models.runner.definitions import (
    PAGE_INPUTS,
    STUDY_INPUTS,
    ModelDefinitionError,
    macros,
    modelled_tables,
    models,
    needed_for,
    stages,
    tables_read,
)
from originset.models.runner.runner import batch_rows

pytestmark = pytest.mark.slow

SQL_MODELS = [model for model in models().values() if isinstance(model, SqlModel)]
#: The macros that models share, by name.
_MACROS = {text.split("(")[0]: text for text in macros().split("CREATE TEMP MACRO ")[1:]}
#: Where a header says that columns are those of a table.
_OF_TABLE = re.compile(r"(?:those|a column) of the table (\w+)")


@pytest.fixture(scope="module")
def results(make_tables: Callable[[dict[str, Any]], dict[str, pl.LazyFrame]]) -> dict[str, pl.DataFrame]:
    """What each model gives for a study without rows."""
    return batch_rows(make_tables({}), [model.name for model in SQL_MODELS])


@pytest.mark.parametrize("model", SQL_MODELS, ids=lambda model: model.name)
def test_each_model_and_each_column_is_described(model: SqlModel, results: dict[str, pl.DataFrame]) -> None:
    described = set(model.header.columns)
    columns = set(results[model.name].columns)
    told = [model.header.description, *model.header.columns.values()]
    tables = {table for text in told for table in _OF_TABLE.findall(text)}
    assert len(model.header.description) > 20
    assert all(len(meaning) > 3 for meaning in model.header.columns.values())
    assert described <= columns, "a column that there is not"
    assert tables <= TABLES.keys()
    assert columns - described <= {name for table in tables for name in TABLES[table].polars_schema.names()}


@pytest.mark.parametrize("model", SQL_MODELS, ids=lambda model: model.name)
def test_each_parameter_that_a_model_uses_is_described(model: SqlModel) -> None:
    called = "".join(body for name, body in _MACROS.items() if re.search(rf"\b{name}\(", model.sql))
    used = set(re.findall(r"getvariable\('(\w+)'\)", model.sql + called)) - {"browsers", "selected_visits"}
    assert used == model.header.parameters.keys()
    assert used <= {field.name for field in fields(Parameters)}


@pytest.mark.parametrize("model", SQL_MODELS, ids=lambda model: model.name)
def test_no_part_of_a_query_is_called_as_a_table(model: SqlModel) -> None:
    """Such a name would mean the table in one part of the query, and something else in another."""
    tables = {*PAGE_INPUTS, *STUDY_INPUTS, *(table for each in models().values() for table in written_by(each))}
    assert not tables & set(_named_parts(_tree(model.sql)))


def _tree(sql: str) -> Any:
    with duckdb.connect() as connection:
        return json.loads(connection.execute("SELECT CAST(json_serialize_sql(?) AS VARCHAR)", [sql]).fetchall()[0][0])


def _named_parts(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        yield from (part["key"] for part in node.get("cte_map", {}).get("map", ()))
    for each in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _named_parts(each)


def test_each_model_comes_after_those_that_it_reads() -> None:
    found = {*PAGE_INPUTS, *STUDY_INPUTS}
    for name, model in models().items():
        assert model.name == name
        assert model.reads <= found, name
        found |= set(written_by(model))


def test_a_stage_reads_what_earlier_stages_wrote() -> None:
    """Of its own stage a model reads what the same batch, or the same connection, has made just before."""
    writers = {table: model for model in models().values() for table in written_by(model)}
    for name, model in models().items():
        assert stages()[name] % 2 == (model.scope is Scope.PAGE)
        for writer in (writers[table] for table in model.reads & writers.keys()):
            assert stages()[writer.name] <= stages()[name], (writer.name, name)


def test_each_table_is_written_once_and_every_model_serves_one() -> None:
    written = Counter(table for model in models().values() for table in written_by(model))
    assert set(written.values()) == {1}
    assert set(modelled_tables()) <= written.keys()
    views = {name for name, table in TABLES.items() if table.stage is Stage.MODELLED and table.view is not None}
    assert set(modelled_tables()) | views | {"model_sensitivity"} == {
        name for name, table in TABLES.items() if table.stage is Stage.MODELLED
    }
    needed = needed_for([*modelled_tables(), "results_summary"])
    assert {model.name for model in needed} == models().keys()


def test_what_one_table_needs_is_little() -> None:
    needed = [model.name for model in needed_for(["certificate_coverage"])]
    assert needed == ["certificate_coverage"]
    counted = [model.name for model in needed_for(["page_counts"])]
    assert counted[-1] == "page_counts"
    assert "page_load_times" not in counted


def _added(monkeypatch: pytest.MonkeyPatch, name: str, reads: set[str], writes: str) -> None:
    def nothing(rows: Any, _parameters: Any) -> Any:
        return rows

    schema = pl.Schema({"visit_id": pl.String()})
    extra = FunctionModel(name, Scope.PAGE, nothing, frozenset(reads), {writes: schema})
    monkeypatch.setattr(definitions, "FUNCTIONS", (*definitions.FUNCTIONS, extra))


@pytest.mark.parametrize(
    ("reads", "problem"),
    [
        ({"visits", "no_such_table"}, "nothing writes no_such_table"),
        ({"visits", "odd_rows"}, "it depends on itself"),
    ],
)
def test_what_cannot_be_run_is_named(monkeypatch: pytest.MonkeyPatch, reads: set[str], problem: str) -> None:
    _added(monkeypatch, "odd", reads, "odd_rows")
    with pytest.raises(ModelDefinitionError, match=f"model odd: {problem}") as caught:
        models.__wrapped__()
    assert caught.value.model == "odd"


def test_a_function_comes_where_what_it_reads_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    _added(monkeypatch, "odd", {"page_counts"}, "odd_rows")
    order = list(models.__wrapped__())
    assert order.index("page_counts") < order.index("odd")


def test_which_tables_a_query_reads() -> None:
    sql = """
        WITH own AS (SELECT * FROM visits AS v JOIN hosts ON true)
        SELECT * FROM own WHERE visit_id IN (SELECT visit_id FROM requests) OR EXISTS (FROM (SELECT * FROM connections))
    """
    assert tables_read("some", sql) == {"visits", "hosts", "requests", "connections"}
    with pytest.raises(ModelDefinitionError, match="model some: "):
        tables_read("some", "SELECT FROM WHERE")
