"""How much the IP-to-AS table matters: the results with the study's own and with a second one."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from originset.data.schema import MODEL_SENSITIVITY
from originset.models.fill import model_tables
from originset.models.parameters import Parameters
from originset.models.sensitivity import results_of


def second_table_rows(
    tables: Mapping[str, pl.LazyFrame],
    modelled: Mapping[str, pl.DataFrame],
    second: tuple[str, pl.DataFrame],
    parameters: Parameters,
) -> pl.DataFrame:
    """Two rows of ``model_sensitivity`` for the choice ``ip_to_as``.

    ``modelled``: the tables that ``parameters`` give. ``second``: the other table's name, and ``addresses`` by it.
    """
    name, addresses = second
    other = model_tables({**tables, "addresses": addresses.lazy()}, parameters, browsers=False)
    rows = [
        {"parameter": "ip_to_as", "value": value, "chosen": chosen, **results_of(tables, found)}
        for value, chosen, found in (("the study's own", True, modelled), (name, False, other))
    ]
    return pl.DataFrame(rows, schema=MODEL_SENSITIVITY.polars_schema)
