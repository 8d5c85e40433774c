"""A study's tables, database and models brought up to date."""

from __future__ import annotations

from originset.analysis.captures.capture_import import read_captures
from originset.analysis.resolution.name_resolution import resolve_names
from originset.cli.common.output import progress
from originset.cli.modelling.model_batches import side_by_side
from originset.cli.modelling.model_progress import CountedBatches
from originset.cli.modelling.rebuild import rebuild
from originset.data.captures.capture_place import fetch_captures
from originset.data.reference.snapshot import Reference
from originset.data.studies.study import Study
from originset.models.parameters import Parameters


def analyze(
    study: Study,
    reference: Reference,
    run_batches: CountedBatches | None = None,
    *,
    views: bool | None = None,
    jobs: int = 1,
) -> dict[str, int]:
    """Bring tables, database and models up to date with captures and imports; prints counts.

    ``views``: whether the database reads the largest tables from their shards; None for as it was. ``jobs``: processes
    that read captures, and run batches of the models unless ``run_batches`` does.
    """
    with study.changing("analyze", {}) as counts:
        if views is not None:
            study.update_manifest(views=views)
        counts.update(fetch_captures(study))
        with progress() as display:
            counts.update(read_captures(study, display, reference.suffix_list, jobs))
            counts.update(resolve_names(study, reference))
            counts.update(rebuild(study, Parameters(), run_batches or side_by_side(jobs), display=display))
    return dict(counts)
