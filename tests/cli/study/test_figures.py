"""``originset figures``: files where it says they are, numbers on stdout, and figure 2 of a page."""

import json

import polars as pl
import pytest

from originset.data.studies.study import Study


@pytest.fixture
def study(modelled_copy: Study) -> Study:
    return modelled_copy


def test_files_and_numbers(run, tmp_path) -> None:
    out = tmp_path / "new" / "folder"
    done = run("study", "figures", "--out", out, "--format", "jsonl")
    assert done.returncode == 0
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    # One site from each vantage; c and f, imported, are of no known vantage and browser.
    for vantage, browser, sites in (("here", "chromium", 1.0), ("there", "chromium", 1.0), (None, None, 2.0)):
        group = {"vantage": vantage, "browser": browser}
        assert {"figure": "figure-1", **group, "number": "sites", "unit": "sites", "ours": sites} in rows
    files = [path for path in out.rglob("*") if path.is_file()]
    assert {path.parent.relative_to(out).name for path in files} == {
        "", "chromium-at-here", "chromium-at-there", "unknown-browser",
    }  # fmt: skip
    assert all(path.stat().st_size > 0 for path in files)
    assert f"{len(files)} files in {out}" in done.stderr


def test_a_figure_without_data_is_named(study, run, tmp_path) -> None:
    (study.tables / "certificates" / "example.parquet").unlink()
    assert run("study", "model").returncode == 0
    done = run("study", "figures", "--out", tmp_path / "F")
    assert done.returncode == 0
    assert not (tmp_path / "F" / "figure-4.png").exists()
    assert "figure-4: not drawn" in done.stderr


# Page a is of one vantage; a site's page is drawn as seen from the first.
@pytest.mark.parametrize(
    ("page", "vantage"),
    [("a", ("--vantage", "here")), ("example.com", ()), ("https://www.example.com/0", ("--vantage", "here"))],
    ids=["visit", "site", "url"],
)
def test_figure_2_of_a_page(run, tmp_path, page, vantage) -> None:
    done = run("study", "figures", "--out", tmp_path, "--page", page, *vantage)
    assert done.returncode == 0
    rows = pl.read_csv(tmp_path / "figure-2.csv")
    assert rows["visit_id"].unique().to_list() == ["a"]
    # cdn.other.net is in the document's AS: its first request loses lookup and handshake, 50 ms.
    third = rows.filter(pl.col("request_id") == 2).to_dicts()[0]
    assert (third["host"], third["coalesced"], third["dns"], third["dns_after"], third["connect_after"]) == (
        "cdn.other.net", True, 20, 0, 0,
    )  # fmt: skip
    assert {f"figure-2.{ending}" for ending in ("pdf", "svg", "png")} <= {path.name for path in tmp_path.iterdir()}
    assert "https://www.example.com/0" in (tmp_path / "figure-2.svg").read_text()


def test_figure_2_of_a_page_without_a_load_event(run, tmp_path) -> None:
    done = run("study", "figures", "--out", tmp_path, "--page", "b", "--vantage", "there")
    assert (done.returncode, (tmp_path / "figure-2.svg").stat().st_size > 0) == (0, True), done.stderr


def test_the_authors_alone_without_a_study(study, run, tmp_path) -> None:
    study.database_path.unlink()
    study.manifest_path.unlink()
    (tmp_path / "figure-1-dataframe-asn-share.csv").write_text("ASes,Count\n1,75\n,25\n")
    done = run("study", "figures", "--out", tmp_path / "F", "--paper", tmp_path, "--format", "csv")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[0] == "figure,vantage,browser,number,unit,authors"
    assert "figure-1,,,pages that need 1 AS,%,100.0" in lines
    assert len(list((tmp_path / "F").iterdir())) == 5


@pytest.mark.parametrize(
    ("arguments", "says"),
    [(("--page", "nobody.test"), "no page of this study"), (("--page", "f"), "asked for nothing")],
)
def test_a_page_that_cannot_be_drawn(run, tmp_path, arguments, says) -> None:
    done = run("study", "figures", "--out", tmp_path / "F", *arguments)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert says in done.stderr


def test_folders_that_cannot_be_used(run, tmp_path) -> None:
    (tmp_path / "file").write_text("")
    for arguments in (("--out", tmp_path / "file" / "F"), ("--out", tmp_path / "F", "--paper", tmp_path)):
        done = run("study", "figures", *arguments)
        assert done.returncode == 2
        assert len(done.stderr.splitlines()) == 1
