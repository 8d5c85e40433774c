"""``originset study status``: what a study holds, how old it is, and which command comes next."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import polars as pl

from originset.cli.common.command_tree import Command, study_option
from originset.cli.common.output import format_option, note, write_rows
from originset.data.captures.capture import capture_paths
from originset.data.captures.capture_place import captures_folder
from originset.data.errors import StudyError
from originset.data.ledger.visit_counts import VisitCount, visit_counts
from originset.data.schema.described_study import STATUS
from originset.data.studies.rounds import round_entries, settings_by_round
from originset.data.studies.shards import shard_paths
from originset.data.studies.study import Study

# Commands after which the tables, or the models, are behind.
_FILLING = frozenset({"crawl", "import", "merge", "enrich"})
_TO_VISIT = frozenset({"queued", "leased"})


@click.command(cls=Command)
@format_option
@study_option
@click.pass_obj
def command(study: Study, output_format: str) -> None:
    """Say what a study holds and what comes next.

    One row per vantage, round, state and reason of the crawl's visits: queued, leased (being made now), done, partial,
    failed, skipped. Then one for the captures, the tables' shards and the database. latest is the time of the newest.
    The next command is named on stderr. A crawl may run meanwhile; nothing is changed.

    Example: originset --study S study status
    """
    manifest = study.manifest()
    counts = visit_counts(study.ledger_path)
    rows = [*_visits(manifest, counts), *_files(study)]
    write_rows(pl.DataFrame(rows, schema=STATUS), output_format)
    note(f"next: {_next(study, manifest, counts)}")


def _visits(manifest: Mapping[str, Any], counts: Iterable[VisitCount]) -> Iterator[dict[str, Any]]:
    entries = round_entries(manifest)
    for found in counts:
        rounds = settings_by_round(entries, found.vantage).get(found.round, [])
        browsers = sorted({str(settings["browser"]) for settings in rounds if settings.get("browser")})
        yield {
            "what": "visits",
            "vantage": found.vantage,
            "round": found.round,
            "browser": ", ".join(browsers) or None,
            "state": found.state,
            "reason": found.reason,
            "count": found.visits,
            "latest": datetime.fromisoformat(found.latest),
        }


def _files(study: Study) -> Iterator[dict[str, Any]]:
    try:
        captures: Iterable[Path] | None = capture_paths(captures_folder(study))
    except StudyError:  # in a place that the user has not named for this study
        captures = None
    tables = (path for name in _tables(study) for path in shard_paths(study, name))
    for what, paths in (("captures", captures), ("shards", tables), ("database", [study.database_path])):
        yield {"what": what, **_count_and_latest(paths)}


def _tables(study: Study) -> list[str]:
    return sorted(path.name for path in study.tables.iterdir()) if study.tables.is_dir() else []


def _count_and_latest(paths: Iterable[Path] | None) -> dict[str, Any]:
    """How many files there are and when the newest was written; NULL for what is not known."""
    if paths is None:
        return {"count": None, "latest": None}
    times = [found.st_mtime for path in paths if (found := _status(path)) is not None]
    return {"count": len(times), "latest": datetime.fromtimestamp(max(times), UTC) if times else None}


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except FileNotFoundError:  # a crawl or analyze replaces files meanwhile
        return None


def _next(study: Study, manifest: Mapping[str, Any], counts: Iterable[VisitCount]) -> str:
    runs = manifest["runs"]
    if study.is_held():
        return f"wait; {runs[-1]['command'] if runs else 'a command'} is changing the study"
    if left := sum(found.visits for found in counts if found.state in _TO_VISIT):
        return f"run the crawl's command again, {left} visits are left over"
    whole = f"originset --study {shlex.quote(str(study.root))}"
    filled = _maximum(
        number for number, run in enumerate(runs) if run["command"] in _FILLING and _may_have_added_visits(run)
    )
    analysed = _maximum(number for number, run in enumerate(runs) if run["command"] == "analyze" and run["ended_at"])
    if filled is None:
        return f"{whole} crawl SITES, or {whole} import FILES"
    if analysed is None or analysed < filled or not study.database_path.exists():
        return f"{whole} analyze"
    return f"{whole} query, or {whole} study report"


def _maximum(numbers: Iterable[int]) -> int | None:
    return max(numbers, default=None)


def _may_have_added_visits(run: Mapping[str, Any]) -> bool:
    """Whether a run may have brought something: a crawl that ended says how many visits it made."""
    return run["command"] != "crawl" or run["ended_at"] is None or bool(run["counts"].get("made"))
