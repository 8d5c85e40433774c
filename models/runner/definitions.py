"""All models, the tables that each reads, and the order in which they run.

A model is one ``.sql`` file, described by its header (:mod:`originset.data.schema.sql_header`), or one function from
rows to rows. There are two scopes. A model *by page* reads one batch of whole visits, which fits into memory, and may
also read tables of the whole study. A model *over the study* reads what all batches wrote; DuckDB spills to disk what
does not fit into memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from importlib import resources
from pathlib import PurePosixPath
from typing import Any

import duckdb
import msgspec

from originset.data.schema.sql_header import read_header
from originset.data.schema.sql_views import view_sql
from originset.data.schema.study_tables import TABLES, Stage
from originset.models.model_types import FunctionModel, Model, Scope, SqlModel, written_by
from originset.models.runner.functions import FUNCTIONS

#: The tables whose rows each belong to one visit; a batch has those of its visits.
PAGE_INPUTS = ("visits", "requests", "connections", "dns_queries", "live_handshakes")

#: The other tables that models read.
STUDY_INPUTS = ("hosts", "addresses", "certificates", "certificate_names")


class ModelDefinitionError(Exception):
    """The definition of ``model`` is wrong, as ``problem`` says: a programming error."""

    def __init__(self, model: str, problem: str) -> None:
        self.model = model
        self.problem = problem
        super().__init__(f"model {model}: {problem}")


@cache
def models() -> dict[str, Model]:
    """All models by name, in an order in which each comes after those that it reads.

    Raises:
        ModelDefinitionError: a model reads what nobody writes, or one that depends on it.
    """
    unordered: list[Model] = [
        *sorted(_queries(), key=lambda model: model.name),
        *(_read(f"data/schema/views/{name}.sql", view_sql(name)) for name in _SHARED),
        *FUNCTIONS,
    ]
    return {model.name: model for model in _in_order(unordered)}


@cache
def stages() -> dict[str, int]:
    """The stage of each model: even ones are over the study, odd ones by page; each reads what earlier ones wrote."""
    stage_of_table: dict[str, int] = {}
    stage_of_model = {}
    for model in models().values():
        stage = 0 if model.scope is Scope.STUDY else 1
        for table in model.reads & stage_of_table.keys():
            # What was written in a stage of the other scope is read in the next.
            stage = max(stage, stage_of_table[table] + (stage_of_table[table] - stage) % 2)
        stage_of_model[model.name] = stage
        stage_of_table |= dict.fromkeys(written_by(model), stage)
    return stage_of_model


def needed_for(tables: Iterable[str], *, browsers: bool = True) -> list[Model]:
    """The models that make ``tables``, and all that these depend on, in their order.

    Without ``browsers`` the model of the browsers' rules is there, as its tables are, but not what it reads.
    """
    wanted, chosen = set(tables), []
    for model in reversed(models().values()):
        if wanted.intersection(written_by(model)):
            chosen.append(model)
            wanted |= reads(model, browsers=browsers)
    return chosen[::-1]


def reads(model: Model, *, browsers: bool = True) -> frozenset[str]:
    """What a model reads: nothing where it is left out, as it applies the browsers' rules."""
    left_out = isinstance(model, FunctionModel) and model.of_browsers and not browsers
    return frozenset() if left_out else model.reads


def modelled_tables() -> tuple[str, ...]:
    """The tables of a study that the models fill."""
    return tuple(
        name
        for name, table in TABLES.items()
        if table.stage is Stage.MODELLED and table.view is None and name != "model_sensitivity"
    )


#: Views of the study that models read too.
_SHARED = ("network_requests", "selected_visits", "counted_visits")

#: Its queries are of plans (:mod:`originset.models.plans.plan_queries`), not models.
_PLANS = "plans"


def _queries() -> Iterator[SqlModel]:
    """The model of each ``.sql`` file: there is a folder for each subject."""
    for folder in resources.files("originset.models").iterdir():
        if folder.is_dir() and folder.name != _PLANS:
            for file in folder.iterdir():
                if file.name.endswith(".sql"):
                    yield _read(f"models/{folder.name}/{file.name}", file.read_text())


def macros() -> str:
    """The statements that define what models have in common."""
    return (resources.files("originset.models") / "macros.sql").read_text()


def _read(file: str, sql: str) -> SqlModel:
    name = PurePosixPath(file).stem
    header = read_header(sql)
    try:
        scope = Scope(header.facts.get("scope"))
    except ValueError:
        scopes = " or ".join(repr(scope.value) for scope in Scope)
        raise ModelDefinitionError(name, f"its header must have a scope, {scopes}") from None
    return SqlModel(name, file, scope, header, sql, tables_read(name, sql), header.facts.get("kept as") == "view")


def tables_read(name: str, sql: str) -> frozenset[str]:
    """The tables that a query reads, without those that it defines itself (``WITH``).

    Raises:
        ModelDefinitionError: it is no query that DuckDB can parse.
    """
    (text,) = _parser().execute("SELECT CAST(json_serialize_sql(?) AS VARCHAR)", [sql]).fetchall()[0]
    tree = msgspec.json.decode(text)
    if tree["error"]:
        raise ModelDefinitionError(name, tree["error_message"])
    read: set[str] = set()
    defined: set[str] = set()
    _collect(tree, read, defined)
    return frozenset(read - defined)


@cache
def _parser() -> duckdb.DuckDBPyConnection:
    # One for all models: to open a database takes longer than to parse a query.
    return duckdb.connect(config={"threads": 1})


def _collect(node: Any, read: set[str], defined: set[str]) -> None:  # noqa: ANN401 - any part of a JSON text
    if isinstance(node, list):
        for each in node:
            _collect(each, read, defined)
    elif isinstance(node, dict):
        if node.get("type") == "BASE_TABLE":
            read.add(node["table_name"])
        defined.update(each["key"] for each in node.get("cte_map", {}).get("map", ()))
        for each in node.values():
            _collect(each, read, defined)


def _in_order(found: list[Model]) -> list[Model]:
    available = {*PAGE_INPUTS, *STUDY_INPUTS}
    writers = {table: model.name for model in found for table in written_by(model)}
    ordered: list[Model] = []
    left = {model.name: model for model in found}
    while left:
        ready = [model for model in left.values() if model.reads <= available]
        if not ready:
            name, model = next(iter(left.items()))
            unknown = sorted(model.reads - available - writers.keys())
            raise ModelDefinitionError(
                name, f"nothing writes {', '.join(unknown)}" if unknown else "it depends on itself"
            )
        for model in ready:
            available.update(written_by(left.pop(model.name)))
        ordered += ready
    return ordered
