"""Figures of the example study: their data, that they are pictures, and the same bytes every time."""

import polars as pl
import pytest

from originset.data.database import open_database
from originset.models.parameters import Parameters
from originset.queries.figures import draw

NAMES = ("figure-1", "figure-3", "figure-4")


@pytest.fixture(scope="module")
def drawn(study, tmp_path_factory):
    folders = [tmp_path_factory.mktemp("figures") for _ in range(2)]
    with open_database(study) as connection:
        for folder in folders:
            paths, missing = draw(connection, folder)
            assert missing == []
            assert {path.name for path in paths} == {
                f"{name}.{e}" for name in NAMES for e in ("csv", "pdf", "svg", "png")
            }
    return folders


@pytest.mark.parametrize("name", NAMES)
def test_same_bytes_every_time(drawn, name) -> None:
    one, other = drawn
    for ending in ("csv", "svg", "png", "pdf"):
        assert (one / f"{name}.{ending}").read_bytes() == (other / f"{name}.{ending}").read_bytes(), ending


@pytest.mark.parametrize("name", NAMES)
def test_they_are_what_their_names_say(drawn, name) -> None:
    for ending, start in (("pdf", b"%PDF"), ("png", b"\x89PNG"), ("svg", b"<?xml")):
        assert (drawn[0] / f"{name}.{ending}").read_bytes().startswith(start)


def test_the_authors_columns(drawn) -> None:
    figure_3 = pl.read_csv(drawn[0] / "figure-3.csv")
    assert figure_3.columns == ["dns", "tls", "ip_dns_tls", "origin_dns_tls"]
    assert figure_3.rows() == [(0, 0, 0, 0), (1, 2, 2, 1), (2, 2, 1, 1), (5, 6, 4, 3)]
    figure_4 = pl.read_csv(drawn[0] / "figure-4.csv")
    assert figure_4.columns == ["original_san_list", "updated_san_list", "mapped_san_additions"]
    assert figure_4.rows() == [(2, 4, 2)]


def test_they_say_on_how_much_they_rest(drawn) -> None:
    assert "n = 4 pages" in (drawn[0] / "figure-1.svg").read_text()
    assert "median 1.5" in (drawn[0] / "figure-3.svg").read_text()
    assert "n = 1 sites; 0.0 % unchanged" in (drawn[0] / "figure-4.svg").read_text()


def test_a_figure_without_data_is_named_and_not_drawn(build_study, tmp_path) -> None:
    with open_database(build_study({}, Parameters())) as connection:
        paths, missing = draw(connection, tmp_path)
    assert paths == []
    assert [reason.split(":")[0] for reason in missing] == list(NAMES)


def test_unknown_lookups_are_said_to_be_unknown(build_study, example_rows, tmp_path) -> None:
    """A study of recordings without DNS phases has no curve for lookups, not one at zero."""
    silent = [{**row, "dns_ms": None} for row in example_rows["requests"]]
    visits = [row for row in example_rows["visits"] if row["visit_id"] == "c"]
    study = build_study({**example_rows, "visits": visits, "requests": silent}, Parameters(colocation="ip"))
    with open_database(study) as connection:
        draw(connection, tmp_path)
    text = (tmp_path / "figure-3.svg").read_text()
    assert "measured DNS lookups: not known" in text
    assert "ideal ORIGIN by addresses" in text
