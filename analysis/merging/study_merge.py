"""Studies into one, by visit: captures and imported rows that are new, and what each crawl's ledger says."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import polars as pl
from rich.progress import Progress

from originset.analysis.importing.import_batch import TABLES_WRITTEN
from originset.analysis.merging.study_merge_captures import merge_captures, target_of
from originset.analysis.resolution import live_answers
from originset.data.errors import UsageError
from originset.data.files.nofollow import open_regular
from originset.data.ledger.crawl_ledger import Ledger
from originset.data.studies.rounds import round_entries
from originset.data.studies.shards import IMPORT, read_shard, scan, shard_path, shard_paths, write_shard
from originset.data.studies.study import Study

# Tables with one row for each certificate: these rows belong to no visit.
_OF_NO_VISIT = ("certificates", "certificate_names")


@dataclass
class MergeSummary:
    """What a merge did. ``visits_in_both`` keep the rows of the target, or of the first source that has them."""

    captures: int = 0
    imported_visits: int = 0
    visits_in_both: int = 0
    links_left_out: int = 0


def merge_studies(study: Study, sources: Sequence[Study], progress: Progress) -> MergeSummary:
    """Merge other studies into one that the caller has locked (:meth:`Study.changing`).

    The sources are read only. Captures are linked where the file system can, else copied, or put into the S3 storage
    where the study keeps its own; a symbolic link among them is left out, since it may lead anywhere. Tables and models
    follow from ``analyze``. What was merged before an error is not merged again by the same call.

    Raises:
        UsageError: a study is merged into itself.
        StudyError: a source is no study, or has a file that is larger than any capture.
        ClusterError: S3 storage is not reached or refuses.
    """
    for source in sources:
        if source.root.resolve() == study.root.resolve():
            raise UsageError(f"{source.root} would be merged into itself")
        source.manifest()
    if study.ledger_path.exists():
        with Ledger(study.ledger_path) as ledger:
            ledger.clear_complete()
    target = target_of(study)
    summary = MergeSummary()
    task = progress.add_task("studies", total=len(sources))
    merged = progress.add_task("new captures", total=None)
    for source in sources:
        new, already_there, links = merge_captures(target, source, partial(progress.advance, merged))
        summary.captures += new
        summary.visits_in_both += already_there
        summary.links_left_out += links
        _imports(study, source, summary)
        live_answers.merge_answers(study, source)
        _ledger(study, source)
        progress.advance(task)
    _manifest(study, sources)
    return summary


def _imports(study: Study, source: Study, summary: MergeSummary) -> None:
    imports = [path for path in shard_paths(source, "visits") if path.stem.startswith(IMPORT)]
    if not imports:
        return
    known_visits = scan(study, "visits").select("visit_id").collect()
    for path in imports:
        visits = read_shard(source, "visits", path)
        new = visits.join(known_visits, on="visit_id", how="anti")
        summary.visits_in_both += visits.height - new.height
        if new.is_empty():
            continue
        shard = _new_name(study, path)
        # The shard of visits is written last: it says that the others are whole.
        for table in TABLES_WRITTEN:
            rows = new if table == "visits" else _rows(source, table, path.stem, new)
            if rows is not None:
                write_shard(study, table, shard, rows)
        known_visits = pl.concat([known_visits, new.select("visit_id")])
        summary.imported_visits += new.height


def _rows(source: Study, table: str, shard: str, visits: pl.DataFrame) -> pl.DataFrame | None:
    path = shard_path(source, table, shard)
    if not path.is_file():
        return None
    rows = read_shard(source, table, path)
    return rows if table in _OF_NO_VISIT else rows.join(visits.select("visit_id"), on="visit_id", how="semi")


def _new_name(study: Study, path: Path) -> str:
    """The shard's own name, or another one if the target has a shard of this name."""
    if not shard_path(study, "visits", path.stem).exists():
        return path.stem
    with open(open_regular(path.parent, path.name), "rb") as file:  # noqa: PTH123 - it is open already
        return f"{path.stem}-{hashlib.file_digest(file, 'sha256').hexdigest()[:8]}"


def _ledger(study: Study, source: Study) -> None:
    if source.ledger_path.exists():
        with Ledger(study.ledger_path) as ledger:
            ledger.absorb(source.ledger_path)


def _manifest(study: Study, sources: Sequence[Study]) -> None:
    """The facts of each source's manifest, unchanged: how and where it was crawled, and from which list."""
    manifest = study.manifest()
    merged = list(manifest.get("merged", []))
    rounds = round_entries(manifest)
    vantages = set(manifest.get("vantages", []))
    for source in sources:
        facts = source.manifest()
        merged.append({"study": source.root.resolve().name, **facts})
        rounds += [entry for entry in round_entries(facts) if entry not in rounds]
        vantages.update(facts.get("vantages", []))
    study.update_manifest(merged=merged, rounds=rounds, vantages=sorted(vantages))
