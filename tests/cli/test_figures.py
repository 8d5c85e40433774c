"""``originset figures``: files where it says they are."""

from pathlib import Path

import pytest

from originset.cli.rebuild import rebuild
from originset.data.study import Study
from originset.models.parameters import Parameters


@pytest.fixture
def study(example_shards) -> Study:
    with example_shards.changing("analyze", {}):
        rebuild(example_shards, Parameters())
    return example_shards


def test_it_prints_the_paths(run, tmp_path) -> None:
    done = run("figures", "--out", tmp_path / "new" / "folder")
    assert (done.returncode, done.stderr) == (0, "")
    paths = [Path(line) for line in done.stdout.splitlines()]
    assert len(paths) == 12
    assert all(path.parent == tmp_path / "new" / "folder" and path.stat().st_size > 0 for path in paths)


def test_a_figure_without_data_is_named(study, run, tmp_path) -> None:
    (study.tables / "certificates" / "example.parquet").unlink()
    assert run("model").returncode == 0
    done = run("figures", "--out", tmp_path)
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 8
    assert "figure-4: not drawn" in done.stderr


def test_a_folder_that_cannot_be_made(run, tmp_path) -> None:
    (tmp_path / "file").write_text("")
    done = run("figures", "--out", tmp_path / "file" / "folder")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
