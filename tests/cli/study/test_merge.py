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


def test_rounds_that_do_not_fit_are_named(run, study, tmp_path) -> None:
    parts = [Study(tmp_path / browser) for browser in ("chromium", "firefox")]
    for part in parts:
        part.create()
        entry = {"vantage": "lab", "round": 3, "settings": {"browser": part.root.name}}
        part.update_manifest(rounds=[entry])
    done = run("study", "merge", *(part.root for part in parts))
    assert done.returncode == 0, done.stderr
    assert "round 3 of vantage lab was visited with different settings" in done.stderr
    done = run("study", "merge", parts[0].root, "--study", tmp_path / "other")
    assert "different settings" not in done.stderr


def test_into_itself_or_of_nothing(run, example_shards, study) -> None:
    study.create()
    done = run("study", "merge", study.root)
    assert done.returncode == 2
    assert "into itself" in done.stderr
    assert run("study", "merge").returncode == 2
