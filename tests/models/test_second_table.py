"""The example study's results with a second IP-to-AS table beside those with its own."""

import polars as pl

from originset.data.schema import TABLES
from originset.models.fill import model_tables
from originset.models.parameters import Parameters
from originset.models.second_table import second_table_rows


def test_the_same_and_another_table(make_tables, example_rows) -> None:
    """By a table that has all in one AS, page a needs one connection in place of three."""
    tables, parameters = make_tables(example_rows), Parameters()
    modelled = model_tables(tables, parameters)
    own = tables["addresses"].collect()
    one = own.with_columns(pl.lit(64500).cast(pl.Int64).alias("asn"), pl.lit([64500]).alias("asns"))
    rows = second_table_rows(tables, modelled, ("other.dat", one), parameters)
    assert rows.schema == TABLES["model_sensitivity"].polars_schema
    assert rows.select("parameter", "value", "chosen", "connections_saved").rows() == [
        ("ip_to_as", "the study's own", True, 5),
        ("ip_to_as", "other.dat", False, 7),
    ]
    same = second_table_rows(tables, modelled, ("same.dat", own), parameters).drop("value", "chosen")
    assert same.unique().height == 1
