"""A study that lasts as long as one command: for commands that take HAR files instead of a study."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from originset.analysis.importing.import_run import import_hars
from originset.cli.common.output import byte_progress, note
from originset.cli.modelling.analysis import analyze
from originset.data.errors import UsageError
from originset.data.reference.snapshot import current_reference
from originset.data.studies.study import Study


@contextmanager
def study_of(files: Sequence[Path]) -> Iterator[Study]:
    """A temporary study of these HAR files, analysed and modelled with the defaults.

    Of a truncated file the whole entries are used, with a remark.

    Raises:
        InputError: a file cannot be used.
        UsageError: a path does not exist, or no file has a page.
    """
    with tempfile.TemporaryDirectory(prefix="originset-") as folder:
        study = Study(Path(folder) / "study")
        with study.changing("import", {}), byte_progress() as display:
            summary = import_hars(study, files, display)
        if summary.refused:
            raise summary.refused[0]
        for error in summary.cut_off:
            note(f"cut off: {error}")
        if not summary.visits:
            raise UsageError("there is no page in " + ", ".join(str(file) for file in files))
        analyze(study, current_reference())
        yield study
