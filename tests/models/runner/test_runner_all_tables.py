"""All model tables of one small study, worked out by hand, and what must not change them."""

import random

import polars as pl
import pytest
from model_tables import model_table, model_tables

from originset.data.schema.study_tables import TABLES, Stage
from originset.models.parameters import Parameters

pytestmark = pytest.mark.slow


def test_every_modelled_table_with_its_columns(example_tables) -> None:
    modelled = model_tables(example_tables, Parameters())
    assert {name: frame.schema for name, frame in modelled.items()} == {
        name: table.polars_schema
        for name, table in TABLES.items()
        if table.stage is Stage.MODELLED and table.view is None
    }
    for name, frame in modelled.items():
        assert frame.select(TABLES[name].key).is_duplicated().sum() == 0, name


def test_an_empty_study(make_tables) -> None:
    assert all(frame.is_empty() for frame in model_tables(make_tables({}), Parameters()).values())


def test_row_order_does_not_matter(make_tables, example_rows) -> None:
    expected = model_tables(make_tables(example_rows), Parameters())
    shuffled = {name: random.Random(7).sample(rows, len(rows)) for name, rows in example_rows.items()}  # noqa: S311 - an order, no secret
    for name, frame in model_tables(make_tables(shuffled), Parameters()).items():
        assert frame.equals(expected[name]), name


def test_renaming_hosts_renames_results(make_tables, example_rows) -> None:
    """Every name gets another top-level domain, which reverses no order here."""

    def renamed(value):
        if isinstance(value, str) and value.endswith((".net", ".com", ".test")):
            return value + ".zz"
        return value

    other = {name: [{k: renamed(v) for k, v in row.items()} for row in rows] for name, rows in example_rows.items()}
    expected = model_tables(make_tables(example_rows), Parameters())
    for name, frame in model_tables(make_tables(other), Parameters()).items():
        text = pl.selectors.string().str.replace_all(".zz", "", literal=True)
        assert frame.with_columns(text).equals(expected[name]), name


def test_colocation_by_address_keeps_to_the_documents_address(example_tables) -> None:
    sets = model_table("origin_sets", example_tables, Parameters(colocation="ip"))
    assert sets.filter(pl.col("site") == "example.com")["host"].to_list() == ["img.other.net", "www.example.com"]
