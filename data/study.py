"""A study on disk: where things lie in its folder, its manifest, and who may change it.

::

    STUDY/
      study.json            the manifest
      ledger.sqlite         the crawl's own book (originset.data.ledger)
      captures/ab/<visit_id>.har.zst
      tables/<table>/<shard>.parquet
      study.duckdb          built in one go, replaced by rename
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import originset
from originset.data.errors import StudyError

FORMAT = 1


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
        if self.root.is_dir() and any(self.root.iterdir()):
            raise StudyError(self.root, "the folder is not empty and not a study", "name another with --study")
        try:
            self.root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StudyError(self.root, f"cannot be made ({error.strerror})", "name another with --study") from error
        self._write({"format": FORMAT, "created_at": _now(), "originset": originset.__version__, "runs": []})

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
        except (OSError, ValueError) as error:
            raise StudyError(self.root, f"study.json cannot be read ({error})") from error
        if not isinstance(manifest, dict) or not isinstance(manifest.get("format"), int):
            raise StudyError(self.root, "study.json is not a manifest")
        if manifest["format"] > FORMAT:
            raise StudyError(self.root, f"it has format {manifest['format']}", "use the originset that wrote it")
        return manifest

    def update_manifest(self, **facts: Any) -> None:  # noqa: ANN401 - whatever JSON can hold
        """Set keys of the manifest; call under :meth:`changing`."""
        self._write({**self.manifest(), **facts})

    def _write(self, manifest: dict[str, Any]) -> None:
        beside = self.manifest_path.with_name(f".study.json.{os.getpid()}.tmp")
        beside.write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")
        beside.replace(self.manifest_path)

    @contextmanager
    def changing(self, command: str, parameters: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Hold the study for one command that changes it, and record the run in the manifest.

        Yields a dictionary for the run's counts, which end up in the table ``runs``. A run that ended by an exception
        keeps ``ended_at`` null.

        Raises:
            StudyError: another process is changing the study.
        """
        self.create()
        with (self.root / ".lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise StudyError(self.root, "another originset is changing it", "wait until it ends") from None
            runs = list(self.manifest()["runs"])
            run: dict[str, Any] = {
                "run_id": len(runs) + 1,
                "command": command,
                "version": originset.__version__,
                "started_at": _now(),
                "ended_at": None,
                "parameters": parameters,
                "counts": {},
            }
            self.update_manifest(runs=[*runs, run])
            yield run["counts"]
            run["ended_at"] = _now()
            self.update_manifest(runs=[*runs, run])


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")
