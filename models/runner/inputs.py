"""Where the tables are that models read: Parquet files below a study's folder, or a copy of some."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from originset.data.studies.shards import literal

#: The variable of a connection that has the folder which files are below.
FOLDER_VARIABLE = "study_folder"

#: SQL of that folder.
FOLDER_SQL = f"getvariable({literal(FOLDER_VARIABLE)})"


@dataclass(frozen=True, slots=True)
class Select:
    """A query of the rows of Parquet ``files``, paths below a folder; ``sql`` has that folder as FOLDER_SQL."""

    sql: str
    files: tuple[Path, ...]

    @classmethod
    def all_of(cls, path: Path) -> Select:
        """All rows of one file."""
        return cls(f"FROM read_parquet({FOLDER_SQL} || {literal(f'/{path}')}, hive_partitioning = false)", (path,))


#: By table a query of its rows.
Selects: TypeAlias = Mapping[str, Select]


@dataclass(frozen=True, slots=True)
class Inputs:
    """The files below ``folder`` that a study's tables are in.

    ``study``: all rows. ``batches``: by number, rows of the tables that belong to visits, those of whole visits.
    """

    folder: Path
    study: Selects
    batches: Mapping[int, Selects]
