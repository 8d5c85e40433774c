"""``originset model``: other parameters reach the database, the manifest and the record of runs."""

import json

import pytest

from originset.data.studies.database import open_database
from originset.data.studies.study import Study


@pytest.fixture
def study(modelled_copy: Study) -> Study:
    return modelled_copy


def ask(study, sql):
    with open_database(study) as connection:
        return connection.sql(sql).fetchall()


def test_other_parameters(study, run) -> None:
    of_page_a = "SELECT ideal_origin FROM page_counts WHERE visit_id = 'a'"
    assert ask(study, of_page_a) == [(3,)]
    done = run("study", "model", "--colocation", "ip", "--predecessor", "time", "--provider-asn", "13335")
    assert (done.returncode, done.stdout) == (0, "")
    assert "6 rows in page_counts" in done.stderr
    assert ask(study, of_page_a) == [(4,)]
    assert ask(study, "SELECT count(provider_ms) FROM page_load_times") == [(2,)]
    expected = {
        "colocation": "ip",
        "wildcards": "cover",
        "coverage": "certificate",
        "predecessor": "time",
        "parallel_dns": "own",
        "blocked_time": "freed",
        "ssl": "inside",
        "provider_asns": [13335],
    }
    assert study.manifest()["models"] == expected
    ((command, recorded),) = ask(study, "SELECT command, parameters FROM runs ORDER BY run_id DESC LIMIT 1")
    assert (command, json.loads(recorded)) == ("model", expected)


def test_addresses_without_a_key_are_reported(study, run) -> None:
    done = run("study", "model", "--colocation", "tenant")
    assert done.returncode == 0
    assert "3 of 6 pages have hosts of no known tenant of an edge; each counts as one of its own" in done.stderr
    assert ask(study, "SELECT ideal_origin, without_key FROM page_counts WHERE visit_id = 'a'") == [(4, 4)]


def test_sensitivity_is_kept_until_the_models_run_again(study, run) -> None:
    assert run("study", "model", "--sensitivity").returncode == 0
    assert ask(
        study,
        "SELECT vantage, value, chosen, median_ideal_origin, connections_saved FROM model_sensitivity"
        " WHERE parameter = 'colocation' AND value IN ('asn', 'ip') ORDER BY vantage NULLS LAST, value",
    ) == [
        # tests/cli/modelling/test_rebuild.py has the pages: a from here, b from there, c and f imported.
        ("here", "asn", True, 3.0, 3), ("here", "ip", False, 4.0, 2),
        ("there", "asn", True, 1.0, 1), ("there", "ip", False, 2.0, 0),
        (None, "asn", True, 0.5, 1), (None, "ip", False, 0.5, 1),
    ]  # fmt: skip
    assert run("study", "model").returncode == 0
    assert ask(study, "SELECT count(*) FROM model_sensitivity") == [(0,)]


def test_readers_keep_the_database_that_they_opened(study, run) -> None:
    with open_database(study) as before:
        assert run("study", "model", "--colocation", "ip").returncode == 0
        assert before.sql("SELECT max(ideal_origin) FROM page_counts").fetchall() == [(3,)]


@pytest.mark.parametrize("arguments", [("--colocation", "asns"), ("--provider-asn", "0"), ("--blocked-time", "half")])
def test_what_does_not_exist_is_refused(run, arguments) -> None:
    assert run("study", "model", *arguments).returncode == 2


def test_a_study_that_was_not_analysed(study, run) -> None:
    (study.tables / "addresses" / "example.parquet").unlink()
    done = run("study", "model")
    assert done.returncode == 2
    assert "run: originset analyze" in done.stderr


def test_a_second_table_beside_the_studys_own(study, run, tmp_path, monkeypatch) -> None:
    """All in one AS: page a needs one connection in place of three."""
    # The other choices: test_sensitivity_is_kept_until_the_models_run_again.
    monkeypatch.setattr("originset.cli.modelling.rebuild.variants", lambda _parameters: [])
    table = tmp_path / "one.dat"
    table.write_text("0.0.0.0/1\t64500\n128.0.0.0/1\t64500\n")
    done = run("study", "model", "--sensitivity", "--alternative-ip-to-as", table)
    assert done.returncode == 0, done.stderr
    assert ask(
        study,
        "SELECT vantage, value, chosen, connections_saved FROM model_sensitivity"
        " WHERE parameter = 'ip_to_as' ORDER BY vantage NULLS LAST, chosen",
    ) == [
        ("here", "one.dat", False, 5), ("here", "the study's own", True, 3),
        ("there", "one.dat", False, 1), ("there", "the study's own", True, 1),
        (None, "one.dat", False, 1), (None, "the study's own", True, 1),
    ]  # fmt: skip
    refused = run("study", "model", "--alternative-ip-to-as", table)
    assert (refused.returncode, "add --sensitivity" in refused.stderr) == (2, True)
