"""A study on disk: the files in its folder, its manifest, and the lock for commands that change it.

::

    STUDY/
      study.json            the manifest
      ledger.sqlite         the crawl's ledger (originset.data.ledger.crawl_ledger), with ledger.leases
      captures/ab/<visit_id>.har.zst
      tables/<table>/<shard>.parquet
      study.duckdb          built in one go, replaced by rename
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
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
from originset.data.files.atomic_files import NOT_REGULAR, disk_fault, replacing
from originset.data.files.nofollow import NotRegularError, list_folder, make_folder, open_regular, read_regular
from originset.data.sanitising.printable import is_utf8, path_text
from originset.data.studies.manifest import MAX_BYTES, check_manifest, decode_manifest
from originset.data.studies.study_sweep import BUILDING, MODELS_BUILDING, is_half_written, sweep

# Raised with every change of the schema, so that an earlier program leaves a study alone that it would misread. A later
# one reads it: 2 only added columns, which rows that were written before have as NULL (originset.data.studies.shards).
FORMAT = 2

# Commands that change a study and are in the group "study"; runs are recorded by the last word.
_OF_GROUP_STUDY = {"enrich", "merge", "model"}

# The kinds of files under these names; SQLite and DuckDB open some of them by themselves.
_FOLDERS = {"captures", "tables", "files", "study.duckdb.tmp", BUILDING, MODELS_BUILDING}
_FILES = re.compile(r"study\.json|\.lock|ledger\.(leases|sqlite(-wal|-shm|-journal)?)|study\.duckdb(\.wal)?")


@dataclass(frozen=True, slots=True)
class Study:
    """A study's folder. Creating the object reads and writes nothing."""

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
            StudyError: the folder holds something else, cannot be written, or has a name that is not UTF-8.
        """
        self._require_utf8()
        if self.manifest_path.exists():
            self.manifest()
            return
        if self.root.is_dir() and any(not is_half_written(path.name) for path in self.root.iterdir()):
            raise StudyError(self.root, "the folder is not empty and not a study", "name another with --study")
        try:
            # The requests of pages can identify their visitor: only the owner can read them, unless they change that.
            make_folder(self.root, 0o700)
            self._write({"format": FORMAT, "created_at": _now(), "originset": originset.__version__, "runs": []})
        except OSError as error:
            raise StudyError(self.root, f"cannot be made ({error.strerror})", "name another with --study") from error

    def manifest(self) -> dict[str, Any]:
        """The manifest as it is now.

        Raises:
            StudyError: there is none, it is damaged, a later version wrote it, a link, a pipe or a device stands in the
                place of something that belongs to the study, or the folder has a name that is not UTF-8.
        """
        self._require_utf8()
        try:
            manifest = decode_manifest(read_regular(self.root, "study.json", limit=MAX_BYTES))
            self._require_no_links()
        except FileNotFoundError:
            raise StudyError(
                self.root, "there is no study here", "crawl or import into it first, or name one with --study"
            ) from None
        except NotRegularError as error:
            raise StudyError(self.root, f"{error.filename} {error.strerror}", NOT_REGULAR) from error
        except OSError as error:
            raise StudyError(self.root, f"study.json cannot be read ({error.strerror})") from error
        except OverflowError as error:
            raise self._without_manifest(f"study.json is larger than any manifest: {error} bytes") from error
        except ValueError as error:
            raise self._without_manifest(f"study.json is damaged ({error})") from error
        if manifest["format"] > FORMAT:
            raise StudyError(
                self.root,
                f"it has format {manifest['format']}, and originset {originset.__version__} knows up to {FORMAT}",
                f"use originset {manifest.get('originset', 'as new as its own')} or later",
            )
        try:
            check_manifest(manifest)
        except ValueError as error:
            raise self._without_manifest(f"study.json is damaged ({error})") from error
        return manifest

    def _require_utf8(self) -> None:
        """Refuse a path that DuckDB and polars cannot open."""
        if not is_utf8(self.root.absolute()):
            path = path_text(self.root.absolute())
            raise StudyError(
                self.root, f"its path {path} is not UTF-8", "rename the folder, or name another with --study"
            )

    def _require_no_links(self) -> None:
        listing = list_folder(self.root)
        for names, kind in ((listing.files, "file"), (listing.folders, "folder"), (listing.others, "other")):
            for name in names:
                expected_kind = "folder" if name in _FOLDERS else "file" if _FILES.fullmatch(name) else kind
                if kind != expected_kind:
                    path = self.root / name
                    what = (
                        "a symbolic link, and none is followed"
                        if path.is_symlink()
                        else f"not a regular {expected_kind}"
                    )
                    raise NotRegularError(errno.EINVAL, f"is {what}", str(path))

    def _without_manifest(self, problem: str) -> StudyError:
        """The error for a missing or damaged manifest: all other data of the study can be used without it."""
        write = f'echo \'{{"format": {FORMAT}, "runs": []}}\' > {shlex.quote(str(self.manifest_path))}'
        return StudyError(self.root, problem, f"run: {write}; captures and tables are as they were")

    def update_manifest(self, **facts: Any) -> None:  # noqa: ANN401 - whatever JSON can hold
        """Set keys of the manifest; call under :meth:`changing`."""
        self._write({**self.manifest(), **facts})

    def _write(self, manifest: dict[str, Any]) -> None:
        with replacing(self.manifest_path) as temporary:
            temporary.write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")

    @contextmanager
    def changing(self, command: str, parameters: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Lock the study for one command that changes it, and record the run in the manifest.

        Yields a dictionary for the run's counts, which end up in the table ``runs``. A run that ended by an exception
        keeps ``ended_at`` null. The lock is the kernel's and ends with the process, however that ends.

        Raises:
            StudyError: another process is changing the study, a later version wrote it, or the disk failed; what to
                do and the command to run again are said.
        """
        self.create()
        try:
            lock = open_regular(self.root, ".lock", flags=os.O_RDWR | os.O_CREAT)
            try:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise StudyError(self.root, "another originset is changing it", "wait until it ends") from None
                sweep(self.root)
                yield from self._run(command, parameters)
            finally:
                os.close(lock)
        except Exception as error:
            fault = disk_fault(error)
            if fault is None:
                raise
            problem, advice = fault
            words = ["study", command] if command in _OF_GROUP_STUDY else [command]
            repeat_command = shlex.join(["originset", "--study", str(self.root), *words])
            raise StudyError(self.root, problem, f"{advice}, then run again: {repeat_command}") from error

    def is_held(self) -> bool:
        """Whether a command is changing the study now. The lock is not touched, so nobody is kept from it."""
        try:
            lock = (self.root / ".lock").stat().st_ino
            held = Path("/proc/locks").read_text(encoding="ascii")
        except OSError:
            return False
        return any(
            words[1] == "FLOCK" and words[3] == "WRITE" and words[5].endswith(f":{lock}")
            for words in map(str.split, held.splitlines())
        )

    def _run(self, command: str, parameters: dict[str, Any]) -> Iterator[dict[str, Any]]:
        runs = self.manifest()["runs"]
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
        # A run does not end before it began, even if the clock was set back.
        run["ended_at"] = _text(began + timedelta(seconds=time.monotonic() - started))
        self.update_manifest(runs=[*runs, run])


def _now() -> str:
    return _text(datetime.now(UTC))


def _text(moment: datetime) -> str:
    return moment.isoformat(timespec="microseconds")
