"""Every model that has a definition of its own against a plain implementation, on drawn studies, in any batches."""

from __future__ import annotations

import os
from collections.abc import Iterable

import polars as pl
import pytest
from drawn_studies import PARAMETERS, Row, studies
from example_study import tables_of
from hypothesis import given, settings
from hypothesis import strategies as st
from model_tables import model_tables
from naive_evidence import certificate_coverage, colocation_evidence, merged_counts
from naive_page_models import (
    colocated_hosts,
    documents,
    first_connections,
    host_connections,
    known_connections,
    page_counts,
    rows_of,
)
from naive_site_models import (
    Sites,
    certificate_additions,
    left_out_reasons,
    origin_sets,
    provider_changes,
    site_certificates,
)

from originset.models.parameters import Parameters
from originset.models.runner.runner import batch_rows

BATCHES = st.integers(1, 3)
# A fraction of what `make soak` draws, and always the same: what it draws anew can take minutes to be made small.
FULL = os.environ.get("ORIGINSET_SOAK") == "full"
DRAWN = settings(max_examples=60 if FULL else 4, derandomize=not FULL)
pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]


def assert_equal(table: pl.DataFrame, expected: Iterable[Row]) -> None:
    """The same rows in any order; columns that are not expected are not looked at."""
    rows = list(expected)
    if not rows:
        assert table.is_empty()
        return
    found = table.select(list(rows[0])).to_dicts()
    assert sorted(found, key=_order) == sorted(({name: row[name] for name in rows[0]} for row in rows), key=_order)


def _order(row: Row) -> list[tuple[bool, str]]:
    return [(value is None, str(value)) for value in row.values()]


def with_texts(found: dict[str, pl.DataFrame]) -> pl.DataFrame:
    """The first connections with what the pairs are that they name by number."""
    pairs = found["host_connections"]
    return (
        found["first_connections"]
        .join(found["pages"], on="page")
        .join(pairs.select("pair", "scheme", "host", "port"), on="pair")
        .join(pairs.select("server_ip", "server_key", addressed_pair="pair"), on="addressed_pair", how="left")
    )


@DRAWN
@given(rows=studies(), parameters=PARAMETERS)
def test_models_of_pages(rows: dict[str, list[Row]], parameters: Parameters) -> None:
    tables = tables_of(rows)
    names = (
        "pages", "host_connections", "first_connections", "site_documents", "colocated_hosts", "known_connections",
    )  # fmt: skip
    found = batch_rows(tables, [*names, "certificate_coverage"], parameters)
    naive = rows_of(tables)
    # What belongs to no visit is not looked at.
    visits = {visit["visit_id"] for visit in naive["visits"]}
    pairs = [pair for pair in host_connections(naive, parameters) if pair["visit_id"] in visits]
    assert_equal(found["host_connections"].join(found["pages"], on="page"), pairs)
    assert_equal(with_texts(found), first_connections(naive, pairs))
    assert_equal(found["site_documents"], documents(naive, pairs))
    assert_equal(found["colocated_hosts"], colocated_hosts(pairs, documents(naive, pairs)))
    assert_equal(found["known_connections"], known_connections(naive).values())
    assert set(found["certificate_coverage"].select("host", "certificate_id", "by_exact_name").rows()) == (
        certificate_coverage(naive)
    )


@DRAWN
@given(rows=studies(), parameters=PARAMETERS, batches=BATCHES)
def test_models_of_the_study(rows: dict[str, list[Row]], parameters: Parameters, batches: int) -> None:
    tables = tables_of(rows)
    found, naive = model_tables(tables, parameters, batches, browsers=False), rows_of(tables)
    merged = merged_counts(naive, parameters)
    assert_equal(found["page_counts"], (row | merged[row["visit_id"]] for row in page_counts(naive, parameters)))
    assert_load_times(found["page_load_times"], naive, parameters)
    assert_equal(found["colocation_evidence"], colocation_evidence(naive))
    sites = Sites(naive, parameters)
    assert_equal(found["site_certificates"], site_certificates(sites))
    assert_equal(found["certificate_additions"], certificate_additions(sites))
    assert_equal(found["origin_sets"], origin_sets(sites))
    assert_equal(found["provider_changes"], provider_changes(sites))


def assert_load_times(times: pl.DataFrame, naive: dict[str, list[Row]], parameters: Parameters) -> None:
    """Modelled times stand exactly where nothing speaks against them."""
    assert dict(times.select("visit_id", "left_out_reason").rows()) == left_out_reasons(naive, parameters)
    for row in times.iter_rows(named=True):
        modelled = [row["ip_ms"] is not None, row["origin_ms"] is not None]
        assert set(modelled) == {row["left_out_reason"] is None}
        assert (row["provider_ms"] is not None) == (modelled[0] and bool(parameters.provider_asns))
