"""The tables that models read, as queries of Parquet files below a study's folder, or below a copy of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from originset.data.studies.shards import literal

#: The variable of a connection with the folder of the files.
FOLDER_VARIABLE = "study_folder"

#: SQL of that folder.
FOLDER_SQL = f"getvariable({literal(FOLDER_VARIABLE)})"


@dataclass(frozen=True, slots=True)
class Select:
    """A query of Parquet ``files``, as paths below a folder that ``sql`` names as FOLDER_SQL."""

    sql: str
    files: tuple[Path, ...]

    @classmethod
    def all_of(cls, path: Path) -> Select:
        """All rows of one file."""
        return cls(f"FROM read_parquet({FOLDER_SQL} || {literal(f'/{path}')}, hive_partitioning = false)", (path,))


#: Queries of tables' rows, by table.
Selects: TypeAlias = Mapping[str, Select]


@dataclass(frozen=True, slots=True)
class Inputs:
    """The tables of a study, in files below ``folder``.

    ``study``: all rows. ``batches``: by number, the rows of some whole visits, for tables with rows of visits.
    """

    folder: Path
    study: Selects
    batches: Mapping[int, Selects]
