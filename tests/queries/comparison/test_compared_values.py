"""Comparisons by hand: verdicts, totals, intervals, what is left out."""

import polars as pl
import pytest

from originset.data.errors import UsageError
from originset.data.studies.database import open_database
from originset.queries.comparison.compared_values import METRICS, compare_pages, compare_totals, page_values

_SCHEMA = {"site": pl.String, "page": pl.String, "group": pl.String, "metric": pl.String, "visits": pl.UInt32}
_SCHEMA |= {"mean": pl.Float64, "low": pl.Float64, "high": pl.Float64}


def values(*rows: tuple[str, float, float], visits: int = 2) -> pl.DataFrame:
    """Rows (site, lowest, highest) of ``measured_tls``, one page a site."""
    full = [(site, f"https://{site}/", None, "measured_tls", visits, (a + b) / 2, a, b) for site, a, b in rows]
    return pl.DataFrame(full, schema=_SCHEMA, orient="row")


def test_a_page_is_better_only_where_all_its_visits_are() -> None:
    before = values(("a", 10, 12), ("b", 10, 12), ("c", 5, 5), ("d", 1, 2), ("gone", 9, 9))
    after = values(("a", 7, 9), ("b", 9, 10), ("c", 5, 5), ("d", 3, 3), ("new", 9, 9))
    pages = compare_pages(before, after)
    assert pages.select("site", "verdict").rows() == [("a", "better"), ("b", "unclear"), ("c", "same"), ("d", "worse")]
    assert pages.filter(site="a").select("before", "after", "change").row(0) == (11.0, 8.0, -3.0)
    (total,) = compare_totals(pages).iter_rows(named=True)
    assert (total["pages"], total["before"], total["after"]) == (4, 11 + 11 + 5 + 1.5, 8 + 9.5 + 5 + 3)
    assert total["change_pct"] == pytest.approx(100 * -3 / 28.5)
    assert total["change_pct_low"] < total["change_pct"] < total["change_pct_high"]
    assert [total[word] for word in ("better", "worse", "same", "unclear")] == [1, 1, 1, 1]


@pytest.mark.parametrize(("visits", "verdict"), [((1, 1), "unclear"), ((2, 1), "unclear"), ((2, 2), "better")])
def test_one_load_is_no_better_than_another(visits: tuple[int, int], verdict: str) -> None:
    before, after = values(("a", 57, 57), visits=visits[0]), values(("a", 55, 55), visits=visits[1])
    assert compare_pages(before, after)["verdict"].to_list() == [verdict]
    assert compare_pages(before, before)["verdict"].to_list() == ["same"]


def test_one_site_says_nothing_of_how_sites_differ() -> None:
    (total,) = compare_totals(compare_pages(values(("a", 4, 4)), values(("a", 2, 2)))).iter_rows(named=True)
    assert (total["change_pct"], total["change_pct_low"], total["change_pct_high"]) == (-50.0, None, None)


def test_single_pages_are_compared_whatever_they_are_called() -> None:
    pages = compare_pages(values(("old.test", 4, 4)), values(("new.test", 2, 2)))
    assert pages.select("site", "before", "after").row(0) == ("new.test", 4.0, 2.0)
    with pytest.raises(UsageError, match="no page in common"):
        compare_pages(values(("a", 4, 4), ("b", 1, 1)), values(("c", 2, 2)))


def test_nothing_before_is_no_percentage() -> None:
    pages = compare_pages(values(("a", 0, 0)), values(("a", 0, 0)))
    assert pages.select("change", "change_pct", "verdict").row(0) == (0.0, 0.0, "same")
    assert compare_totals(pages)["change_pct"].to_list() == [None]


def test_the_vantages_of_the_example(study) -> None:
    """``here`` saw six TLS connections, one a duplicate, and five lookups; ``there`` two connections."""
    with open_database(study) as connection:
        found = page_values(connection, "vantage")
    sides = [found.filter(group=name) for name in ("here", "there")]
    assert set(found["group"].unique()) == {"here", "there", None}
    pages = compare_pages(*sides)
    assert pages["metric"].to_list() == [metric for metric in METRICS if metric in pages["metric"].to_list()]
    tls = pages.filter(metric="measured_tls").row(0, named=True)
    # One visit each: how much of it is chance is not known.
    assert (tls["site"], tls["before"], tls["after"], tls["verdict"]) == ("example.com", 6.0, 2.0, "unclear")
    # The load time of the other vantage is not known.
    assert pages.filter(metric="load_ms").is_empty()
