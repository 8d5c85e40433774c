"""What processes that were killed leave behind in a study's folder: found by the names that only this program gives."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from originset.data.files.nofollow import list_folder, open_folder, remove_file, remove_tree

# The temporary names of originset.data.files.atomic_files.replacing.
_BESIDE = re.compile(r"\..+\.[0-9]+\.tmp", re.ASCII)
_OF_THE_STUDY = re.compile(r"\.(study\.json|ledger\.leases)\.[0-9]+\.tmp", re.ASCII)
# DuckDB's names of spilled files, in the folder that is named after the database.
_SPILLED = re.compile(r"duckdb_temp_[\w.-]+", re.ASCII)
_SPILL_FOLDERS = ("study.duckdb.tmp",)

#: The folders that a database is built in, and that models write to.
BUILDING, MODELS_BUILDING = ".study.duckdb.building", ".models.building"
_BY_HASH = re.compile(r"[0-9a-f]{2}")


def is_half_written(name: str) -> bool:
    """Whether a file in a study's folder is a half-written one of a killed process."""
    return name in {BUILDING, MODELS_BUILDING} or _OF_THE_STUDY.fullmatch(name) is not None


def sweep(root: Path) -> None:
    """Remove half-written files; call while the study is locked. No link is followed, and other files stay.

    Raises:
        NotRegularError: one of the study's folders is a link.
        OSError: something cannot be removed.
    """
    with open_folder(root) as opened:
        for name in (BUILDING, MODELS_BUILDING):
            remove_tree(opened, name, root / name)
    for folder, names in _folders(root):
        for name in list_folder(root, *folder).files:
            if names.fullmatch(name):
                remove_file(root, *folder, name)


def _folders(root: Path) -> Iterator[tuple[tuple[str, ...], re.Pattern[str]]]:
    yield (), _OF_THE_STUDY
    for name in _SPILL_FOLDERS:
        yield (name,), _SPILLED
    tables = list_folder(root, "tables")
    for table in (*tables.folders, *tables.others):  # a link is refused when it is opened
        yield ("tables", table), _BESIDE
    for top in ("files", "captures"):
        for folder in list_folder(root, top).folders:
            if _BY_HASH.fullmatch(folder):
                yield (top, folder), _BESIDE
