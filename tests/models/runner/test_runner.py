"""Models over batches: the same rows in any batches, files that are whole, and nothing that nobody wants."""

from __future__ import annotations

import hashlib
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import duckdb
import polars as pl
import pytest
from example_study import ROWS, tables_of
from faulted_study import build_shim, faults
from generated_study import generate

from originset.data.studies.shards import write_shard
from originset.data.studies.study import Study
from originset.models.parameters import Parameters
from originset.models.runner.batches import inputs_of
from originset.models.runner.definitions import modelled_tables
from originset.models.runner.runner import (
    Limits,
    Run,
    results_read,
    results_written,
    run_batch,
    run_models,
    run_sequentially,
    shards_read,
)

pytestmark = pytest.mark.slow

WANTED = (*modelled_tables(), "results_summary")
_RUN = """
import pickle, sys
from originset.models.runner.runner import run_sequentially, run_models
with open(sys.argv[1], "rb") as file:
    run = pickle.load(file)
run_models(run, run_sequentially)
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """The example study with two of its visits in each of three shards."""
    study = Study(tmp_path_factory.mktemp("runner") / "study")
    study.create()
    for name, frame in tables_of(ROWS).items():
        rows = frame.collect()
        if "visit_id" not in rows.columns:
            write_shard(study, name, "all", rows)
            continue
        for visits in ("ab", "cd", "ef"):
            write_shard(study, name, f"captures-{visits}", rows.filter(pl.col("visit_id").is_in(list(visits))))
    return study


def run_of(study: Study, folder: Path, *, batch_bytes: int = 1, wanted: tuple[str, ...] = WANTED) -> Run:
    return Run(inputs_of(study, batch_bytes), Parameters(), folder, wanted)


def rows(run: Run) -> dict[str, pl.DataFrame]:
    return {name: pl.read_parquet(run.files(name)).sort(pl.all()) for name in run.wanted}


def files(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def expected(study: Study, tmp_path_factory: pytest.TempPathFactory) -> dict[str, pl.DataFrame]:
    """By one batch."""
    run = run_of(study, tmp_path_factory.mktemp("one"), batch_bytes=1 << 30)
    assert len(run.inputs.batches) == 1
    run_models(run, run_sequentially)
    return rows(run)


def assert_equal(found: dict[str, pl.DataFrame], expected: dict[str, pl.DataFrame]) -> None:
    for name, frame in expected.items():
        assert found[name].equals(frame), name


def test_the_same_rows_whatever_the_batches_and_their_order(
    study: Study, expected: dict[str, pl.DataFrame], tmp_path: Path
) -> None:
    run = run_of(study, tmp_path)
    assert len(run.inputs.batches) == 3
    run_models(run, lambda calls: run_sequentially(calls[::-1]))
    assert_equal(rows(run), expected)
    assert expected["page_counts"].height == 6


def test_threads_change_nothing(study: Study, expected: dict[str, pl.DataFrame], tmp_path: Path) -> None:
    run = replace(
        run_of(study, tmp_path, batch_bytes=1 << 30), limits=Limits(threads=3), study_limits=Limits(threads=3)
    )
    run_models(run, run_sequentially)
    assert_equal(rows(run), expected)


def test_neither_the_order_of_rows_nor_threads_change_anything(tmp_path: Path) -> None:
    """One batch of 12 shards, and the same with the rows of each in another order, read by four threads."""
    study, other = Study(tmp_path / "study"), Study(tmp_path / "other")
    generate(study, 120, pages_per_shard=10)
    other.create()
    for path in study.tables.glob("*/*.parquet"):
        write_shard(other, path.parent.name, path.stem, pl.read_parquet(path).sample(fraction=1, shuffle=True, seed=7))
    one = run_of(study, tmp_path / "one", batch_bytes=1 << 30)
    run_models(one, run_sequentially)
    shuffled = replace(run_of(other, tmp_path / "two", batch_bytes=1 << 30), limits=Limits(threads=4))
    run_models(shuffled, run_sequentially)
    assert_equal(rows(shuffled), rows(one))


def test_a_batch_that_is_done_again_writes_the_same(study: Study, tmp_path: Path) -> None:
    run = run_of(study, tmp_path)
    run_models(run, run_sequentially)
    before = files(tmp_path)
    for stage in run.stages:
        if stage % 2:
            for batch in (2, 0, 2):
                run_batch(run, stage, batch)
    assert files(tmp_path) == before
    assert all(name.endswith(".parquet") for name in before), "nothing but results is left behind"


def test_a_batch_that_outlives_its_run_writes_nothing(study: Study, tmp_path: Path) -> None:
    """As on a worker of a cluster, when the command was interrupted and its folder is gone."""
    run = run_of(study, tmp_path / "of the run" / "models")
    with pytest.raises(FileNotFoundError):
        run_batch(run, run.stages[1], 0)
    assert list(tmp_path.iterdir()) == []


def test_files_of_a_batch_are_all_that_it_reads_and_writes(
    study: Study, expected: dict[str, pl.DataFrame], tmp_path: Path
) -> None:
    """Each batch in folders that hold what it is said to read, and nothing else."""
    run = run_of(study, tmp_path / "models")

    def run_batches(calls: Sequence[tuple[Run, int, int]]) -> None:
        for of_batch, stage, batch in calls:
            inputs = replace(of_batch.inputs, folder=tmp_path / f"{stage}-{batch}")
            for path in shards_read(of_batch, stage, batch):
                (inputs.folder / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(of_batch.inputs.folder / path, inputs.folder / path)
            own = replace(of_batch, inputs=inputs, folder=inputs.folder / "models")
            for path in results_read(own, stage, batch):
                path.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(run.folder / path.relative_to(own.folder), path)
            read = set(results_read(own, stage, batch))
            run_batch(own, stage, batch)
            written = {path for path in own.folder.rglob("*") if path.is_file()} - read
            assert sorted(written) == results_written(own, stage, batch)
            for path in written:
                place = run.folder / path.relative_to(own.folder)
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, place)

    run_models(run, run_batches)
    assert_equal(rows(run), expected)


def test_what_nobody_wants_is_not_written(study: Study, tmp_path: Path) -> None:
    run = run_of(study, tmp_path, wanted=("page_counts",))
    run_models(run, run_sequentially)
    written = {path.name for path in tmp_path.iterdir()}
    assert "page_counts" in written
    assert not written & (set(modelled_tables()) - {"page_counts"})
    assert pl.read_parquet(run.files("page_counts")).height == 6


def test_one_batch_without_the_others_is_of_its_visits_alone(study: Study, tmp_path: Path) -> None:
    run = run_of(study, tmp_path, wanted=("page_counts",))
    run_models(run, run_sequentially)
    visits = [pl.read_parquet(path)["visit_id"].to_list() for path in run.files("page_counts")]
    assert sorted(map(sorted, visits)) == [["a", "b"], ["c", "d"], ["e", "f"]]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_shim(tmp_path_factory.mktemp("shim"))


def elsewhere(run: Run, library: Path, **fault: str) -> subprocess.CompletedProcess[str]:
    """The models in a process of their own, in which calls that change files may fail."""
    pickled = run.folder.parent / "run.pickle"
    pickled.write_bytes(pickle.dumps(run))
    command = [sys.executable, "-P", "-c", _RUN, str(pickled)]
    env = {**os.environ, **faults(library, run.folder, **fault)}
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def calls(study: Study, library: Path, tmp_path_factory: pytest.TempPathFactory) -> int:
    """How many calls change files when nothing fails."""
    folder = tmp_path_factory.mktemp("undisturbed")
    done = elsewhere(run_of(study, folder / "models"), library, FAULT_COUNT=str(folder / "count"))
    assert done.returncode == 0, done.stderr
    return int((folder / "count").read_text())


@pytest.fixture(params=[0.1, 0.5, 0.9])
def at(request: pytest.FixtureRequest, calls: int) -> int:
    """The number of one of these calls."""
    return max(1, int(request.param * calls))


def test_a_process_that_is_killed_leaves_whole_files(
    study: Study, library: Path, expected: dict[str, pl.DataFrame], tmp_path: Path, at: int
) -> None:
    run = run_of(study, tmp_path / "models")
    assert elsewhere(run, library, FAULT_DO="kill", FAULT_AT=str(at)).returncode < 0
    written = [path for path in run.folder.rglob("*.parquet") if not path.name.startswith(".")]
    assert all(pl.read_parquet(path) is not None for path in written)
    run_models(run, run_sequentially)
    assert_equal(rows(run), expected)


@contextmanager
def _small_disk(place: Path, size: str) -> Iterator[None]:
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(place)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", str(place)], check=True)


@pytest.mark.testbed
def test_a_full_disk_is_an_error_and_what_is_there_is_whole(
    study: Study, expected: dict[str, pl.DataFrame], tmp_path: Path
) -> None:
    run = run_of(study, tmp_path / "disk" / "models")
    with _small_disk(tmp_path / "disk", "96k"):
        with pytest.raises((duckdb.Error, OSError), match="No space left on device"):
            run_models(run, run_sequentially)
        written = [path for path in run.folder.rglob("*.parquet") if not path.name.startswith(".")]
        assert written
        assert all(pl.read_parquet(path) is not None for path in written)
        subprocess.run(["mount", "-o", "remount,size=64m", str(tmp_path / "disk")], check=True)
        run_models(run, run_sequentially)
        assert_equal(rows(run), expected)


_PROGRESS = """
import sys
del sys.modules["__main__"].__file__
from pathlib import Path
from originset.models.runner import runner
from originset.models.parameters import Parameters
run = runner.Run(runner.Inputs(Path(), {}, {}), Parameters(), Path(sys.argv[1]), ())
with runner._connected(run, run.limits) as connection:
    print(connection.execute("SELECT current_setting('enable_progress_bar')").fetchall()[0][0])
"""


def test_nothing_is_drawn_on_the_terminal_by_a_process_without_a_script(tmp_path: Path) -> None:
    """As are those that run batches side by side: DuckDB takes such a process for an interactive one."""
    script = tmp_path / "script.py"
    script.write_text(_PROGRESS)
    found = subprocess.run([sys.executable, str(script), str(tmp_path)], capture_output=True, text=True, check=True)
    assert found.stdout == "False\n"
