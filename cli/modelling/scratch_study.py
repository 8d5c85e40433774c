"""A study that lasts as long as one command: for commands that take recordings instead of a study."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from originset.analysis.importing.import_batch import ImportSettings
from originset.analysis.importing.import_run import import_hars
from originset.cli.common.output import byte_progress, note
from originset.cli.modelling.analysis import analyze
from originset.data.errors import InputError, UsageError
from originset.data.reference.snapshot import current_reference
from originset.data.studies.study import Study


@contextmanager
def study_of(files: Sequence[Path], refused: list[InputError] | None = None) -> Iterator[Study]:
    """A temporary study of these recordings, analysed and modelled with the defaults.

    Of a truncated file what is whole is used, with a remark. ``refused``: files that cannot be used are added to it,
    with a remark, as long as another can.

    Raises:
        InputError: a file cannot be used, and ``refused`` is not given; or none can.
        UsageError: a path does not exist, or no file has a page.
    """
    with tempfile.TemporaryDirectory(prefix="originset-") as folder:
        study = Study(Path(folder) / "study")
        with study.changing("import", {}), byte_progress() as display:
            summary = import_hars(study, files, display, ImportSettings(name_by_folder=True))
        if summary.refused and (refused is None or not summary.visits):
            raise summary.refused[0]
        for error in summary.refused:
            note(f"refused: {error}")
        if refused is not None:
            refused += summary.refused
        for error in summary.cut_off:
            note(f"cut off: {error}")
        if not summary.visits:
            raise UsageError("there is no page in " + ", ".join(str(file) for file in files))
        analyze(study, current_reference())
        yield study
