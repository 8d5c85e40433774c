"""The two kinds of model: a query in a ``.sql`` file, and a function from rows to rows."""

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
    """What a model reads: one batch of whole visits, which fits into memory, or what all batches wrote."""

    PAGE = "by page"
    STUDY = "over the study"


@dataclass(frozen=True, slots=True)
class SqlModel:
    """A model that is the query in ``file``, a path below the repository's root.

    ``reads``: names of inputs and models. ``is_view``: it is a view, whose rows are not stored.
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
    """A model that is a function: ``function`` computes the tables ``writes`` from the tables ``reads``.

    ``of_browsers``: it applies the browsers' rules; a run can leave these out, and its tables are empty then.
    """

    name: str
    scope: Scope
    function: Callable[[Rows, Parameters], Rows]
    reads: frozenset[str]
    writes: Mapping[str, pl.Schema]
    of_browsers: bool = False


Model: TypeAlias = SqlModel | FunctionModel


def written_by(model: Model) -> tuple[str, ...]:
    """The names of the tables that a model writes."""
    return (model.name,) if isinstance(model, SqlModel) else tuple(model.writes)
