"""What each choice changes in the example study, and that nothing else does."""

import polars as pl
import pytest

from originset.data.schema import TABLES
from originset.models.fill import model_tables
from originset.models.parameters import Parameters
from originset.models.sensitivity import model_sensitivity


@pytest.fixture(scope="module")
def rows(make_tables, example_rows) -> pl.DataFrame:
    parameters, example_tables = Parameters(), make_tables(example_rows)
    return model_sensitivity(example_tables, model_tables(example_tables, parameters, browsers=False), parameters)


def test_every_choice_once_with_one_chosen(rows) -> None:
    assert rows.schema == TABLES["model_sensitivity"].polars_schema
    assert rows.select("parameter", "value").is_duplicated().sum() == 0
    assert rows.group_by("parameter").agg(pl.col("chosen").sum())["chosen"].unique().to_list() == [1]
    choices = set(Parameters().as_dict()) - {"provider_asns"}
    assert set(rows["parameter"]) == choices
    # What is chosen is the same whichever parameter it is told of.
    assert rows.filter("chosen").drop("parameter", "value").unique().height == 1


def test_what_changes(rows) -> None:
    found = {(row.pop("parameter"), row.pop("value")): row for row in rows.iter_rows(named=True)}
    chosen = found["colocation", "asn"]
    # Pages a, b, c and f: 6, 2, 2 and 0 connections against 3, 1, 1 and 0 ASes, or 4, 2, 1 and 0 addresses.
    assert (chosen["pages"], chosen["median_measured_tls"], chosen["median_ideal_origin"]) == (4, 2.0, 1.0)
    assert chosen["connections_saved"] == 5
    by_address = found["colocation", "ip"]
    assert (by_address["median_ideal_origin"], by_address["connections_saved"]) == (1.5, 3)
    # Without wildcards static and assets.example.com and www.example.com itself are missing too.
    assert [found[each]["additions"] for each in (("wildcards", "cover"), ("wildcards", "ignored"))] == [2, 5]
    assert found["coverage", "ignored"]["additions"] == 0
    # Page a deploys 4 of its 6 connections, the others 2 (one of them refused a host), 1 and 0 of 2, 2 and 0.
    assert chosen["connections_saved_deployable"] == 3
    assert found["coverage", "ignored"]["sites_unchanged_pct"] == 100.0
    for (parameter, _), row in found.items():
        if parameter in {"predecessor", "parallel_dns", "blocked_time", "ssl"}:
            assert (row["connections_saved"], row["additions"]) == (5, 2)
