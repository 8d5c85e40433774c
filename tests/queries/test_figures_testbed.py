"""Figures and tables of a real crawl: all that a crawl can give are there, and hold what its pages load."""

import polars as pl
import pytest

from originset.data.database import open_database
from originset.queries.figures import draw

pytestmark = pytest.mark.browser


def test_all_that_a_crawl_gives(testbed_study, tmp_path) -> None:
    with open_database(testbed_study) as connection:
        found = draw(connection, tmp_path)
    drawn = {path.stem for path in found.paths if path.suffix == ".svg"}
    assert drawn == {"figure-1", "figure-3", "figure-4", "figure-5", "figure-9a"}
    for number in range(1, 10):
        assert pl.read_csv(tmp_path / f"table-{number}.csv").height > 0, number
    # tests/queries/test_catalogue_testbed.py has the pages.
    shares = dict(pl.read_csv(tmp_path / "figure-1.csv").rows())
    assert shares == pytest.approx({1: 400 / 12, 2: 400 / 12, 3: 300 / 12, 4: 100 / 12})
    assert "n = 10 sites; 30.0 % unchanged" in (tmp_path / "figure-4.svg").read_text()
    numbers = {row[:2]: row[4] for row in found.numbers.rows()}
    assert numbers["figure-3", "measured DNS lookups, median"] == 4
    assert numbers["figure-3", "ideal ORIGIN, median"] == 2
