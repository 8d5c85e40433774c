"""Disks that fail, processes that are killed, files that are damaged: said in one line, and whole after one command.

Every fault is real: a file system that is full, read-only or of a limited size of files, calls of the C library that
fail or end the process (tests/fixtures/faults), bytes that are gone. All 50 with ``ORIGINSET_SOAK=full``, else every
tenth.
"""

import fcntl
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import orjson
import pytest
from generated_captures import write_captures
from generated_hars import generated_hars
from whole_tables import digests, tables_of_database, tables_of_shards

from originset.data.ledger import Ledger, Row
from originset.data.study import Study

_FAULTS_C = Path(__file__).parents[1] / "fixtures" / "faults" / "faults.c"
_FULL = os.environ.get("ORIGINSET_SOAK") == "full"
_CHANGES = "open,write,sync,rename,unlink"

_HOLD = """
import sys, time
from pathlib import Path
from originset.data.study import Study
with Study(Path(sys.argv[1])).changing("crawl", {}):
    print("held", flush=True)
    time.sleep(600)
"""

Tables = dict[str, bytes]


@dataclass
class World:
    """A study that was analysed, and what has come since: captures, HARs, another study."""

    folder: Path
    shim: Path
    before: Tables
    after: dict[str, Tables] = field(default_factory=dict)
    calls: dict[str, int] = field(default_factory=dict)

    def arguments(self, command: str) -> list[str]:
        more = {
            "import": [str(self.folder / "more")],
            "merge": [str(self.folder / "other")],
            "model": ["--colocation", "ip"],
        }
        return [command, *more.get(command, [])]


def _run(study: Path, *arguments: str, limit: int | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    def prepare() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return subprocess.run(
        [sys.executable, "-P", "-m", "originset", "--study", str(study), *arguments],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=prepare,
    )


def _done(study: Path, *arguments: str) -> None:
    done = _run(study, *arguments)
    assert done.returncode == 0, done.stderr


def _state(study: Path) -> Tables:
    """What the shards hold, and what the database does, which later commands leave for analyze."""
    return tables_of_shards(Study(study)) | {f"db.{k}": v for k, v in tables_of_database(Study(study)).items()}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("faults")
    hars = [orjson.loads(text) for text in generated_hars(6)]
    for number, har in enumerate(hars):
        har["log"]["entries"] = har["log"]["entries"][:15]
        place = folder / ("first" if number < 3 else "more") / f"{number}.har"
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(orjson.dumps(har))
    for name, sites in (("study", range(8)), ("other", range(100, 106))):
        study = Study(folder / name)
        study.create()
        write_captures(study.captures, sites, folders=3, entries=8)
    _done(folder / "study", "import", str(folder / "first"))
    _done(folder / "study", "analyze")
    shim = folder / "faults.so"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", shim, _FAULTS_C, "-ldl"], check=True)
    return World(folder, shim, _state(folder / "study"))


def _due(world: World, study: Path, command: str) -> Path:
    """A copy of the study to which ``command`` has something to do."""
    shutil.copytree(world.folder / "study", study, dirs_exist_ok=True)
    if command == "analyze":
        write_captures(study / "captures", range(8, 12), folders=3, entries=8)
    return study


def _undisturbed(world: World, command: str, tmp_path: Path) -> Tables:
    """What the command makes where nothing fails; how many calls change files meanwhile is counted on the way."""
    if command not in world.after:
        study = _due(world, tmp_path / "undisturbed", command)
        count = tmp_path / "count"
        done = _run(study, *world.arguments(command), **_shim(world, study, FAULT_COUNT=str(count)))
        assert done.returncode == 0, done.stderr
        world.calls[command] = int(count.read_text())
        _used(study, command)
        world.after[command] = _state(study)
        assert digests(world.after[command]) != digests(world.before)
    return world.after[command]


def _used(study: Path, command: str) -> None:
    """What was only brought in is read, too."""
    if command in {"import", "merge"}:
        _done(study, "analyze")


def _shim(world: World, study: Path, calls: str = _CHANGES, **env: str) -> dict[str, str]:
    return {"LD_PRELOAD": str(world.shim), "FAULT_UNDER": f"{study}/", "FAULT_CALLS": calls, **env}


def _said(done: subprocess.CompletedProcess[str]) -> str:
    """The one line that says what is wrong."""
    lines = [line for line in done.stderr.splitlines() if "error" in line or line.startswith("refused:")]
    assert len(lines) == 1, done.stderr
    assert "internal error" not in lines[0], done.stderr
    assert "Traceback" not in done.stderr
    return lines[0]


def _told(line: str, study: Path) -> str:
    """The command that a message says to run for this study."""
    found = re.search(rf"originset --study {re.escape(shlex.quote(str(study)))} (\w+)", line)
    assert found is not None, line
    return found[1]


def _still_readable(world: World, study: Path, command: str) -> None:
    """The last good state is there for whoever asks: as before, or as after."""
    found = tables_of_database(Study(study))
    states = [
        {k[3:]: v for k, v in state.items() if k.startswith("db.")} for state in (world.before, world.after[command])
    ]
    assert found in states


def _recovered(world: World, study: Path, command: str) -> None:
    done = _run(study, *world.arguments(command))
    assert done.returncode == 0, done.stderr
    _used(study, command)
    assert digests(_state(study)) == digests(world.after[command])
    left = [path for path in study.rglob(".*") if path.suffix == ".tmp" or "building" in path.name]
    assert left == []


@dataclass
class Fault:
    """``share``: how far into the command's changes, from 0 to 1."""

    name: str
    command: str
    happen: Callable[[World, Path, str, float, Path], None]
    share: float = 0.0


def killed(world: World, study: Path, command: str, share: float, tmp_path: Path) -> None:
    _due(world, study, command)
    at = 1 + int(share * (world.calls[command] - 1))
    done = _run(study, *world.arguments(command), **_shim(world, study, FAULT_DO="kill", FAULT_AT=str(at)))
    assert done.returncode == -signal.SIGKILL
    _still_readable(world, study, command)
    _recovered(world, study, command)


def broken(world: World, study: Path, command: str, share: float, tmp_path: Path) -> None:
    """From some call on the disk fails whatever is written to it."""
    _due(world, study, command)
    at = 1 + int(share * (world.calls[command] - 1))
    # Names come from the directory, which is still there: only what is written fails.
    env = _shim(world, study, "write,sync", FAULT_DO="5", FAULT_AT=str(max(1, at * 2 // 3)))
    done = _run(study, *world.arguments(command), **env)
    assert done.returncode == 2, done.stderr
    line = _said(done)
    assert "Input/output error" in line
    assert _told(line, study) == command
    _still_readable(world, study, command)
    _recovered(world, study, command)


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
        _due(world, study, command)
        filler = study / "captures" / "filler"
        filler.write_bytes(b"")
        free = os.statvfs(study)
        room = int(share * _grows(world, command, tmp_path)) // 4096 * 4096
        with filler.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, free.f_bavail * free.f_bsize - room)
        done = _run(study, *world.arguments(command))
        assert done.returncode == 2, done.stderr
        line = _said(done)
        assert "No space left on device" in line
        assert "make room" in line
        assert _told(line, study) == command
        _still_readable(world, study, command)
        filler.unlink()
        _recovered(world, study, command)


def _grows(world: World, command: str, tmp_path: Path) -> int:
    """How much a command writes that is there at once: at least the new database."""
    return (world.folder / "study" / "study.duckdb").stat().st_size if command != "import" else 16_000


def too_large(world: World, study: Path, command: str, share: float, tmp_path: Path) -> None:
    """A limit on the size of files, as shells and schedulers set it."""
    _due(world, study, command)
    done = _run(study, *world.arguments(command), limit=int(share * 200_000))
    assert done.returncode == 2, done.stderr
    line = _said(done)
    assert "File too large" in line
    assert _told(line, study) == command
    _still_readable(world, study, command)
    _recovered(world, study, command)


def read_only(world: World, study: Path, command: str, share: float, tmp_path: Path) -> None:
    _due(world, study, command)
    with _mounted(study, "-o", "bind", study):
        subprocess.run(["mount", "-o", "remount,ro,bind", study], check=True)
        done = _run(study, *world.arguments(command))
        assert done.returncode == 2, done.stderr
        line = _said(done)
        assert "Read-only file system" in line
        assert _told(line, study) == command
        _still_readable(world, study, command)
        assert _run(study, "query", "visits_status_summary").returncode == 0
    _recovered(world, study, command)


def set_back(world: World, study: Path, command: str, share: float, tmp_path: Path) -> None:
    """The clock goes back a year while the command runs: nobody needs to be told, and no run ends before it began."""
    _due(world, study, command)
    at = 1 + int(share * (world.calls[command] - 1))
    env = _shim(world, study, FAULT_AT=str(at), FAULT_BACK=str(365 * 86_400))
    done = _run(study, *world.arguments(command), **env)
    assert done.returncode == 0, done.stderr
    assert digests(_state(study)) == digests(world.after[command])
    run = Study(study).manifest()["runs"][-1]
    assert run["started_at"] < run["ended_at"] < f"{int(run['started_at'][:4]) + 1}"


def held(world: World, study: Path, command: str, share: float, tmp_path: Path) -> None:
    """Another process holds the study, and is killed: its lock ends with it."""
    _due(world, study, command)
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
    done = _run(study, *world.arguments(command))
    assert done.returncode == 2
    assert "another originset is changing it; wait until it ends" in _said(done)
    holder.kill()
    holder.wait()
    holder.stdout.close()
    with (study / ".lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    _recovered(world, study, command)


def _shard(study: Path, table: str, kind: str) -> Path:
    return next(
        path for path in sorted((study / "tables" / table).glob(f"{kind}*.parquet")) if path.stat().st_size > 99
    )


def _cut(path: Path, share: float) -> None:
    os.truncate(path, int(share * path.stat().st_size))


def cut_shard(table: str, kind: str) -> Callable[[World, Path, str, float, Path], None]:
    """A shard that lost its end: ``model`` says so, and the command that it names makes it again."""

    def happen(world: World, study: Path, command: str, share: float, tmp_path: Path) -> None:
        shutil.copytree(world.folder / "study", study)
        shard = _shard(study, table, kind)
        _cut(shard, share)
        done = _run(study, "model")
        assert done.returncode == 2, done.stderr
        line = _said(done)
        assert f"{shard.relative_to(study)} is damaged" in line
        told = _told(line, study)
        assert told == command
        found = tables_of_database(Study(study))
        assert found == {k[3:]: v for k, v in world.before.items() if k.startswith("db.")}
        _done(study, *(["import", str(world.folder / "first")] if told == "import" else [told]))
        _done(study, "analyze")
        assert digests(_state(study)) == digests(world.before)

    return happen


def cut_capture(world: World, study: Path, command: str, share: float, tmp_path: Path) -> None:
    """A capture that is no longer whole is refused by name, and what came of the others stays."""
    shutil.copytree(world.folder / "study", study)
    capture = sorted((study / "captures").glob("*/*.zst"))[1]
    whole = capture.read_bytes()
    changed = bytearray(whole)
    changed[len(whole) // 2] ^= 0x55
    capture.write_bytes(bytes(changed) if share == 1 else whole[: int(share * len(whole))])
    done = _run(study, "analyze")
    assert done.returncode == 1, done.stderr
    line = _said(done)
    assert str(capture.relative_to(study)) in line
    assert f"rm {shlex.quote(str(capture))}, and the same crawl again" in line
    assert tables_of_shards(Study(study))["visits"] != world.before["visits"]
    capture.write_bytes(whole)  # as the crawl would
    _done(study, "analyze")
    assert digests(_state(study)) == digests(world.before)


def cut_database(world: World, study: Path, command: str, share: float, tmp_path: Path) -> None:
    shutil.copytree(world.folder / "study", study)
    _cut(study / "study.duckdb", share)
    done = _run(study, "query", "visits_status_summary")
    assert done.returncode == 2, done.stderr
    line = _said(done)
    assert "study.duckdb" in line
    _done(study, _told(line, study))
    assert digests(_state(study)) == digests(world.before)


def cut_manifest(world: World, study: Path, command: str, share: float, tmp_path: Path) -> None:
    shutil.copytree(world.folder / "study", study)
    _cut(study / "study.json", share)
    done = _run(study, "analyze")
    assert done.returncode == 2, done.stderr
    line = _said(done)
    assert "study.json is damaged" in line
    subprocess.run(["sh", "-c", re.search(r"run: (.+); captures", line)[1]], check=True)
    _done(study, "analyze")
    assert digests(_state(study)) == digests(world.before)


def cut_ledger(world: World, study: Path, command: str, share: float, tmp_path: Path) -> None:
    """A study whose ledger lost its end cannot be merged as it is; the command that is named lets it."""
    other = tmp_path / "other"
    shutil.copytree(world.folder / "other", other)
    shutil.copytree(world.folder / "study", study)
    with Ledger(other / "ledger.sqlite") as ledger:
        ledger.add(Row(f"site{number}.example", "default", 1, 1) for number in range(2000))
    _cut(other / "ledger.sqlite", share)
    done = _run(study, "merge", str(other))
    assert done.returncode == 2, done.stderr
    line = _said(done)
    assert "ledger.sqlite is damaged" in line
    assert str(other) in line
    subprocess.run(["sh", "-c", re.search(r"run: (rm .+?);", line)[1]], check=True)
    _done(study, "merge", str(other))
    assert tables_of_shards(Study(study)) == {k: v for k, v in world.before.items() if not k.startswith("db.")}


FAULTS = [
    *(Fault(f"analyze-killed-{share}", "analyze", killed, share) for share in (0, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1)),
    Fault("analyze-full-0.3", "analyze", full, 0.3),
    *(Fault(f"import-killed-{share}", "import", killed, share) for share in (0, 0.3, 0.6, 0.8, 1)),
    *(Fault(f"model-killed-{share}", "model", killed, share) for share in (0.1, 0.5, 0.9, 1)),
    Fault("import-shard-cut", "import", cut_shard("requests", "import-"), 0.5),
    *(Fault(f"merge-killed-{share}", "merge", killed, share) for share in (0, 0.5, 1)),
    *(Fault(f"analyze-broken-{share}", "analyze", broken, share) for share in (0, 0.2, 0.5, 0.8, 0.9)),
    Fault("import-broken", "import", broken, 0.5),
    Fault("captures-shard-cut", "analyze", cut_shard("requests", "captures-"), 0.5),
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
    Fault("visits-shard-cut", "import", cut_shard("visits", "import-"), 0.9),
    Fault("addresses-shard-empty", "analyze", cut_shard("addresses", "all"), 0),
    Fault("database-cut", "analyze", cut_database, 0.5),
    Fault("manifest-cut", "analyze", cut_manifest, 0.5),
    Fault("ledger-cut", "merge", cut_ledger, 0.5),
]


def test_there_are_fifty() -> None:
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) == 50


@pytest.mark.soak
@pytest.mark.testbed
@pytest.mark.parametrize("fault", FAULTS if _FULL else FAULTS[9::10], ids=lambda fault: fault.name)
def test_a_fault(fault: Fault, world: World, tmp_path: Path) -> None:
    _undisturbed(world, fault.command, tmp_path)
    fault.happen(world, tmp_path / "study", fault.command, fault.share, tmp_path)
