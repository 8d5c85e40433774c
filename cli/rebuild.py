"""What ``analyze`` and ``model`` share: the model tables computed again, and study.duckdb built with them."""

from __future__ import annotations

import polars as pl

from originset.data.database import build
from originset.data.schema import TABLES, Stage
from originset.data.shards import require_unchanged, scan
from originset.data.study import Study
from originset.models.fill import model_tables
from originset.models.parameters import Parameters
from originset.models.second_table import second_table_rows
from originset.models.sensitivity import model_sensitivity


def rebuild(
    study: Study, parameters: Parameters, *, sensitivity: bool = False, second: tuple[str, pl.DataFrame] | None = None
) -> dict[str, int]:
    """Fill the model tables with ``parameters`` and replace the database; call under :meth:`Study.changing`.

    With ``sensitivity`` the models run once more for every choice that could have been made otherwise, and
    ``model_sensitivity`` holds what that changes, also for a ``second`` IP-to-AS table (its name, and rows of
    ``addresses`` by it); without it that table is empty. The parameters end up in the manifest too, under ``models``;
    what it says under ``views`` decides how the database is built. Returns the number of rows of each model table.

    Raises:
        StudyError: the database cannot be written, or a shard is damaged.
    """
    for name in TABLES:
        require_unchanged(study, name)
    tables = {name: scan(study, name) for name, table in TABLES.items() if table.stage in (Stage.ROWS, Stage.RESOLVED)}
    modelled = model_tables(tables, parameters)
    if sensitivity:
        rows = [model_sensitivity(tables, modelled, parameters)]
        if second is not None:
            rows.append(second_table_rows(tables, modelled, second, parameters))
        modelled["model_sensitivity"] = pl.concat(rows)
    build(study, modelled, views=study.manifest().get("views", False))
    study.update_manifest(models=parameters.as_dict())
    return {name: rows.height for name, rows in modelled.items()}
