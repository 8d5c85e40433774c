"""The same captures and HARs give the same tables, byte for byte: in one process or three, parts merged, any order."""

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest
from console_entry import originset
from generated_captures import public, write_captures
from generated_hars import generated_hars
from rich.progress import Progress
from whole_tables import digests, tables_of_database, tables_of_shards

from originset.analysis.captures import capture_import as reading
from originset.analysis.importing import import_run
from originset.data.captures.capture import capture_paths
from originset.data.studies.study import Study

_FULL = os.environ.get("ORIGINSET_SOAK") == "full"
_SITES = 200 if _FULL else 20
_HARS = 60 if _FULL else 6


def _originset(study: Path, *arguments: str) -> None:
    """Run a command in a process of its own, where texts have other hashes."""
    call = [sys.executable, "-P", "-m", "originset", "--study", str(study), *arguments]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Captures, and HARs of three folders."""
    folder = tmp_path_factory.mktemp("sources")
    write_captures(folder / "captures", range(_SITES), entries=10)
    for number, text in enumerate(generated_hars(_HARS)):
        har = orjson.loads(text)
        del har["log"]["entries"][30:]
        for entry in har["log"]["entries"]:
            entry["serverIPAddress"] = public(entry["serverIPAddress"])
            details = {"subjectName": f"n{number % 4}.example", "sanList": [f"s{number % 4}.example", "*.cdn1.example"]}
            entry["_securityDetails"] = details
        place = folder / "hars" / str(number % 3) / f"{number}.har"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(orjson.dumps(har))
    return folder


def one_process(sources: Path, study: Path) -> None:
    shutil.copytree(sources / "captures", study / "captures")
    _originset(study, "import", str(sources / "hars"), "--jobs", "1")
    _originset(study, "analyze", "--jobs", "1")


def three_processes(sources: Path, study: Path) -> None:
    shutil.copytree(sources / "captures", study / "captures")
    _originset(study, "import", str(sources / "hars"), "--jobs", "3")
    _originset(study, "analyze", "--jobs", "3")


def _in_process(study: Path, *arguments: str) -> None:
    """Run a command here, which takes a second less."""
    done = originset("--study", str(study), *arguments)
    assert done.returncode == 0, done.stderr


def three_machines(sources: Path, study: Path) -> None:
    """A third of the captures and a folder of HARs each, analysed apart, then merged."""
    parts = [Study(study.parent / f"part{number}") for number in range(3)]
    for number, part in enumerate(parts):
        part.create()
        for path in list(capture_paths(sources / "captures"))[number::3]:
            place = part.captures / path.parent.name / path.name
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, place)
        # Named so that each file is called as it is where all are imported at once.
        linked = study.parent / f"part{number}-hars" / "hars" / str(number)
        shutil.copytree(sources / "hars" / str(number), linked)
        _in_process(part.root, "import", str(linked.parent))
        _in_process(part.root, "analyze")
    _in_process(study, "study", "merge", *(str(part.root) for part in parts[::-1]))
    _in_process(study, "analyze")


def another_order(sources: Path, study: Path) -> None:
    """Captures that come in one by one, the last first, and are analysed meanwhile; HARs one at a time."""
    source = random.Random(1)  # noqa: S311 - an order
    paths = list(capture_paths(sources / "captures"))
    source.shuffle(paths)
    halves = paths[::2], paths[1::2]
    for half in halves:
        for path in half:
            place = study / "captures" / path.parent.name / path.name
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, place)
        if half is halves[0]:
            for number in (2, 0, 1):
                # A folder's name is the beginning of its files' names.
                alone = study.parent / f"alone{number}" / "hars"
                shutil.copytree(sources / "hars" / str(number), alone / str(number))
                _in_process(study, "import", str(alone), "--jobs", "1")
        _in_process(study, "analyze", "--jobs", "1")


@pytest.fixture(scope="module")
def expected(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return _made(one_process, sources, tmp_path_factory.mktemp("one"))


def _made(make: Callable[[Path, Path], None], sources: Path, folder: Path) -> dict[str, str]:
    study = Study(folder / "study")
    study.create()
    make(sources, study.root)
    found = {f"shards of {name}": content for name, content in tables_of_shards(study).items()}
    return digests(found | tables_of_database(study))


@pytest.mark.soak
@pytest.mark.parametrize("make", [three_processes, three_machines, another_order], ids=lambda make: make.__name__)
def test_the_same_tables(
    make: Callable[[Path, Path], None], sources: Path, expected: dict[str, str], tmp_path: Path
) -> None:
    assert _made(make, sources, tmp_path) == expected


def test_what_is_shared_out_is_the_same(sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However little there is: by several processes as by one."""
    monkeypatch.setattr(reading, "_WORTH_A_PROCESS", 0)
    monkeypatch.setattr(import_run, "_SHARE_FILES", 2)
    found = []
    for jobs in (1, 3):
        study = Study(tmp_path / str(jobs))
        study.create()
        shutil.copytree(sources / "captures", study.captures)
        with study.changing("analyze", {}), Progress(disable=True) as progress:
            assert import_run.import_hars(study, [sources / "hars"], progress, jobs=jobs).imported == _HARS
            assert reading.read_captures(study, progress, jobs=jobs)["captures_read"] == _SITES
        found.append(digests(tables_of_shards(study)))
    assert found[0] == found[1]
