"""Batches of the models on workers that do not see the study: the files of each go to them and back through S3.

::

    PLACE/originset-<study>/<run>/marker                                while the command runs
    PLACE/originset-<study>/<run>/inputs/<hash of a path>.parquet       a file of the study that some batch reads
    PLACE/originset-<study>/<run>/results/<folder>/<table>/<batch>.parquet
"""

from __future__ import annotations

import hashlib
import os
import platform
import secrets
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import originset
from originset.cli.common.output import note
from originset.cli.modelling.model_cluster import require_workers, run_on_workers
from originset.cli.modelling.model_progress import CountedBatches
from originset.data.errors import ClusterError
from originset.data.files.atomic_files import disk_fault
from originset.data.files.staging_bucket import StagingBucket
from originset.models.runner.runner import Run, results_read, results_written, run_batch, shards_read


@contextmanager
def staged(client: Any, address: str, place: str) -> Iterator[CountedBatches]:  # noqa: ANN401 - a Client
    """Run batches on the workers of a cluster that exchange files through storage below ``place``.

    Files of a study are put there once, what workers wrote is fetched. What a killed command left there for the same
    study of the same machine is removed.
    """
    batches = _StagedBatches(client, address, place)
    try:
        yield batches
    finally:
        batches.end()


def place_of_study(place: str, study: Path) -> str:
    """The prefix below ``place`` for the files of this study, in this folder of this machine."""
    digest = hashlib.sha256(os.fsencode(f"{platform.node()}\n{study.resolve()}")).hexdigest()[:16]
    return f"{place}/originset-{digest}"


class _StagedBatches:
    def __init__(self, client: Any, address: str, place: str) -> None:  # noqa: ANN401 - a Client
        self._client = client
        self._address = address
        self._place = place
        self._bucket: StagingBucket | None = None
        self._stored: set[str] = set()

    def __call__(self, calls: Sequence[tuple[Run, int, int]], done: Callable[[], None] = lambda: None, /) -> None:
        """Run batches.

        Raises:
            ClusterError: the storage or a worker is not reached or refuses, or a worker's disk is full.
        """
        if not calls:
            return
        bucket = self._bucket = self._bucket or self._empty_storage(calls[0][0].inputs.folder)
        for run, stage, batch in calls:
            for path in shards_read(run, stage, batch):
                self._store(_input_key(path), run.inputs.folder / path)
            for path in results_read(run, stage, batch):
                self._store(_result_key(run, path), path)
        run_on_workers(self._client, self._address, run_staged, [(bucket.place, *call) for call in calls], done)
        for run, stage, batch in calls:
            for path in results_written(run, stage, batch):
                key = _result_key(run, path)
                bucket.fetch(key, path)
                self._stored.add(key)

    def _empty_storage(self, study: Path) -> StagingBucket:
        """Empty storage for this run. The study is locked, so nobody else uses what an earlier run left there."""
        of_study = place_of_study(self._place, study)
        StagingBucket(of_study).remove()
        token = secrets.token_hex(8)
        bucket = StagingBucket(f"{of_study}/{token}")
        bucket.begin(token)
        otherwise = f"it does not see {bucket.place}: all machines need the same storage, with credentials for it"
        require_workers(
            self._client, self._address, token, otherwise=otherwise, marker=_marker_in_bucket, place=bucket.place
        )
        return bucket

    def _store(self, key: str, path: Path) -> None:
        if key not in self._stored and self._bucket is not None:
            self._bucket.put(key, path)
            self._stored.add(key)

    def end(self) -> None:
        """Remove all stored files."""
        if self._bucket is not None:
            try:
                self._bucket.remove()
            except ClusterError as error:
                note(f"what was staged for the workers could not be removed: {error}")


def run_staged(place: str, run: Run, stage: int, batch: int) -> None:
    """Run a batch on a worker: fetch the files that it reads, and store the files that it writes.

    Raises:
        ClusterError: the storage is not reached or refuses, or this machine's disk is full or failed.
        UsageError: the worker's folder is not its own.
    """
    bucket = StagingBucket(place)
    scratch = _scratch_folder()
    try:
        with tempfile.TemporaryDirectory(prefix="originset-", dir=scratch, ignore_cleanup_errors=True) as folder:
            inputs = replace(run.inputs, folder=Path(folder) / "study")
            own = replace(run, inputs=inputs, folder=Path(folder) / run.folder.name)
            for path in shards_read(own, stage, batch):
                bucket.fetch(_input_key(path), inputs.folder / path)
            for path in results_read(own, stage, batch):
                bucket.fetch(_result_key(own, path), path)
            run_batch(own, stage, batch)
            if bucket.token() is not None:  # else the command has ended, and nobody would remove what we store
                for path in results_written(own, stage, batch):
                    bucket.put(_result_key(own, path), path)
    except Exception as error:
        fault = disk_fault(error)
        if fault is None:
            raise
        problem, advice = fault
        raise ClusterError(platform.node(), f"{problem}; {advice} in {scratch or tempfile.gettempdir()}") from error


def _scratch_folder() -> str | None:
    """The worker's own folder, which Dask removes even after a worker was killed; None if this is not a worker.

    Raises:
        UsageError: another user of the machine can put another in its place.
    """
    from distributed import get_worker  # noqa: PLC0415 - of an optional extra

    from originset.crawler.cluster.security import require_own_folder  # noqa: PLC0415 - of an optional extra

    try:
        folder = str(get_worker().local_directory)
    except ValueError:
        return None
    require_own_folder(Path(folder))
    return folder


def _input_key(path: Path) -> str:
    # Not the path itself, which can have characters that a key cannot.
    return f"inputs/{hashlib.sha256(os.fsencode(path)).hexdigest()}.parquet"


def _result_key(run: Run, path: Path) -> str:
    return f"results/{run.folder.name}/{path.relative_to(run.folder)}"


def _marker_in_bucket(place: str) -> tuple[str, str | None]:
    """The program's version on this worker, and the marker in the storage.

    Raises:
        UsageError: the worker's folder is not its own.
    """
    _scratch_folder()
    try:
        return originset.__version__, StagingBucket(place).token()
    except ClusterError:
        return originset.__version__, None
