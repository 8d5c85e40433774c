"""Every input that is kept is read or refused, within its door's bounds; so is what would take all memory or time."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from corpora import CORPORA, corpus, counts_text
from doors import NAMES, Bound, Door, door
from measured import BoundExceeded, branches_by_input, lines_taken, read_or_refuse, require_bounds

from originset.data.errors import InputError

FULL = os.environ.get("ORIGINSET_SOAK") == "full"
SIZES = (2_000, 32_000) if FULL else (1_000,)
LARGE = 500_000


@pytest.fixture(params=NAMES)
def at(request: pytest.FixtureRequest) -> Door:
    return door(request.param)


@pytest.mark.slow
@pytest.mark.promise("inputs-are-bounded")
def test_what_is_kept_is_read_or_refused(at: Door) -> None:
    inputs = corpus(at.name)
    assert inputs
    for data in inputs.values():
        read_or_refuse(at, data)
        require_bounds(at, data)


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.promise("inputs-are-bounded")
def test_bombs_stay_within_bounds(at: Door, size: int) -> None:
    for name, data in at.bombs(size).items():
        try:
            require_bounds(at, data)
        except BoundExceeded as error:
            pytest.fail(f"{name}: {error}")


@pytest.mark.skipif(not FULL, reason="takes a minute: make soak")
@pytest.mark.soak
def test_large_bombs_are_read_within_the_systems_limits(at: Door) -> None:
    """For what libraries take, whose lines and memory Python does not see."""
    script = Path(__file__).with_name("read_bombs.py")
    path = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, script, at.name, str(LARGE)],
        env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"ended in {done.stdout.splitlines()[-1:]}: {done.stderr[-2000:]}"


@pytest.mark.skipif(not FULL, reason="takes a minute: make soak")
@pytest.mark.soak
@pytest.mark.parametrize("names", [("har_text", "truncated_har", "archive_rows"), ("netlog",)])
def test_what_is_kept_takes_nine_of_ten_branches_of_each_folder(names: tuple[str, ...]) -> None:
    """``pytest -s`` prints the shares, too."""
    inputs = {f"{name}/{one}": (door(name), data) for name in names for one, data in corpus(name).items()}
    _, counts = branches_by_input(inputs)
    sys.stdout.write(f"by the corpora alone: {counts_text(counts)}\n")
    assert all(covered >= 0.9 * every for covered, every in counts.values()), counts_text(counts)


def test_corpora_are_small() -> None:
    assert sum(path.stat().st_size for path in CORPORA.rglob("*")) < 2_000_000


def test_a_door_that_takes_too_much_is_found() -> None:
    def quadratic(data: bytes, *, whole: bool) -> None:
        for place in range(len(data)):
            data[place:].count(b"a")
            for _ in data:
                pass
        raise InputError("a", "not-a", "whole or not")

    bad = Door("bad", quadratic, lambda: iter(()), lambda _: {}, (), 1, Bound(0, 0), Bound(0, 1), None)
    with pytest.raises(BoundExceeded, match="bytes of memory"):
        require_bounds(bad, b"a" * 100)


def test_a_door_that_runs_too_many_lines_is_found() -> None:
    at = door("dns_answers")
    data = next(iter(at.seeds()))
    require_bounds(at, data)
    with pytest.raises(BoundExceeded, match="lines of Python"):
        require_bounds(replace(at, lines=Bound(0, 0)), data)
    assert lines_taken(lambda: None) == 0
