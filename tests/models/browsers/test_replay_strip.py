"""What a recorder leaves out widens the range: it always contains what is said when nothing is left out."""

import os
from functools import cache
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from originset.analysis.captures.capture_tables import CaptureBatch
from originset.data.reference.registrable_domains import registrable_domain
from originset.data.schema.study_tables import TABLES, Stage
from tests.fixtures.browser_models import browser_tables

pytestmark = pytest.mark.slow

CAPTURES = sorted((Path(__file__).parents[2] / "fixtures" / "hars" / "originset").glob("*.har"))


@cache
def rich() -> dict[str, pl.DataFrame]:
    """Captures of the testbed as tables: everything that a rule needs is in them."""
    batch = CaptureBatch()
    for path in CAPTURES:
        batch.add(path.read_bytes(), path.name)
    found = batch.tables()
    hosts = found["requests"]["host"].drop_nulls().unique().sort()
    found["hosts"] = pl.DataFrame({"host": hosts, "registrable_domain": [registrable_domain(host) for host in hosts]})
    return {
        name: found.get(name, table.polars_schema.to_frame())
        .with_columns(
            pl.lit(None, kind).alias(column)
            for column, kind in table.polars_schema.items()
            if column not in found.get(name, table.polars_schema.to_frame()).columns
        )
        .select(table.polars_schema.names())
        for name, table in TABLES.items()
        if table.stage in (Stage.ROWS, Stage.RESOLVED)
    }


def counts(tables) -> pl.DataFrame:
    return browser_tables({name: frame.lazy() for name, frame in tables.items()})["browser_counts"]


@cache
def full() -> pl.DataFrame:
    return counts(rich())


def test_what_is_said_of_a_capture_does_not_rest_on_what_its_browser_did() -> None:
    """Else that the model and the servers agree (the soak) would be no test of the rules."""
    tables = browser_tables({name: frame.lazy() for name, frame in rich().items()})
    predicted = tables["browser_predictions"]
    assert predicted.height
    assert predicted["as_recorded"].to_list() == [0] * predicted.height


def stripped(tables, missing):
    """Without the names of some certificates, some hosts' answers, some requests' connections and credentials."""
    certificates, hosts, requests, modes, cookies = missing
    gone = pl.col("certificate_id").is_in(certificates)
    place = pl.int_range(pl.len())
    return {
        **tables,
        "certificates": tables["certificates"].with_columns(
            pl.when(~gone).then(pl.col("san_count")).alias("san_count")
        ),
        "certificate_names": tables["certificate_names"].filter(~gone),
        "dns_queries": tables["dns_queries"].filter(~pl.col("host").is_in(hosts)),
        "requests": tables["requests"].with_columns(
            pl.when(~place.is_in(requests)).then(pl.col("connection_id")).alias("connection_id"),
            pl.when(place.is_in(modes)).then(pl.lit("unknown")).otherwise("credentials").alias("credentials"),
        ),
        "visits": tables["visits"].with_columns(
            pl.when(not cookies).then(pl.col("third_party_cookies")).alias("third_party_cookies")
        ),
    }


def assert_contained(tables) -> None:
    ranges = counts(tables).join(full(), on="visit_id", suffix="_full")
    assert ranges.height == len(CAPTURES)
    for browser in ("chromium", "firefox"):
        low, high, value = (pl.col(f"{browser}_tls{part}") for part in ("_low", "_high", "_full"))
        assert ranges.select(((low <= value) & (value <= high)).all()).item(), ranges.select(
            pl.selectors.starts_with(browser)
        ).rows()


def test_nothing_is_missing_in_a_capture() -> None:
    """Chromium does the same each time; Firefox races, whatever is known."""
    assert full()["chromium_tls"].null_count() == 0
    assert full().select(pl.col("firefox_tls_high") - pl.col("firefox_tls_low")).max().item() <= 1


def test_each_kind_of_fact_alone() -> None:
    tables = rich()
    certificates = tables["certificates"]["certificate_id"].to_list()
    hosts = tables["hosts"]["host"].to_list()
    requests = list(range(tables["requests"].height))
    for missing in (
        (certificates, [], [], [], False),
        ([], hosts, [], [], False),
        ([], [], requests, [], False),
        ([], [], [], requests, False),
        ([], [], [], [], True),
        (certificates, hosts, requests, requests, True),
    ):
        assert_contained(stripped(tables, missing))


@pytest.mark.soak
@settings(
    max_examples=100 if os.environ.get("ORIGINSET_SOAK") == "full" else 5,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(st.data())
def test_facts_one_by_one(data) -> None:
    tables = rich()
    request = st.sets(st.integers(0, tables["requests"].height - 1), max_size=12)
    missing = (
        data.draw(st.sets(st.sampled_from(tables["certificates"]["certificate_id"].to_list()), max_size=4)),
        data.draw(st.sets(st.sampled_from(tables["hosts"]["host"].to_list()), max_size=4)),
        data.draw(request),
        data.draw(request),
        data.draw(st.booleans()),
    )
    assert_contained(stripped(tables, [list(one) if isinstance(one, set) else one for one in missing]))
