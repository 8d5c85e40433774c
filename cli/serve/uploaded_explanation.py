"""The page of ``explain`` for files that were uploaded, made in a process of its own."""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from originset.analysis.processes import ProcessEnded, run_in_own_process
from originset.cli.common.study_report import report_contents
from originset.cli.modelling.scratch_study import study_of
from originset.data.errors import OriginsetError, UsageError
from originset.queries.report.report_page import render

Explain: TypeAlias = Callable[[list[Path], Path], tuple[str | None, str]]

_MOST_PAGES = 100
# What is within the bounds of an upload takes less, but what is made to take long.
_MOST_SECONDS = 600.0


def explain_files(files: Sequence[Path], folder: Path) -> str:
    """The HTML of the page that ``explain --out`` writes; ``folder``: for temporary files, removed with them.

    What a hostile file does to the process that reads it, it does not do to this one. It ends at a deadline.

    Raises:
        UsageError: no file can be used, or the process ended.
    """
    begun = time.monotonic()
    result = run_in_own_process(_explain_in_time, (_MOST_SECONDS, _explain, list(files), folder))
    if isinstance(result, ProcessEnded):
        if time.monotonic() - begun >= _MOST_SECONDS:
            advice = "choose fewer, or use explain, which has no deadline"
            raise UsageError(f"reading the files took more than {_MOST_SECONDS:.0f} s", advice)
        raise UsageError("the process that read the files ended, perhaps as memory ran out")
    page, problem = result
    if page is None:
        raise UsageError(problem)
    return page


def _explain_in_time(seconds: float, explain: Explain, files: list[Path], folder: Path) -> tuple[str | None, str]:
    """As ``explain``; the kernel ends this process after so many seconds, whatever holds the interpreter."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    return explain(files, folder)


def _explain(files: list[Path], folder: Path) -> tuple[str | None, str]:
    """The page, or None and why there is none."""
    tempfile.tempdir = os.fspath(folder)
    title = files[0].name if len(files) == 1 else f"{len(files)} recordings"
    try:
        with study_of(files, refused=[]) as study:
            return render(report_contents(study, title, pages=_MOST_PAGES)), ""
    except OriginsetError as error:
        return None, str(error).replace(f"{folder}/", "")
