"""Disks that fail, processes that are killed, files that are damaged: said in one line, and whole after one command.

Every fault is real: a file system that is full, read-only or of a limited size of files, calls of the C library that
fail or end the process (tests/fixtures/faults), bytes that are gone. All 50 with ``ORIGINSET_SOAK=full``, else every
tenth.
"""

import fcntl
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from faulted_study import (
    World,
    carry_out,
    due,
    make_world,
    recovered,
    run,
    said,
    shim,
    state,
    still_readable,
    told,
    undisturbed,
)
from whole_tables import digests, tables_of_database, tables_of_shards

from originset.data.ledger.crawl_ledger import Ledger, LedgerRow
from originset.data.studies.study import Study

_FULL = os.environ.get("ORIGINSET_SOAK") == "full"

_HOLD = """
import sys, time
from pathlib import Path
from originset.data.studies.study import Study
with Study(Path(sys.argv[1])).changing("crawl", {}):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory.mktemp("faults"))


@dataclass
class Fault:
    """``share``: how far into the command's changes, from 0 to 1."""

    name: str
    command: str
    happen: Callable[[World, Path, str, float, Path], None]
    share: float = 0.0


def refused(world: World, study: Path, command: str, done: subprocess.CompletedProcess[str], *words: str) -> None:
    """One line with these words said so, and which command makes it whole; what was there can still be read."""
    assert done.returncode == 2, done.stderr
    line = said(done)
    assert [one for one in words if one not in line] == []
    assert told(line, study) == command
    still_readable(world, study, command)


def killed(world: World, study: Path, command: str, share: float, tmp_path: Path) -> None:
    due(world, study, command)
    at = 1 + int(share * (world.calls[command] - 1))
    done = run(study, *world.arguments(command), **shim(world, study, FAULT_DO="kill", FAULT_AT=str(at)))
    assert done.returncode == -signal.SIGKILL
    still_readable(world, study, command)
    recovered(world, study, command)


def broken(world: World, study: Path, command: str, share: float, tmp_path: Path) -> None:
    """From some call on the disk fails whatever is written to it."""
    due(world, study, command)
    at = 1 + int(share * (world.calls[command] - 1))
    # Names come from the directory, which is still there: only what is written fails.
    env = shim(world, study, "write,sync", FAULT_DO="5", FAULT_AT=str(max(1, at * 2 // 3)))
    done = run(study, *world.arguments(command), **env)
    refused(world, study, command, done, "Input/output error")
    recovered(world, study, command)


@contextmanager
def _mounted(place: Path, *options: str) -> Iterator[None]:
    place.mkdir(exist_ok=True)
    subprocess.run(["mount", *options, place], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", place], check=True)


def full(world: World, study: Path, command: str, share: float, tmp_path: Path) -> None:
    """A file system with room for a part of what the command writes."""
    with _mounted(study, "-t", "tmpfs", "-o", "size=64m", "none"):
        due(world, study, command)
        filler = study / "captures" / "filler"
        filler.write_bytes(b"")
        free = os.statvfs(study)
        room = int(share * _grows(world, command, tmp_path)) // 4096 * 4096
        with filler.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, free.f_bavail * free.f_bsize - room)
        done = run(study, *world.arguments(command))
        refused(world, study, command, done, "No space left on device", "make room")
        filler.unlink()
        recovered(world, study, command)


def _grows(world: World, command: str, tmp_path: Path) -> int:
    """How much a command writes that is there at once: at least the new database."""
    return (world.folder / "study" / "study.duckdb").stat().st_size if command != "import" else 16_000


def too_large(world: World, study: Path, command: str, share: float, tmp_path: Path) -> None:
    """A limit on the size of files, as shells and schedulers set it."""
    due(world, study, command)
    done = run(study, *world.arguments(command), limit=int(share * 200_000))
    refused(world, study, command, done, "File too large")
    recovered(world, study, command)


def read_only(world: World, study: Path, command: str, share: float, tmp_path: Path) -> None:
    due(world, study, command)
    with _mounted(study, "-o", "bind", study):
        subprocess.run(["mount", "-o", "remount,ro,bind", study], check=True)
        done = run(study, *world.arguments(command))
        refused(world, study, command, done, "Read-only file system")
        assert run(study, "query", "visits_status_summary").returncode == 0
    recovered(world, study, command)


def set_back(world: World, study: Path, command: str, share: float, tmp_path: Path) -> None:
    """The clock goes back a year while the command runs: nobody needs to be told, and no run ends before it began."""
    due(world, study, command)
    at = 1 + int(share * (world.calls[command] - 1))
    env = shim(world, study, FAULT_AT=str(at), FAULT_BACK=str(365 * 86_400))
    done = run(study, *world.arguments(command), **env)
    assert done.returncode == 0, done.stderr
    assert digests(state(study)) == digests(world.after[command])
    last = Study(study).manifest()["runs"][-1]
    assert last["started_at"] < last["ended_at"] < f"{int(last['started_at'][:4]) + 1}"


def held(world: World, study: Path, command: str, share: float, tmp_path: Path) -> None:
    """Another process holds the study, and is killed: its lock ends with it."""
    due(world, study, command)
    holder = subprocess.Popen(
        [
            *(sys.executable, "-P", "-c", _HOLD),
            str(study),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    done = run(study, *world.arguments(command))
    assert done.returncode == 2
    assert "another originset is changing it; wait until it ends" in said(done)
    holder.kill()
    holder.wait()
    holder.stdout.close()
    with (study / ".lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    recovered(world, study, command)


def _shard(study: Path, table: str, kind: str) -> Path:
    return next(
        path for path in sorted((study / "tables" / table).glob(f"{kind}*.parquet")) if path.stat().st_size > 99
    )


def _cut(path: Path, share: float) -> None:
    os.truncate(path, int(share * path.stat().st_size))


def _flip(path: Path, share: float) -> None:
    content = bytearray(path.read_bytes())
    content[int(share * len(content))] ^= 1
    path.write_bytes(content)


def harmed_shard(
    table: str, kind: str, harm: Callable[[Path, float], None]
) -> Callable[[World, Path, str, float, Path], None]:
    """A shard that lost its end or a bit: ``model`` says so, and the command that it names makes it again."""

    def happen(world: World, study: Path, command: str, share: float, tmp_path: Path) -> None:
        shutil.copytree(world.folder / "study", study)
        shard = _shard(study, table, kind)
        harm(shard, share)
        done = run(study, "study", "model")
        assert done.returncode == 2, done.stderr
        line = said(done)
        assert f"{shard.relative_to(study)} is damaged" in line
        assert told(line, study) == command
        found = tables_of_database(Study(study))
        assert found == {k[3:]: v for k, v in world.before.items() if k.startswith("db.")}
        carry_out(study, *(["import", str(world.folder / "first")] if command == "import" else [command]))
        carry_out(study, "analyze")
        assert digests(state(study)) == digests(world.before)

    return happen


def cut_capture(world: World, study: Path, command: str, share: float, tmp_path: Path) -> None:
    """A capture that is no longer whole is refused by name, and what came of the others stays."""
    shutil.copytree(world.folder / "study", study)
    capture = sorted((study / "captures").glob("*/*.zst"))[1]
    whole = capture.read_bytes()
    changed = bytearray(whole)
    changed[len(whole) // 2] ^= 0x55
    capture.write_bytes(bytes(changed) if share == 1 else whole[: int(share * len(whole))])
    done = run(study, "analyze")
    assert done.returncode == 1, done.stderr
    line = said(done)
    assert str(capture.relative_to(study)) in line
    assert f"rm {shlex.quote(str(capture))}, and the same crawl again" in line
    assert tables_of_shards(Study(study))["visits"] != world.before["visits"]
    capture.write_bytes(whole)  # as the crawl would
    carry_out(study, "analyze")
    assert digests(state(study)) == digests(world.before)


def cut_database(world: World, study: Path, command: str, share: float, tmp_path: Path) -> None:
    shutil.copytree(world.folder / "study", study)
    _cut(study / "study.duckdb", share)
    done = run(study, "query", "visits_status_summary")
    assert done.returncode == 2, done.stderr
    line = said(done)
    assert "study.duckdb" in line
    carry_out(study, told(line, study))
    assert digests(state(study)) == digests(world.before)


def cut_manifest(world: World, study: Path, command: str, share: float, tmp_path: Path) -> None:
    shutil.copytree(world.folder / "study", study)
    _cut(study / "study.json", share)
    done = run(study, "analyze")
    assert done.returncode == 2, done.stderr
    line = said(done)
    assert "study.json is damaged" in line
    subprocess.run(["sh", "-c", re.search(r"run: (.+); captures", line)[1]], check=True)
    carry_out(study, "analyze")
    assert digests(state(study)) == digests(world.before)


def cut_ledger(world: World, study: Path, command: str, share: float, tmp_path: Path) -> None:
    """A study whose ledger lost its end cannot be merged as it is; the command that is named lets it."""
    other = tmp_path / "other"
    shutil.copytree(world.folder / "other", other)
    shutil.copytree(world.folder / "study", study)
    with Ledger(other / "ledger.sqlite") as ledger:
        ledger.add(LedgerRow(f"site{number}.example", "default", 1, 1) for number in range(2000))
    _cut(other / "ledger.sqlite", share)
    done = run(study, "study", "merge", str(other))
    assert done.returncode == 2, done.stderr
    line = said(done)
    assert "ledger.sqlite is damaged" in line
    assert str(other) in line
    subprocess.run(["sh", "-c", re.search(r"run: (rm .+?);", line)[1]], check=True)
    carry_out(study, "study", "merge", str(other))
    assert tables_of_shards(Study(study)) == {k: v for k, v in world.before.items() if not k.startswith("db.")}


FAULTS = [
    *(Fault(f"analyze-killed-{share}", "analyze", killed, share) for share in (0, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1)),
    Fault("analyze-full-0.3", "analyze", full, 0.3),
    *(Fault(f"import-killed-{share}", "import", killed, share) for share in (0, 0.3, 0.6, 0.8, 1)),
    *(Fault(f"model-killed-{share}", "model", killed, share) for share in (0.1, 0.5, 0.9, 1)),
    Fault("import-shard-cut", "import", harmed_shard("requests", "import-", _cut), 0.5),
    *(Fault(f"merge-killed-{share}", "merge", killed, share) for share in (0, 0.5, 1)),
    *(Fault(f"analyze-broken-{share}", "analyze", broken, share) for share in (0, 0.2, 0.5, 0.8, 0.9)),
    Fault("import-broken", "import", broken, 0.5),
    Fault("captures-shard-cut", "analyze", harmed_shard("requests", "captures-", _cut), 0.5),
    Fault("model-broken", "model", broken, 0.5),
    *(Fault(f"analyze-full-{share}", "analyze", full, share) for share in (0, 0.05, 0.9)),
    *(Fault(f"{command}-full", command, full, share) for command, share in (("import", 0.5), ("model", 0.5))),
    *(Fault(f"{command}-too-large", command, too_large, 0.1) for command in ("analyze", "model")),
    *(Fault(f"{command}-read-only", command, read_only) for command in ("import", "model", "analyze")),
    Fault("capture-cut", "analyze", cut_capture, 0.5),
    Fault("capture-changed", "analyze", cut_capture, 1),
    Fault("capture-empty", "analyze", cut_capture, 0),
    Fault("clock-set-back", "analyze", set_back, 0.3),
    Fault("held", "analyze", held),
    Fault("visits-shard-cut", "import", harmed_shard("visits", "import-", _cut), 0.9),
    Fault("addresses-shard-empty", "analyze", harmed_shard("addresses", "all", _cut), 0),
    Fault("database-cut", "analyze", cut_database, 0.5),
    Fault("manifest-cut", "analyze", cut_manifest, 0.5),
    Fault("ledger-cut", "merge", cut_ledger, 0.5),
    Fault("import-shard-changed", "import", harmed_shard("requests", "import-", _flip), 0.5),
    Fault("visits-shard-changed", "import", harmed_shard("visits", "import-", _flip), 0.2),
    Fault("captures-shard-changed", "analyze", harmed_shard("connections", "captures-", _flip), 0.3),
    Fault("addresses-shard-changed", "analyze", harmed_shard("addresses", "all", _flip), 0.1),
]


def test_there_are_fifty() -> None:
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= 50


@pytest.mark.promise("faults-lose-nothing")
@pytest.mark.soak
@pytest.mark.testbed
@pytest.mark.parametrize("fault", FAULTS if _FULL else FAULTS[9::10], ids=lambda fault: fault.name)
def test_a_fault(fault: Fault, world: World, tmp_path: Path) -> None:
    undisturbed(world, fault.command, tmp_path)
    fault.happen(world, tmp_path / "study", fault.command, fault.share, tmp_path)
