"""The tables of a study divided into the inputs of models: batches of whole visits, and tables of the whole study."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import polars as pl

from originset.data.errors import StudyError
from originset.data.studies.shards import (
    LIVE,
    RESOLVED,
    read_shard,
    read_shards_sql,
    scan,
    shard_path,
    shard_paths,
)
from originset.data.studies.study import Study
from originset.models.runner.definitions import PAGE_INPUTS, STUDY_INPUTS
from originset.models.runner.inputs import FOLDER_SQL, Inputs, Select

#: About the size of the shards of requests in a batch: a few million rows.
BATCH_BYTES = 64 << 20


def inputs_of(study: Study, batch_bytes: int = BATCH_BYTES) -> Inputs:
    """The shards of a study, in batches with about ``batch_bytes`` of shards of ``requests``.

    The rows of a visit are in shards of one name. Live answers are in another shard (``live``), which is read with
    every batch.

    Raises:
        StudyError: a shard is damaged, was written by an earlier version and lacks what it needs, or has a visit that
            is in another one too.
    """
    shards = {table: {path.stem: path for path in shard_paths(study, table)} for table in PAGE_INPUTS}
    of_study = {
        table: _select(study, table, _resolved_shard(shard_paths(study, table)))
        for table in (*PAGE_INPUTS, *STUDY_INPUTS)
    }
    _require_each_visit_once(study)
    batches = [
        {table: _batch_select(study, table, names, shards[table]) for table in PAGE_INPUTS}
        for names in _groups(shards, batch_bytes)
    ]
    return Inputs(study.root.absolute(), of_study, dict(enumerate(batches)))


def _resolved_shard(paths: list[Path]) -> list[Path]:
    """Only the shard with all hosts or addresses that ``analyze`` writes, if there is one; else all shards."""
    return [path for path in paths if path.stem == RESOLVED] or paths


def _require_each_visit_once(study: Study) -> None:
    rows_of_visit = scan(study, "visits").group_by("visit_id").len()
    visit = rows_of_visit.filter(pl.col("len") > 1).select(pl.col("visit_id").min()).collect(engine="streaming").item()
    if visit is not None:
        shards = (
            path for path in shard_paths(study, "visits") if visit in read_shard(study, "visits", path)["visit_id"]
        )
        problem = (
            f"visit {visit} occurs more than once, in {' and '.join(path.name for path in shards)} of tables/visits"
        )
        raise StudyError(
            study.root, problem, "remove what was copied there, or join studies with: originset study merge"
        )


def _groups(shards: Mapping[str, Mapping[str, Path]], batch_bytes: int) -> Iterator[list[str]]:
    """The names of the shards of each batch; there is at least one batch."""
    group: list[str] = []
    size = 0
    for name in sorted(shards["visits"]):
        group.append(name)
        size += shards["requests"][name].stat().st_size if name in shards["requests"] else 0
        if size >= batch_bytes:
            yield group
            group, size = [], 0
    if group or not shards["visits"]:
        yield group


def _batch_select(study: Study, table: str, names: list[str], shards: Mapping[str, Path]) -> Select:
    of_batch = _select(study, table, [shards[name] for name in names if name in shards])
    if LIVE not in shards or LIVE in names:
        return of_batch
    live = _select(study, table, [shards[LIVE]])
    visits = _select(study, "visits", [shard_path(study, "visits", name) for name in names])
    of_visits = f"SELECT * FROM ({live.sql}) WHERE visit_id IN (SELECT visit_id FROM ({visits.sql}))"  # noqa: S608
    return Select(f"({of_batch.sql}) UNION ALL {of_visits}", (*of_batch.files, *live.files, *visits.files))


def _select(study: Study, table: str, paths: Sequence[Path]) -> Select:
    sql = read_shards_sql(study, table, paths, FOLDER_SQL)
    return Select(sql, tuple(path.relative_to(study.root) for path in paths))
