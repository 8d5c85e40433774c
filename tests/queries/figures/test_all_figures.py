"""Figures and tables of the example study, of the authors' data, and of both: their data, and the same bytes always."""

import re

import duckdb
import polars as pl
import pytest
from rich.progress import Progress

from originset.data.errors import UsageError
from originset.data.studies.database import open_database
from originset.models.parameters import Parameters
from originset.queries.figures.all_figures import FIGURES, draw, folder_names, tables

NAMES = ("figure-1", "figure-3", "figure-4", "figure-5", "figure-9a")
LIVE = ("figure-7a", "figure-7b", "figure-8", "figure-9b")
ENDINGS = ("csv", "pdf", "svg", "png")


@pytest.fixture
def paper(tmp_path):
    """Files as the authors', so small that all can be counted."""
    folder = tmp_path / "paper"
    folder.mkdir()
    (folder / "figure-1-dataframe-asn-share.csv").write_text("ASes,Count\n1,50\n3,25\n,25\n")
    (folder / "figure-5-dataframe.csv").write_text(
        "original_san_list,updated_san_list,mapped_san_additions\n2,2,0\n3,2,-1\n2,13,11\n4,5,1\n"
    )
    (folder / "origin_frame_control_timeline.csv").write_text("Time,Count\n2022-01-10,5\n2022-01-11,4\n")
    (folder / "origin_frame_experiment_timeline.csv").write_text("Time,Count\n2022-01-10,5\n2022-01-11,1\n")
    return folder


@pytest.fixture(scope="module")
def drawn(one_place_study, tmp_path_factory):
    folders = [tmp_path_factory.mktemp("figures") for _ in range(2)]
    with open_database(one_place_study) as connection:
        for folder in folders:
            found = draw(connection, folder)
            assert {path.name for path in found.paths} == {f"{name}.{e}" for name in NAMES for e in ENDINGS} | {
                *(f"table-{number}.csv" for number in range(1, 10)),
                "numbers.csv",
            }
    return folders, found


@pytest.mark.parametrize("name", NAMES)
def test_same_bytes_every_time(drawn, name) -> None:
    (one, other), _ = drawn
    for ending in ENDINGS:
        assert (one / f"{name}.{ending}").read_bytes() == (other / f"{name}.{ending}").read_bytes(), ending


@pytest.mark.parametrize("name", NAMES)
def test_they_are_what_their_names_say(drawn, name) -> None:
    for ending, start in (("pdf", b"%PDF"), ("png", b"\x89PNG"), ("svg", b"<?xml")):
        content = (drawn[0][0] / f"{name}.{ending}").read_bytes()
        assert content.startswith(start)
        assert not re.search(rb"CreationDate|<dc:date>|20[2-9]\d-\d\d-\d\dT", content)


def test_the_authors_columns(drawn) -> None:
    folder = drawn[0][0]
    columns = {name: pl.read_csv(folder / f"{name}.csv") for name in NAMES}
    assert columns["figure-1"].columns == ["ASes", "Count"]
    # Visits a and b of one page are at 3 and 1 ASes, c at 1; f asked for nothing.
    assert columns["figure-1"]["ASes"].to_list() == [0, 1, 2]
    assert columns["figure-1"]["Count"].to_list() == pytest.approx([100 / 3] * 3)
    assert columns["figure-3"].columns == ["dns", "tls", "ip_dns_tls", "origin_dns_tls", "ip_dns", "origin_dns"]
    assert columns["figure-3"].rows() == [(0, 0, 0, 0, 0, 0), (2, 2, 1, 1, 1, 1), (3, 4, 3, 2, 0, 0)]
    certificates = ["original_san_list", "updated_san_list", "mapped_san_additions"]
    assert columns["figure-4"].columns == columns["figure-5"].columns == certificates
    assert columns["figure-4"].rows() == columns["figure-5"].rows() == [(2, 4, 2)]
    assert columns["figure-9a"].columns == [
        "page_load_times", "ip_page_load_times", "as_page_load_times", "cf_only_page_load_times",
    ]  # fmt: skip
    assert columns["figure-9a"]["page_load_times"].to_list() == [500, 900]


def test_they_say_on_how_much_they_rest(drawn) -> None:
    folder = drawn[0][0]
    assert "n = 3 sites" in (folder / "figure-1.svg").read_text()
    assert "median 2" in (folder / "figure-3.svg").read_text()
    assert "n = 1 sites; 0.0 % unchanged" in (folder / "figure-4.svg").read_text()
    assert "n = 2 sites" in (folder / "figure-9a.svg").read_text()


def test_numbers_of_a_study_alone(drawn) -> None:
    found = drawn[1].numbers
    assert found["authors"].null_count() == found["difference"].null_count() == found.height
    assert ("figure-1", None, None, "pages that need 1 AS", "%", None, 33.33, None) in found.rows()
    # 0, 2 and 3 lookups on three sites' average pages.
    assert ("figure-3", None, None, "measured DNS lookups, median", "per page", None, 2.0, None) in found.rows()


def test_each_vantage_and_browser_has_its_figures(study, tmp_path) -> None:
    display = Progress(disable=True, auto_refresh=False)
    with open_database(study) as connection:
        found = draw(connection, tmp_path, display=display)
    assert [(task.description, task.completed) for task in display.tasks] == [("figures", len(FIGURES)), ("tables", 9)]
    folders = {"chromium-at-here", "chromium-at-there", "unknown-browser"}
    assert {path.parent.name for path in found.paths if path.name == "figure-3.csv"} == folders
    assert pl.read_csv(tmp_path / "chromium-at-there" / "figure-3.csv").rows() == [(1.0, 2.0, 2.0, 1.0, 0.0, 0.0)]
    # Certificates are the site's, from wherever they were seen.
    assert (tmp_path / "figure-4.csv").exists()
    assert set(found.numbers.filter(figure="figure-3")["vantage"]) == {"here", "there", None}


def test_no_two_vantages_share_a_folder() -> None:
    """Names of vantages are any text: some differ only in what a folder's name leaves out, or have no letter."""
    vantages = ["a b", "a/b", "a b 2", "../a b", "\N{CJK UNIFIED IDEOGRAPH-65E5}"]
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE basis_summary (vantage VARCHAR, browser VARCHAR, sites BIGINT)")
        connection.executemany("INSERT INTO basis_summary VALUES (?, 'b', 1)", [[one] for one in vantages])
        folders = set(folder_names(connection).values())
    assert len(folders) == len(vantages)
    assert all(re.fullmatch(r"[A-Za-z0-9-]+", name) for name in folders)


def test_the_tables_are_the_papers_nine() -> None:
    assert list(tables()) == [f"table-{number}" for number in range(1, 10)]
    assert len(set(tables().values())) == 9


def test_live_figures_are_said_not_to_be_a_crawls(drawn) -> None:
    live = [reason for reason in drawn[1].remarks if "live experiment" in reason]
    assert [reason.split(":")[0] for reason in live] == list(LIVE)


def test_a_figure_without_data_is_named_and_not_drawn(build_study, tmp_path) -> None:
    with open_database(build_study({}, Parameters())) as connection:
        found = draw(connection, tmp_path)
    assert {path.name for path in found.paths} == {f"table-{number}.csv" for number in range(1, 10)} | {"numbers.csv"}
    assert [reason.split(":")[0] for reason in found.remarks] == sorted((*NAMES, *LIVE))
    assert found.numbers.is_empty()


def test_unknown_lookups_are_said_to_be_unknown(build_study, example_rows, tmp_path) -> None:
    """A study of recordings without DNS phases has no curve for lookups, not one at zero."""
    silent = [{**row, "dns_ms": None} for row in example_rows["requests"]]
    visits = [row for row in example_rows["visits"] if row["visit_id"] == "c"]
    study = build_study({**example_rows, "visits": visits, "requests": silent}, Parameters(colocation="ip"))
    with open_database(study) as connection:
        found = draw(connection, tmp_path)
    text = (tmp_path / "figure-3.svg").read_text()
    assert "measured DNS lookups: not known" in text
    assert "ideal ORIGIN by addresses" in text
    assert (
        "figure-3",
        None,
        None,
        "measured DNS lookups, median",
        "per page",
        None,
        None,
        None,
    ) in found.numbers.rows()


def test_the_authors_alone(paper, tmp_path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    found = draw(None, out, paper)
    names = ("figure-1", "figure-4", "figure-5", "figure-8")
    assert {path.name for path in found.paths} == {
        *(f"{name}.{ending}" for name in names for ending in ("pdf", "svg", "png")),
        *(f"{name}-authors.csv" for name in names),
        "numbers.csv",
    }
    assert found.remarks == []
    assert ("figure-1", None, None, "sites", "sites", 3.0, None, None) in found.numbers.rows()
    assert (
        "figure-4",
        None,
        None,
        "certificates with 10 additions or fewer",
        "%",
        75.0,
        None,
        None,
    ) in found.numbers.rows()
    assert (
        "figure-8",
        None,
        None,
        "during, experiment against control",
        "%",
        -75.0,
        None,
        None,
    ) in found.numbers.rows()
    assert pl.read_csv(out / "figure-1-authors.csv").rows() == [("ASes", 1.0, 2 / 3), ("ASes", 3.0, 1.0)]
    assert pl.read_csv(out / "figure-8-authors.csv").rows()[0] == ("2022-01-10", 5.0, 5.0)


def test_side_by_side(one_place_study, paper, tmp_path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    with open_database(one_place_study) as connection:
        found = draw(connection, out, paper)
    assert ("figure-1", None, None, "pages that need 1 AS", "%", 66.67, 33.33, -33.34) in found.numbers.rows()
    assert ("figure-4", None, None, "names with additions, median", "names", 3.5, 4.0, 0.5) in found.numbers.rows()
    text = (out / "figure-4.svg").read_text()
    assert "the authors: n = 4 sites; 50.0 % unchanged" in text
    assert "this study: n = 1 sites; 0.0 % unchanged" in text
    assert [reason.split(":")[0] for reason in found.remarks] == ["figure-7a", "figure-7b", "figure-9b"]
    assert (out / "figure-1.csv").exists()
    assert (out / "figure-1-authors.csv").exists()


def test_all_of_the_authors_data(shared, tmp_path) -> None:
    found = draw(None, tmp_path, shared / "paper" / "data")
    assert len(found.paths) == 9 * 4 + 1
    assert found.remarks == ["figure-9a: the authors' curves were read back from their published figure"]
    assert found.numbers["authors"].null_count() == 0


def test_a_folder_without_any_of_the_authors_files(tmp_path) -> None:
    with pytest.raises(UsageError, match="none of the authors' files"):
        draw(None, tmp_path, tmp_path)
