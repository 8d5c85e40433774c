"""Files that were imported as far as they went, and are given whole later: the whole file takes their place.

Its rows are written first, and those of what was cut off are removed after. Where an import is killed in between, both
are there, and the next import removes the latter.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from originset.data.files.nofollow import open_regular
from originset.data.studies.shard_checksum import is_unchanged
from originset.data.studies.shards import IMPORT, is_usable, read_shard, shard_path, shard_paths, write_shard
from originset.data.studies.study import Study

# The tables with rows of visits that an import writes; visits comes last.
_TABLES = ("requests", "connections", "dns_queries", "visits")
_CUT_OFF = pl.col("quality").list.contains("truncated").fill_null(value=False)


def imported_files(visits: Path) -> pl.DataFrame:
    """``source``, ``source_sha256`` and ``cut_off`` of a shard of visits, of any version; empty if it is damaged."""
    nothing = pl.DataFrame(schema={"source": pl.String, "source_sha256": pl.String, "cut_off": pl.Boolean})
    try:
        opened = open_regular(visits.parent, visits.name)
        with open(opened, "rb") as file:  # noqa: PTH123 - it is open already
            if not is_unchanged(file):
                return nothing
            file.seek(0)
            rows = pl.read_parquet(file, columns=["source", "source_sha256", "quality"])
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return nothing
    imported = rows.filter(pl.col("source_sha256").is_not_null())
    return imported.group_by("source", "source_sha256", maintain_order=True).agg(_CUT_OFF.any().alias("cut_off"))


def cut_off_sources(study: Study) -> set[str]:
    """The sources whose rows in the study are all from a truncated file."""
    files = [imported_files(path) for path in _visits(study)]
    return set(pl.concat(files).filter("cut_off")["source"]) if files else set()


def remove_replaced(study: Study) -> None:
    """Remove the rows of truncated files if the whole file is in the study too."""
    by_shard = {path: imported_files(path) for path in _visits(study)}
    whole_sources = {source for files in by_shard.values() for source in files.filter(~pl.col("cut_off"))["source"]}
    for path, files in by_shard.items():
        replaced = set(files.filter("cut_off")["source"]) & whole_sources
        if replaced and all(is_usable(study, table, path.stem) for table in _TABLES):
            _remove_rows(study, path, replaced)


def _visits(study: Study) -> list[Path]:
    return [path for path in shard_paths(study, "visits") if path.stem.startswith(IMPORT)]


def _remove_rows(study: Study, visits: Path, sources: set[str]) -> None:
    """Remove the rows of truncated files of these sources from a shard of each table, from visits last."""
    rows = read_shard(study, "visits", visits)
    removed = rows.filter(pl.col("source").is_in(list(sources)) & _CUT_OFF)["visit_id"].implode()
    for table in _TABLES:
        visit_rows = read_shard(study, table, shard_path(study, table, visits.stem))
        write_shard(study, table, visits.stem, visit_rows.filter(~pl.col("visit_id").is_in(removed)))
