"""Batches of the models in processes and on a cluster: the same tables, also where a process or worker is lost."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import polars as pl
import psutil
import pytest
from click.testing import CliRunner
from cluster_lab import DASK, Papers, scheduler, wait_until
from generated_study import generate
from s3_storage import bucket, keys

from originset.cli.main import main
from originset.cli.modelling import rebuild
from originset.cli.modelling.model_batches import side_by_side
from originset.cli.modelling.model_staging import place_of_study
from originset.data.errors import ClusterError, StudyError, UsageError
from originset.data.files.staging_bucket import StagingBucket
from originset.data.schema.study_tables import TABLES, Stage
from originset.data.studies.database import open_database
from originset.data.studies.study import Study
from originset.data.studies.study_sweep import MODELS_BUILDING
from originset.models.parameters import Parameters
from originset.models.runner.batches import inputs_of
from originset.models.runner.definitions import modelled_tables
from originset.models.runner.runner import Run, run_models, run_sequentially, shards_read

PAGES = 90
_LAST = "saved_connections"  # of what a batch writes, in its order
_STEADY_S = 8.0


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """A study of three shards, and so of three batches where each has one."""
    study = Study(tmp_path_factory.mktemp("batches") / "study")
    generate(study, PAGES, pages_per_shard=PAGES // 3)
    return study


def _run(study: Study, folder: Path) -> Run:
    return Run(inputs_of(study, batch_bytes=1), Parameters(), folder, modelled_tables())


def _rows(run: Run) -> dict[str, pl.DataFrame]:
    return {name: pl.read_parquet(run.files(name)).sort(pl.all()) for name in modelled_tables()}


@pytest.fixture(scope="module")
def expected(generated: Study, tmp_path_factory: pytest.TempPathFactory) -> dict[str, pl.DataFrame]:
    run = _run(generated, tmp_path_factory.mktemp("one") / "models")
    run_models(run, run_sequentially)
    return _rows(run)


def test_processes_give_what_one_gives(generated: Study, expected: dict[str, pl.DataFrame], tmp_path: Path) -> None:
    run = _run(generated, tmp_path)
    assert len(run.inputs.batches) == 3
    done: list[None] = []
    run_models(run, lambda calls: side_by_side(2)(calls, lambda: done.append(None)))
    assert len(done) == sum(stage % 2 for stage in run.stages) * len(run.inputs.batches)
    for name, rows in _rows(run).items():
        assert rows.equals(expected[name]), name


def test_a_process_that_is_killed_costs_its_batch(
    generated: Study, expected: dict[str, pl.DataFrame], tmp_path: Path
) -> None:
    run = _run(generated, tmp_path)
    killed = threading.Event()

    def kill_one() -> None:
        while not killed.is_set():
            for child in psutil.Process().children():
                if "spawn_main" in " ".join(child.cmdline()) and any(run.folder.rglob("*.parquet")):
                    child.kill()
                    killed.set()
                    return
            time.sleep(0.01)

    thread = threading.Thread(target=kill_one, daemon=True)
    thread.start()
    run_models(run, side_by_side(2))
    assert killed.is_set()
    thread.join()
    for name, rows in _rows(run).items():
        assert rows.equals(expected[name]), name


@pytest.mark.testbed
def test_a_disk_that_is_full_for_processes_leaves_the_old_database(
    generated: Study, three_batches: None, tmp_path: Path
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1g", "none", disk], check=True)
    try:
        study = Study(disk / "study")
        shutil.copytree(generated.root, study.root)
        command = ["--study", str(study.root), "study", "model", "--jobs", "2"]
        assert CliRunner().invoke(main, command).exit_code == 0
        expected, before = _tables(study), study.database_path.read_bytes()
        used = shutil.disk_usage(disk).used
        subprocess.run(["mount", "-o", f"remount,size={used + (160 << 10)}", disk], check=True)
        done = CliRunner().invoke(main, command)
        assert isinstance(done.exception, StudyError)
        assert "No space left on device" in str(done.exception)
        assert f"make room, then run again: originset --study {study.root} study model" in str(done.exception)
        assert study.database_path.read_bytes() == before
        assert not (study.root / MODELS_BUILDING).exists()
        subprocess.run(["mount", "-o", "remount,size=1g", disk], check=True)
        assert CliRunner().invoke(main, command).exit_code == 0
        for name, rows in _tables(study).items():
            assert rows.equals(expected[name]), name
    finally:
        subprocess.run(["umount", disk], check=True)


@contextmanager
def _cluster(workers: int, *within: str) -> Iterator[tuple[str, Papers, list[subprocess.Popen[bytes]]]]:
    with ExitStack() as stack:
        # Not below pytest's folder: the name of a socket has to be short.
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cl-", ignore_cleanup_errors=True)))
        papers = Papers(scratch / "papers")
        address = stack.enter_context(scheduler(scratch, "tls://127.0.0.1", *papers.options))
        command = [*within, DASK, "worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard", *papers.options]
        environment = {**os.environ, "TMPDIR": str(scratch)}
        log = stack.enter_context((scratch / "workers.txt").open("wb"))
        started = [subprocess.Popen(command, env=environment, stdout=log, stderr=log) for _ in range(workers)]
        for worker in started:
            stack.callback(worker.wait)
            stack.callback(worker.kill)
        wait_until(lambda: (scratch / "workers.txt").read_text().count("Registered to") >= workers, "workers")
        yield address, papers, started


def _tables(study: Study) -> dict[str, pl.DataFrame]:
    with open_database(study) as connection:
        return {
            name: connection.table(name).pl().sort(pl.all())
            for name, table in TABLES.items()
            if table.stage is Stage.MODELLED
        }


@pytest.fixture
def three_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands run the models in a batch for each shard, as they do with larger ones."""
    monkeypatch.setattr(rebuild, "inputs_of", partial(inputs_of, batch_bytes=1))


def _lose_one_in_the_middle(worker: subprocess.Popen[bytes], batches_done: Callable[[], int]) -> threading.Thread:
    """Stop a worker while batches run, and kill it once others have done theirs and it alone holds up the rest."""

    def lose() -> None:
        while not batches_done():
            time.sleep(0.01)
        worker.send_signal(signal.SIGSTOP)
        before = -1
        while batches_done() > before:
            before = batches_done()
            time.sleep(_STEADY_S)
        worker.send_signal(signal.SIGKILL)

    thread = threading.Thread(target=lose, daemon=True)
    thread.start()
    return thread


def test_a_cluster_gives_what_one_process_gives_though_a_worker_is_lost(generated: Study, three_batches: None) -> None:
    assert CliRunner().invoke(main, ["--study", str(generated.root), "study", "model"]).exit_code == 0
    expected = _tables(generated)
    with _cluster(2) as (address, papers, workers):
        results = generated.root / MODELS_BUILDING
        lost = _lose_one_in_the_middle(workers[0], lambda: len(list(results.glob(f"*/models/{_LAST}/*.parquet"))))
        command = ["--study", str(generated.root), "study", "model", "--cluster", address, *papers.options]
        done = CliRunner().invoke(main, command)
        lost.join()
    assert done.exit_code == 0, done.stderr
    assert workers[0].poll() == -signal.SIGKILL
    for name, rows in _tables(generated).items():
        assert rows.equals(expected[name]), name


def test_a_killed_command_leaves_the_old_database_and_a_batch_of_its_disturbs_no_later_one(generated: Study) -> None:
    assert CliRunner().invoke(main, ["--study", str(generated.root), "study", "model"]).exit_code == 0
    expected, before = _tables(generated), generated.database_path.read_bytes()
    building = generated.root / MODELS_BUILDING
    with _cluster(1) as (address, papers, workers):
        command = ["--study", str(generated.root), "study", "model", "--cluster", address, *papers.options]
        with subprocess.Popen([sys.executable, "-m", "originset", *command, "--colocation", "ip"]) as first:
            wait_until(lambda: any(building.glob("*/models/certificate_facts/*.parquet")), "stage over the study")
            workers[0].send_signal(signal.SIGSTOP)
            first.kill()
        assert generated.database_path.read_bytes() == before
        (of_first,) = building.iterdir()

        def go_on() -> None:
            while of_first.exists() or not any(building.glob("*/models/certificate_facts/*.parquet")):
                time.sleep(0.01)
            workers[0].send_signal(signal.SIGCONT)

        thread = threading.Thread(target=go_on, daemon=True)
        thread.start()
        done = CliRunner().invoke(main, command)
        thread.join()
    assert done.exit_code == 0, done.stderr
    for name, rows in _tables(generated).items():
        assert rows.equals(expected[name]), name
    assert not building.exists()


def _without(folder: Path) -> list[str]:
    """What starts a command that finds this folder empty, as on another machine."""
    hide = 'mount -t tmpfs none "$0" && exec "$@"'
    return ["unshare", "--mount", "sh", "-c", hide, str(folder)]


@pytest.mark.testbed
def test_a_worker_that_does_not_see_the_study_is_named(generated: Study) -> None:
    with _cluster(1, *_without(generated.root)) as (address, papers, _):
        done = CliRunner().invoke(
            main, ["--study", str(generated.root), "study", "model", "--cluster", address, *papers.options]
        )
    assert isinstance(done.exception, ClusterError)
    assert "all machines need the study at the same path, or --staging" in str(done.exception)


@pytest.mark.promise("staging-is-emptied")
@pytest.mark.testbed
def test_workers_that_do_not_see_the_study_give_the_same_by_way_of_s3_though_one_is_lost(
    generated: Study, three_batches: None, endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert CliRunner().invoke(main, ["--study", str(generated.root), "study", "model"]).exit_code == 0
    expected = _tables(generated)
    with (
        bucket(endpoint, "models", monkeypatch) as place,
        _cluster(2, *_without(generated.root)) as (address, papers, workers),
    ):
        StagingBucket(place_of_study(place, generated.root)).begin("of a killed command")
        StagingBucket(f"{place}/other").begin("of another study")
        lost = _lose_one_in_the_middle(workers[0], lambda: sum(f"/models/{_LAST}/" in key for key in keys("models")))
        command = [
            "--study",
            str(generated.root),
            "study",
            "model",
            "--cluster",
            address,
            "--staging",
            place,
            *papers.options,
        ]
        done = CliRunner().invoke(main, command)
        lost.join()
        left = keys("models")
    assert done.exit_code == 0, done.stderr
    assert workers[0].poll() == -signal.SIGKILL
    for name, rows in _tables(generated).items():
        assert rows.equals(expected[name]), name
    assert left == ["studies/one/other/marker"]


@pytest.mark.testbed
def test_a_worker_without_the_storage_is_named(
    generated: Study, endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with _cluster(1) as (address, papers, _), bucket(endpoint, "models-seen-by-us", monkeypatch) as place:
        command = [
            "--study",
            str(generated.root),
            "study",
            "model",
            "--cluster",
            address,
            "--staging",
            place,
            *papers.options,
        ]
        done = CliRunner().invoke(main, command)
    assert isinstance(done.exception, ClusterError)
    assert "all machines need the same storage" in str(done.exception)


def test_a_batch_is_sent_with_its_own_files_alone(generated: Study, tmp_path: Path) -> None:
    sent: list[tuple[Run, int, int]] = []

    def run_batches(calls: Sequence[tuple[Run, int, int]]) -> None:
        sent.extend(calls)
        run_sequentially(calls)

    run_models(_run(generated, tmp_path / "models"), run_batches)
    shards = {path.relative_to(generated.root) for path in (generated.tables / "requests").iterdir()}
    for run, stage, batch in sent:
        own = shards.intersection(shards_read(run, stage, batch))
        assert len(own) == (1 if stage == 1 else 0)
        assert [path for path in shards - own if str(path) in str(run)] == []


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--staging", "s3://bucket/prefix"], "--staging is for a cluster"),
        (["--staging", "s3://Bucket/", "--cluster", "tls://127.0.0.1:1"], "is no place to stage files"),
        (["--staging", "/shared", "--cluster", "tls://127.0.0.1:1"], "is no place to stage files"),
    ],
)
def test_places_that_are_none_are_refused(tmp_path: Path, options: list[str], problem: str) -> None:
    study = Study(tmp_path / "study")
    study.create()
    done = CliRunner().invoke(main, ["--study", str(study.root), "analyze", *options])
    assert isinstance(done.exception, UsageError)
    assert problem in str(done.exception)


def test_certificates_without_a_cluster_are_refused(tmp_path: Path) -> None:
    study = Study(tmp_path / "study")
    study.create()
    (tmp_path / "ca.pem").write_text("")
    done = CliRunner().invoke(main, ["--study", str(study.root), "analyze", "--tls-ca-file", str(tmp_path / "ca.pem")])
    assert isinstance(done.exception, UsageError)
    assert "certificates are for a cluster" in str(done.exception)
