"""A power cut at any time of a crawl: the next crawl goes on, and makes no visit again that was told as made.

tests/fixtures/crash_states.py enumerates what the disk may hold. A crawl of 20 visits with ``ORIGINSET_SOAK=full``.
"""

import os
import sys
from pathlib import Path

import crashed_crawl
import pytest
from crash_states import Files, PowerCuts, files_below, power_cuts, run_traced, write_files
from crashed_crawl import crawl

from originset.data.errors import StudyError
from originset.data.ledger.crawl_ledger import Ledger
from originset.data.studies.study import Study

_FULL = os.environ.get("ORIGINSET_SOAK") == "full"
_SITES = 15 if _FULL else 2


def _outcome(world: Path) -> tuple[Files, set[object]]:
    """The captures, and what the ledger says of each visit."""
    with Ledger(Study(world / "study").ledger_path) as ledger:
        rows = {(row, state) for row, state, _ in ledger.all_rows()}
    captures = {path: it for path, it in files_below(world).items() if it is not None and "captures/" in path}
    return captures, rows


def _cuts(world: Path, tmp_path: Path, *arguments: str) -> PowerCuts:
    """A traced crawl in a process of its own, and the states that it may leave."""
    world.mkdir()
    command = [sys.executable, crashed_crawl.__file__, str(world), str(_SITES), *arguments]
    operations = run_traced(command, world, tmp_path)
    cuts = power_cuts({}, operations, exhaustive=6 if _FULL else 0, drawn=8 if _FULL else 0)
    assert cuts.end == files_below(world)
    return cuts


def _is_recovered(files: Files, promises: tuple[str, ...], world: Path, place: Path | None, whole: object) -> bool:
    write_files(files, world)
    try:
        made = crawl(world, _SITES, place)
    except StudyError:
        return False
    return _outcome(world) == whole and set(made).isdisjoint(promises)


@pytest.mark.soak
@pytest.mark.slow
@pytest.mark.promise("faults-lose-nothing")
@pytest.mark.parametrize("shared", [False, True], ids=["own-folder", "shared-folder"])
def test_what_is_left_of_a_crawl_is_gone_on_with(
    shared: bool, tmp_path: Path, memory_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world = memory_folder / "world"
    place = world / "captures" if shared else None
    cuts = _cuts(world, tmp_path, *([str(place)] if place else []))
    whole = _outcome(world)
    assert len(whole[0]) == len(whole[1]) == (20 if _FULL else 3)
    tried = 0
    for files, promises in cuts.every(1 if _FULL else 12):
        assert _is_recovered(files, promises, world, place, whole), (sorted(files), promises)
        tried += 1
    with capsys.disabled():
        print(f"\na crawl of {len(whole[0])} visits: {cuts}, {tried} of them gone on from, all recovered")  # noqa: T201


@pytest.mark.slow
@pytest.mark.parametrize("plant", crashed_crawl.PLANTS)
def test_a_planted_bug_is_found(plant: str, tmp_path: Path, memory_folder: Path) -> None:
    world = memory_folder / "world"
    cuts = _cuts(world, tmp_path, "-", plant)
    whole = _outcome(world)
    assert not all(_is_recovered(files, promises, world, None, whole) for files, promises in cuts.every(5))
