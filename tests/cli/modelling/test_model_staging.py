"""What a worker does with a batch whose files are in S3 (moto's server on loopback)."""

from __future__ import annotations

import copy
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from example_study import ROWS, tables_of
from s3_storage import bucket, keys

from originset.cli.modelling.model_staging import _input_key, _marker_in_bucket, _result_key, run_staged
from originset.data.errors import ClusterError, UsageError
from originset.data.files.staging_bucket import StagingBucket
from originset.data.studies.shards import write_shard
from originset.data.studies.study import Study
from originset.models.parameters import Parameters
from originset.models.runner.batches import inputs_of
from originset.models.runner.definitions import modelled_tables
from originset.models.runner.runner import (
    Run,
    results_read,
    results_written,
    run_batch,
    run_models,
    run_sequentially,
    shards_read,
)

STAGE = 1


@pytest.fixture
def run(tmp_path: Path) -> Run:
    study = Study(tmp_path / "study")
    study.create()
    for name, rows in tables_of(ROWS).items():
        write_shard(study, name, "captures-it's [1]", rows.collect())
    return Run(inputs_of(study), Parameters(), tmp_path / "models", modelled_tables())


@pytest.fixture
def staged(run: Run, endpoint: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[str]:
    """A bucket that has what the first batch reads, as the command puts it there."""
    run_models(run, run_sequentially)
    name = f"staging-{abs(hash(request.node.name))}"
    with bucket(endpoint, name, monkeypatch) as place:
        store = StagingBucket(place)
        store.begin("token")
        for path in shards_read(run, STAGE, 0):
            store.put(_input_key(path), run.inputs.folder / path)
        for path in results_read(run, STAGE, 0):
            store.put(_result_key(run, path), path)
        yield name


def test_results_are_those_of_a_batch_beside_the_study(run: Run, staged: str, tmp_path: Path) -> None:
    run_staged(f"s3://{staged}/studies/one", run, STAGE, 0)
    store = StagingBucket(f"s3://{staged}/studies/one")
    assert len(results_written(run, STAGE, 0)) > 10
    for path in results_written(run, STAGE, 0):
        store.fetch(_result_key(run, path), tmp_path / "fetched.parquet")
        assert (tmp_path / "fetched.parquet").read_bytes() == path.read_bytes()


def test_a_batch_that_outlives_its_command_stores_nothing(
    run: Run, staged: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = StagingBucket(f"s3://{staged}/studies/one")

    def interrupted(*call: object) -> None:
        run_batch(*call)
        store.remove()

    monkeypatch.setattr("originset.cli.modelling.model_staging.run_batch", interrupted)
    run_staged(store.place, run, STAGE, 0)
    assert keys(staged) == []


def test_what_is_gone_is_named(run: Run, staged: str) -> None:
    store = StagingBucket(f"s3://{staged}/studies/one")
    store.remove()
    with pytest.raises(ClusterError, match="what was there is gone"):
        run_staged(store.place, run, STAGE, 0)


def test_an_error_of_a_worker_arrives_as_it_was_raised() -> None:
    error = copy.copy(ClusterError("worker-1", "No space left on device; make room"))  # by what pickle goes by
    assert (error.address, error.problem) == ("worker-1", "No space left on device; make room")


@pytest.mark.testbed
def test_a_workers_full_disk_is_named_with_the_worker(
    run: Run, staged: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = keys(staged)
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=96k", "none", str(small)], check=True)
    monkeypatch.setattr(tempfile, "tempdir", str(small))
    try:
        with pytest.raises(ClusterError, match=rf"No space left on device.*; make room in {small}"):
            run_staged(f"s3://{staged}/studies/one", run, STAGE, 0)
        assert list(small.iterdir()) == []
    finally:
        subprocess.run(["umount", str(small)], check=True)
    assert before == keys(staged)


@pytest.mark.promise("workers-have-their-own-folder")
def test_a_folder_that_others_can_exchange_gets_no_files(
    run: Run, staged: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "dask-scratch-space" / "worker-1"
    folder.mkdir(parents=True)
    monkeypatch.setattr("distributed.get_worker", lambda: SimpleNamespace(local_directory=str(folder)))
    place = f"s3://{staged}/studies/one"
    assert _marker_in_bucket(place)[1] == "token"
    folder.parent.chmod(0o777)
    with pytest.raises(UsageError, match="other users of the machine can change"):
        _marker_in_bucket(place)
    with pytest.raises(UsageError, match="other users of the machine can change"):
        run_staged(place, run, STAGE, 0)
    assert list(folder.iterdir()) == []
