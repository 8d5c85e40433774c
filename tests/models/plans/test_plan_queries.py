"""The queries of plans are described: what their rows are, each parameter, each column that no table describes."""

import re
from importlib import resources

import polars as pl
import pytest

from originset.data.schema.sql_header import read_header
from originset.data.schema.study_tables import TABLES
from originset.models.plans.exclusions import Exclusions
from originset.models.plans.inventory.certificate_inventory import INVENTORY, PAIRS
from originset.models.plans.plan_queries import plan_rows

_SEEN = dict.fromkeys(("scheme", "host", "protocol", "server_ip"), pl.String) | {"asn": pl.Int64()}
_NUMBERED = INVENTORY.to_frame().with_row_index("row").with_columns(name_set=pl.lit(""))
_INPUTS = {
    "inventory_names": {
        "inventory": _NUMBERED.with_columns(unit=pl.lit(0)),
        "pairs": PAIRS.to_frame(),
        "exclusions": Exclusions().rows(),
    },
    "inventory_site_groups": {"inventory": _NUMBERED, "pairs": PAIRS.to_frame()},
    "server_hosts": {
        "origin_sets": TABLES["origin_sets"].polars_schema.to_frame(),
        "requests": pl.Schema(_SEEN).to_frame(),
    },
}
_PARAMETERS = {
    "inventory_names": {"additions": 1, "names": 1, "name_sets": 1},
    "inventory_site_groups": {},
    "server_hosts": {"excluded": ["a.test"]},
}


def test_all_of_them_are_here() -> None:
    folder = resources.files("originset.models") / "plans"
    assert {file.name for file in folder.iterdir() if file.name.endswith(".sql")} == {f"{name}.sql" for name in _INPUTS}


@pytest.mark.parametrize("name", _INPUTS)
def test_its_header_says_what_it_takes_and_gives(name: str) -> None:
    sql = (resources.files("originset.models") / "plans" / f"{name}.sql").read_text()
    header = read_header(sql)
    assert set(header.parameters) == set(_PARAMETERS[name]) == set(re.findall(r"\$(\w+)", sql))
    rows = plan_rows(name, {table: frame.lazy() for table, frame in _INPUTS[name].items()}, _PARAMETERS[name])
    assert rows.is_empty()
    of_tables = TABLES["origin_sets"].polars_schema.names() if name == "server_hosts" else []
    assert set(header.columns) <= set(rows.columns) <= {*header.columns, *of_tables}
