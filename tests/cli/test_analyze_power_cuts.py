"""A power cut at any time of import, merge and analyze: the same command then makes the study whole.

tests/fixtures/crash_states.py enumerates what the disk may hold. All of it is tried with ``ORIGINSET_SOAK=full``, when
an import is one of 200 files.
"""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import orjson
import pytest
from crash_states import PROMISES, Operation, PowerCuts, files_below, power_cuts, run_traced, write_files
from generated_captures import write_captures
from generated_hars import generated_hars
from whole_tables import digests, tables_of_database, tables_of_shards

from originset.cli.main import main
from originset.data.errors import StudyError
from originset.data.studies.shards import scan
from originset.data.studies.study import Study

_FULL = os.environ.get("ORIGINSET_SOAK") == "full"
_HARS = 200 if _FULL else 20


def _run(world: Path, *arguments: str) -> None:
    assert main.main(["--study", str(world / "study"), *arguments], standalone_mode=False) in {0, None}


def _hars(world: Path) -> None:
    (world / "hars").mkdir()
    for number, text in enumerate(generated_hars(_HARS)):
        har = orjson.loads(text)
        har["log"]["entries"] = har["log"]["entries"][:8]
        (world / "hars" / f"{number}.har").write_bytes(orjson.dumps(har))


def _damaged_import(world: Path) -> None:
    """A shard is damaged and one file more is there: the others are read again, into another shard."""
    _hars(world)
    _run(world, "import", str(world / "hars"))
    (shard,) = (world / "study" / "tables" / "requests").glob("*.parquet")
    os.truncate(shard, 100)
    (world / "hars" / "more.har").write_bytes(next(generated_hars(1, seed=2)))


def _captures(world: Path) -> None:
    for name, sites in (("study", range(3)), ("other", range(2, 8))):
        study = Study(world / name)
        study.create()
        write_captures(study.captures, sites, folders=3, entries=4)


@dataclass
class Command:
    """``given``: the folder that it is given; ``every``: one of so many states is taken in a short run."""

    arguments: tuple[str, ...]
    given: str | None
    prepare: Callable[[Path], None]
    every: int
    database: bool = False

    def words(self, world: Path) -> list[str]:
        return [*self.arguments, *([] if self.given is None else [str(world / self.given)])]


COMMANDS = {
    "import": Command(("import",), "hars", _hars, 12),
    "import-again": Command(("import",), "hars", _damaged_import, 20),
    "merge": Command(("study", "merge"), "other", _captures, 6),
    "analyze": Command(("analyze",), None, _captures, 1000, database=True),
}


def _cuts(command: Command, world: Path, tmp_path: Path) -> PowerCuts:
    """The states that the command leaves, run in a process of its own."""
    initial = files_below(world)
    program = [sys.executable, "-P", "-m", "originset", "--study", str(world / "study"), *command.words(world)]
    operations = run_traced(program, world, tmp_path)
    ended = Operation("write", 0, PROMISES, "", b"ended")
    cuts = power_cuts(initial, [*operations, Operation("open", 0, PROMISES, "", b""), ended])
    assert {path: it for path, it in cuts.end.items() if path != PROMISES} == files_below(world)
    return cuts


def _content(study: Study, *, database: bool) -> dict[str, str]:
    tables = tables_of_shards(study)
    if database:
        tables |= {f"study.duckdb: {name}": rows for name, rows in tables_of_database(study).items()}
    captures = {path: content or b"" for path, content in files_below(study.root).items() if "captures/" in path}
    return digests(tables | captures)


def _require_whole_visits(study: Study, expected: dict[str, int]) -> None:
    """A visit that is read has all of its requests, or an error says that a shard is damaged."""
    with suppress(StudyError):
        requests = scan(study, "requests").group_by("visit_id").len()
        visits = scan(study, "visits").select("visit_id").join(requests, on="visit_id", how="left").collect()
        assert set(visits.iter_rows()) <= set(expected.items())


@pytest.mark.soak
@pytest.mark.promise("faults-lose-nothing")
@pytest.mark.parametrize("name", COMMANDS)
def test_the_same_command_makes_the_study_whole(
    name: str, memory_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command, world = COMMANDS[name], memory_folder / "world"
    world.mkdir()
    command.prepare(world)
    cuts = _cuts(command, world, tmp_path)
    study = Study(world / "study")
    whole = _content(study, database=command.database)
    requests = dict(scan(study, "requests").group_by("visit_id").len().collect().iter_rows())
    tried = 0
    for files, promises in cuts.every(1 if _FULL else command.every):
        write_files(files, world)
        if name.startswith("import"):
            _require_whole_visits(study, requests)
        if promises:
            assert _content(study, database=command.database) == whole
        _run(world, *command.words(world))
        assert _content(study, database=command.database) == whole
        tried += 1
    with capsys.disabled():
        print(f"\n{name}: {cuts}, {tried} of them gone on from, all recovered")  # noqa: T201
