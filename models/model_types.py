"""What a model is: a query in a ``.sql`` file, or a function from rows to rows for what is no query."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

import polars as pl

from originset.data.schema.sql_header import SqlHeader
from originset.models.parameters import Parameters

Rows: TypeAlias = Mapping[str, pl.DataFrame]


class Scope(Enum):
    """What a model sees: some whole visits at a time, and needs memory for these alone; or what all batches wrote."""

    PAGE = "by page"
    STUDY = "over the study"


@dataclass(frozen=True, slots=True)
class SqlModel:
    """A model that is a query in ``file``, a path below the root.

    ``reads``: inputs and models. ``is_view``: its rows are not kept but queried again.
    """

    name: str
    file: str
    scope: Scope
    header: SqlHeader
    sql: str
    reads: frozenset[str]
    is_view: bool


@dataclass(frozen=True, slots=True)
class FunctionModel:
    """A model that is no query: ``function`` makes the tables ``writes`` of the tables ``reads``.

    ``of_browsers``: it applies the browsers' rules, and can be left out; its tables are empty then.
    """

    name: str
    scope: Scope
    function: Callable[[Rows, Parameters], Rows]
    reads: frozenset[str]
    writes: Mapping[str, pl.Schema]
    of_browsers: bool = False


Model: TypeAlias = SqlModel | FunctionModel


def written_by(model: Model) -> tuple[str, ...]:
    """The names of the tables that a model makes."""
    return (model.name,) if isinstance(model, SqlModel) else tuple(model.writes)
