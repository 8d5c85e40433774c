"""``originset merge``: the study is made, and says what to do next."""

import pytest

from originset.data.studies.study import Study


@pytest.fixture
def study(tmp_path) -> Study:
    return Study(tmp_path / "whole")


def test_studies_into_a_new_one(run, example_shards, study) -> None:
    done = run("study", "merge", example_shards.root)
    assert (done.returncode, done.stdout) == (0, "")
    assert "next: originset --study" in done.stderr
    (run_,) = study.manifest()["runs"]
    assert (run_["command"], run_["counts"]["captures"]) == ("merge", 0)


def test_into_itself_or_of_nothing(run, example_shards, study) -> None:
    study.create()
    done = run("study", "merge", study.root)
    assert done.returncode == 2
    assert "into itself" in done.stderr
    assert run("study", "merge").returncode == 2
