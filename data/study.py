"""A study on disk: where things lie in its folder, its manifest, and who may change it.

::

    STUDY/
      study.json            the manifest
      ledger.sqlite         the crawl's own book (originset.data.ledger), and ledger.leases beside it
      captures/ab/<visit_id>.har.zst
      tables/<table>/<shard>.parquet
      study.duckdb          built in one go, replaced by rename
"""

from __future__ import annotations

import fcntl
import json
import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import originset
from originset.data.errors import StudyError
from originset.data.files import disk_fault, replacing

# Raised with every change of the schema, so that an earlier program leaves a study alone that it would misread. A later
# one reads it: 2 only added columns, which rows that were written before have as NULL (originset.data.shards).
FORMAT = 2

# What processes that were killed leave behind.
_HALF_WRITTEN = (
    ".study.json.*.tmp",
    ".study.duckdb.building*",
    "study.duckdb.tmp/*",
    "tables/*/.*.tmp",
    "files/[0-9a-f][0-9a-f]/.*.tmp",
    "captures/[0-9a-f][0-9a-f]/.*.tmp",
)


@dataclass(frozen=True, slots=True)
class Study:
    """A study's folder. Nothing is read or written until it is asked for."""

    root: Path

    @property
    def manifest_path(self) -> Path:
        """The manifest, ``study.json``."""
        return self.root / "study.json"

    @property
    def ledger_path(self) -> Path:
        """The crawl's ledger."""
        return self.root / "ledger.sqlite"

    @property
    def captures(self) -> Path:
        """The folder of captures."""
        return self.root / "captures"

    @property
    def tables(self) -> Path:
        """The folder of Parquet shards."""
        return self.root / "tables"

    @property
    def database_path(self) -> Path:
        """The database that users query."""
        return self.root / "study.duckdb"

    def create(self) -> None:
        """Make the folder and an empty manifest, unless it is a study already.

        Raises:
            StudyError: the folder holds something else, or cannot be written.
        """
        if self.manifest_path.exists():
            self.manifest()
            return
        if self.root.is_dir() and any(not path.match(_HALF_WRITTEN[0]) for path in self.root.iterdir()):
            raise StudyError(self.root, "the folder is not empty and not a study", "name another with --study")
        try:
            # What pages asked for can tell who looked at them: others may read it once its owner says so.
            self.root.mkdir(0o700, parents=True, exist_ok=True)
            self._write({"format": FORMAT, "created_at": _now(), "originset": originset.__version__, "runs": []})
        except OSError as error:
            raise StudyError(self.root, f"cannot be made ({error.strerror})", "name another with --study") from error

    def manifest(self) -> dict[str, Any]:
        """The manifest as it is now.

        Raises:
            StudyError: there is none, it is damaged, or a later version wrote it.
        """
        try:
            manifest = json.loads(self.manifest_path.read_bytes())
        except FileNotFoundError:
            raise StudyError(
                self.root, "there is no study here", "crawl or import into it first, or name one with --study"
            ) from None
        except OSError as error:
            raise StudyError(self.root, f"study.json cannot be read ({error.strerror})") from error
        except ValueError as error:
            raise self._without_manifest(f"study.json is damaged ({error})") from error
        if not isinstance(manifest, dict) or not isinstance(manifest.get("format"), int):
            raise self._without_manifest("study.json is not a manifest")
        if manifest["format"] > FORMAT:
            raise StudyError(
                self.root,
                f"it has format {manifest['format']}, and originset {originset.__version__} knows up to {FORMAT}",
                f"use originset {manifest.get('originset', 'as new as its own')} or later",
            )
        return manifest

    def _without_manifest(self, problem: str) -> StudyError:
        """A manifest only describes: the rest is whole without what it said."""
        write = f'echo \'{{"format": {FORMAT}, "runs": []}}\' > {shlex.quote(str(self.manifest_path))}'
        return StudyError(self.root, problem, f"run: {write}; captures and tables are as they were")

    def update_manifest(self, **facts: Any) -> None:  # noqa: ANN401 - whatever JSON can hold
        """Set keys of the manifest; call under :meth:`changing`."""
        self._write({**self.manifest(), **facts})

    def _write(self, manifest: dict[str, Any]) -> None:
        with replacing(self.manifest_path) as beside:
            beside.write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")

    @contextmanager
    def changing(self, command: str, parameters: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Hold the study for one command that changes it, and record the run in the manifest.

        Yields a dictionary for the run's counts, which end up in the table ``runs``. A run that ended by an exception
        keeps ``ended_at`` null. The lock is the kernel's and ends with the process, however that ends.

        Raises:
            StudyError: another process is changing the study, a later version wrote it, or the disk failed; what to
                do and the command to run again are said.
        """
        self.create()
        try:
            with (self.root / ".lock").open("w") as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise StudyError(self.root, "another originset is changing it", "wait until it ends") from None
                self._sweep()
                yield from self._run(command, parameters)
        except Exception as error:
            fault = disk_fault(error)
            if fault is None:
                raise
            problem, advice = fault
            again = shlex.join(["originset", "--study", str(self.root), command])
            raise StudyError(self.root, problem, f"{advice}, then run again: {again}") from error

    def _sweep(self) -> None:
        for pattern in _HALF_WRITTEN:
            for path in self.root.glob(pattern):
                path.unlink(missing_ok=True)

    def _run(self, command: str, parameters: dict[str, Any]) -> Iterator[dict[str, Any]]:
        runs = list(self.manifest()["runs"])
        began, started = datetime.now(UTC), time.monotonic()
        run: dict[str, Any] = {
            "run_id": len(runs) + 1,
            "command": command,
            "version": originset.__version__,
            "started_at": _text(began),
            "ended_at": None,
            "parameters": parameters,
            "counts": {},
        }
        self.update_manifest(format=FORMAT, runs=[*runs, run])
        yield run["counts"]
        # A clock that was set back meanwhile does not end a run before it began.
        run["ended_at"] = _text(began + timedelta(seconds=time.monotonic() - started))
        self.update_manifest(runs=[*runs, run])


def _now() -> str:
    return _text(datetime.now(UTC))


def _text(moment: datetime) -> str:
    return moment.isoformat(timespec="microseconds")
