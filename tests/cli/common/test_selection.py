"""Options that select visits: what they say, and that each command asks of the visits they select."""

import re
import shlex
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from example_study import ROWS, tables_of, write_modelled

from originset.cli.modelling.rebuild import rebuild
from originset.data.studies.database import open_database
from originset.data.studies.shards import write_shard
from originset.data.studies.study import Study
from originset.models.parameters import Parameters

COUNT = "SELECT count(*) AS n FROM selected_visits"


def make_study(root: Path, **kinds: str) -> Study:
    """The example study; ``kinds``: the kind of page of some visits."""
    visits = [{**row, "page_kind": kinds.get(row["visit_id"], "landing")} for row in ROWS["visits"]]
    return write_modelled(Study(root), {**ROWS, "visits": visits})


@pytest.fixture(scope="module")
def internal_pages(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return make_study(tmp_path_factory.mktemp("selection") / "S", b="internal", c="internal")


@pytest.fixture
def study(internal_pages: Study, tmp_path: Path) -> Study:
    shutil.copytree(internal_pages.root, tmp_path / "S")
    return Study(tmp_path / "S")


def asked(run: Callable, *options: str) -> tuple[int, str]:
    done = run("query", "--sql", COUNT, "--format", "csv", *options)
    assert done.returncode == 0, done.stderr
    return int(done.stdout.splitlines()[1]), done.stderr.strip()


def test_query(run) -> None:
    assert asked(run) == (4, "landing pages: 4 of 6 visits")
    assert asked(run, "--page-kind", "all") == (6, "landing and internal pages: 6 of 6 visits")
    assert asked(run, "--page-kind", "internal", "--vantage", "there")[0] == 1
    assert asked(run, "--where", "rank = 2") == (1, "landing pages, where rank = 2: 1 of 6 visits")
    assert asked(run, "--where", "page_kind = 'internal'")[0] == 2


def test_a_default_that_leaves_nothing_out_is_not_mentioned(run, tmp_path, study) -> None:
    with study.changing("analyze", {}):
        write_shard(study, "visits", "example", tables_of({"visits": ROWS["visits"]})["visits"].collect())
        rebuild(study, Parameters())
    assert asked(run) == (6, "")


@pytest.mark.parametrize("what", [["visits_status_summary"], ["--sql", "SELECT 1 FROM visits"], []])
def test_a_query_that_reads_all_visits_is_not_asked_of_some(run, what) -> None:
    done = run("query", *what, "--vantage", "it's here")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--vantage 'it'\"'\"'s here': " in done.stderr
    assert "does not read selected_visits" in done.stderr
    assert run("query", *what).stderr == ""


@pytest.mark.parametrize(
    "words",
    [
        ["query", "--sql", COUNT],
        ["study", "figures", "--out", "F"],
        ["study", "report", "--out", "r.html"],
        ["study", "compare", "--by", "vantage"],
        ["study", "compare", "S", "S"],
        ["study", "artifact", "--out", "a.tar.gz"],
    ],
)
def test_every_command_has_the_options(run, study, tmp_path, monkeypatch, words) -> None:
    monkeypatch.chdir(tmp_path)
    before = {path.relative_to(tmp_path) for path in tmp_path.iterdir()}
    none = run(*words, "--vantage", "nowhere")
    assert (none.returncode, none.stdout) == (2, "")
    assert "no visit is selected by: landing pages, vantage nowhere; the study has: vantage here, there" in none.stderr
    wrong = run(*words, "--where", "rank")
    assert wrong.returncode == 2
    assert "--where rank: it is of type INTEGER, not BOOLEAN; write a condition" in wrong.stderr
    assert {path.relative_to(tmp_path) for path in tmp_path.iterdir()} == before


def test_a_report_says_of_which_visits_it_is(run, tmp_path) -> None:
    out = tmp_path / "report.html"
    done = run("study", "report", "--out", out, "--where", "rank <= 10")
    assert (done.returncode, done.stderr.splitlines()[0]) == (0, "landing pages, where rank <= 10: 2 of 6 visits")
    assert "landing pages, where rank &lt;= 10: 2 of 6 visits." in out.read_text()


def test_figure_2_is_of_a_selected_visit(run, study, tmp_path) -> None:
    done = run(
        "study", "figures", "--out", tmp_path / "F", "--page", "example.com", "--vantage", "there", "--page-kind", "all"
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "F" / "figure-2.csv").read_text().splitlines()[1].startswith("b,")
    done = run("study", "figures", "--out", tmp_path / "F", "--page", "b", "--vantage", "here")
    assert (done.returncode, "no page of this study is 'b'" in done.stderr) == (2, True)


def test_a_selection_is_of_a_study(run, study, tmp_path) -> None:
    """The authors' figures are drawn without a study, but no visits are selected of none."""
    study.database_path.unlink()
    study.manifest_path.unlink()
    (tmp_path / "figure-1-dataframe-asn-share.csv").write_text("ASes,Count\n1,75\n,25\n")
    assert run("study", "figures", "--out", tmp_path / "F", "--paper", tmp_path).returncode == 0
    done = run("study", "figures", "--out", tmp_path / "F", "--paper", tmp_path, "--vantage", "here")
    assert (done.returncode, "there is no study" in done.stderr or "no study" in done.stderr) == (2, True)


def test_commands_of_an_artifact_select_what_its_figures_are_about(run, study, tmp_path, monkeypatch) -> None:
    out = tmp_path / "a.tar.gz"
    done = run("study", "artifact", "--out", out, "--where", "rank <= 10")
    assert done.returncode == 0, done.stderr
    with tarfile.open(out) as archive:
        archive.extractall(tmp_path, filter="data")
    top = tmp_path / "originset-artifact"
    text = (top / "ARTIFACT.md").read_text()
    assert "Figures and claims are about: landing pages, where rank &lt;= 10." in text
    commands = re.findall(r"`(originset [^`]+)`", text)
    assert "originset study figures --study study --out figures --where 'rank <= 10'" in commands
    monkeypatch.chdir(top)
    for command in dict.fromkeys(command for command in commands if " model" in command or " figures " in command):
        assert run(*shlex.split(command)[1:]).returncode == 0
    with open_database(Study(top / "study")) as connection:
        assert connection.execute("SELECT count(*) FROM visits").fetchall() == [(6,)]


def test_an_artifact_is_not_selected_by_what_it_does_not_hold(run, tmp_path) -> None:
    done = run(
        "study", "artifact", "--out", tmp_path / "a.tar.gz", "--where", "source LIKE '%.har'", "--page-kind", "all"
    )
    assert done.returncode == 2
    assert "the column source is not published" in done.stderr
    assert not (tmp_path / "a.tar.gz").exists()
