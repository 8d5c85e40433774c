"""Batches of the models in processes and on a cluster: the same tables, also where a process or worker is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import polars as pl
import psutil
import pytest
from click.testing import CliRunner
from cluster_lab import DASK, Papers, scheduler, wait_until
from generated_study import generate

import originset
from originset.cli import model_batches
from originset.cli.main import main
from originset.cli.model_batches import side_by_side
from originset.data.database import open_database
from originset.data.errors import ClusterError, UsageError
from originset.data.schema import TABLES, Stage
from originset.data.study import Study
from originset.models.batches import inputs_of
from originset.models.definitions import modelled_tables
from originset.models.parameters import Parameters
from originset.models.runner import Run, one_after_another, run_models

PAGES = 300


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
    run_models(run, one_after_another)
    return _rows(run)


def test_processes_give_what_one_gives(generated: Study, expected: dict[str, pl.DataFrame], tmp_path: Path) -> None:
    run = _run(generated, tmp_path)
    assert len(run.inputs.batches) == 3
    run_models(run, side_by_side(2))
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


@contextmanager
def _cluster(workers: int) -> Iterator[tuple[str, Papers, list[subprocess.Popen[bytes]]]]:
    with ExitStack() as stack:
        # Not below pytest's folder: the name of a socket has to be short.
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cl-", ignore_cleanup_errors=True)))
        papers = Papers(scratch / "papers")
        address = stack.enter_context(scheduler(scratch, "tls://127.0.0.1", *papers.options))
        command = [DASK, "worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard", *papers.options]
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


def test_a_cluster_gives_what_one_process_gives_though_a_worker_is_lost(generated: Study) -> None:
    assert CliRunner().invoke(main, ["--study", str(generated.root), "model"]).exit_code == 0
    expected = _tables(generated)
    with _cluster(2) as (address, papers, workers):

        def lose_one() -> None:
            while not any((generated.root / ".models.building").glob("*/*/*.parquet")):
                time.sleep(0.01)
            workers[0].send_signal(signal.SIGKILL)

        thread = threading.Thread(target=lose_one, daemon=True)
        thread.start()
        command = ["--study", str(generated.root), "model", "--cluster", address, *papers.options]
        done = CliRunner().invoke(main, command)
        thread.join()
    assert done.exit_code == 0, done.stderr
    assert workers[0].poll() is not None
    for name, rows in _tables(generated).items():
        assert rows.equals(expected[name]), name


def test_a_worker_that_does_not_see_the_study_is_named(generated: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    # As on a machine that has another study at this path.
    monkeypatch.setattr(model_batches.secrets, "token_hex", lambda _: "")
    monkeypatch.setattr(
        model_batches, "_version_and_marker", lambda place: (originset.__version__, f"not what is in {place}")
    )
    with _cluster(1) as (address, papers, _):
        done = CliRunner().invoke(
            main, ["--study", str(generated.root), "model", "--cluster", address, *papers.options]
        )
    assert isinstance(done.exception, ClusterError)
    assert "all machines need the study at the same path" in str(done.exception)


def test_certificates_without_a_cluster_are_refused(tmp_path: Path) -> None:
    study = Study(tmp_path / "study")
    study.create()
    (tmp_path / "ca.pem").write_text("")
    done = CliRunner().invoke(main, ["--study", str(study.root), "analyze", "--tls-ca-file", str(tmp_path / "ca.pem")])
    assert isinstance(done.exception, UsageError)
    assert "certificates are for a cluster" in str(done.exception)
