"""Figures and tables of a real crawl: all that a crawl can give are there, and hold what its pages load."""

from pathlib import Path

import polars as pl
import pytest

from originset.data.studies.database import open_database
from originset.queries.figures.all_figures import draw

pytestmark = pytest.mark.browser


def test_all_that_a_crawl_gives(testbed_study, tmp_path) -> None:
    with open_database(testbed_study) as connection:
        found = draw(connection, tmp_path)
    here, there = (tmp_path / f"chromium-headless-shell-at-{vantage}" for vantage in ("here", "there"))
    drawn = {path.relative_to(tmp_path) for path in found.paths if path.suffix == ".svg"}
    # A certificate is its site's, wherever it was seen from.
    assert {path.name for path in drawn if path.parent == Path()} == {"figure-4.svg", "figure-5.svg"}
    for folder in (here, there):
        assert {path.name for path in drawn if path.parent.name == folder.name} == {
            "figure-1.svg", "figure-3.svg", "figure-9a.svg",
        }  # fmt: skip
    for number in range(1, 10):
        assert pl.read_csv(tmp_path / f"table-{number}.csv").height > 0, number
    # tests/queries/test_catalogue_testbed.py has the pages.
    assert dict(pl.read_csv(here / "figure-1.csv").rows()) == pytest.approx({1: 40, 2: 30, 3: 20, 4: 10})
    assert dict(pl.read_csv(there / "figure-1.csv").rows()) == pytest.approx({2: 50, 3: 50})
    assert "n = 10 sites; 30.0 % unchanged" in (tmp_path / "figure-4.svg").read_text()
    numbers = {(row["figure"], row["vantage"], row["number"]): row["ours"] for row in found.numbers.rows(named=True)}
    assert numbers["figure-3", "here", "ideal ORIGIN, median"] == 2
    assert numbers["figure-3", "there", "ideal ORIGIN, median"] == 2.5
