"""Numbers of figures, by hand."""

import polars as pl
import pytest

from originset.queries.figures.authors import curves
from originset.queries.figures.page_numbers import figure_3


def test_lookups_are_held_against_lookups_at_best() -> None:
    """Connections count on other sites than lookups: a study has ideals for each, the authors one for both."""
    rows = pl.DataFrame(
        {
            "dns": [10, None], "tls": [None, 4], "ip_dns_tls": [None, 3], "origin_dns_tls": [None, 2],
            "ip_dns": [8, None], "origin_dns": [5, None],
        }
    )  # fmt: skip

    def changes(data: pl.DataFrame) -> dict[str, float | None]:
        numbers = figure_3(curves(data, tuple(data.columns)))
        return {number.what: number.value for number in numbers if " against " in number.what}

    assert changes(rows) == pytest.approx(
        {
            "ideal IP against measured DNS, at the median": -20.0,
            "ideal IP against measured TLS, at the median": -25.0,
            "ideal ORIGIN against measured DNS, at the median": -50.0,
            "ideal ORIGIN against measured TLS, at the median": -50.0,
        }
    )
    theirs = changes(rows.drop("ip_dns", "origin_dns"))
    assert theirs["ideal ORIGIN against measured DNS, at the median"] == pytest.approx(-80.0)
