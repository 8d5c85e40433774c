"""What a display of progress leaves in a log, and on a terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

from originset.cli.common import minute_progress
from originset.cli.common.output import progress

SHOWN = """
from originset.cli.common.output import progress
with progress() as display:
    task = display.add_task("merge", total=4)
    display.advance(task)
"""


def test_a_line_for_each_task_that_is_not_finished(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(minute_progress, "_INTERVAL_S", 0.01)
    with progress() as display:
        display.update(display.add_task("captures", total=3), completed=3)
        display.update(display.add_task("merge\x1b[2J", total=4000), completed=1000)
        display.add_task("names", total=None)
        said = ""
        while said.count("\n") < 2:
            said += capsys.readouterr().err
    assert said.splitlines()[:2] == ["merge\\x1b[2J: 1,000 of 4,000", "names: 0"]
    capsys.readouterr()
    with progress() as display:
        display.add_task("merge", total=4)
    assert capsys.readouterr().err == "", "what ends within a minute says nothing"


def test_items_are_counted_as_they_pass() -> None:
    with progress() as display:
        for number, _ in enumerate(display.track("abc", description="figures")):
            assert display.tasks[0].completed == number


def test_a_terminal_has_a_display_and_no_lines() -> None:
    ours, theirs = pty.openpty()
    try:
        subprocess.run([sys.executable, "-c", SHOWN], stderr=theirs, check=True)
        shown = os.read(ours, 1 << 16).decode()
    finally:
        os.close(ours)
        os.close(theirs)
    assert "merge" in shown
    assert "1/4" in shown
    assert "1 of 4" not in shown
