"""The confidence intervals of the schema's macros for numbers that are not in a database: computed by DuckDB too."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from originset.data.schema.sql_macros import macro_statements


def saved_pct_interval(measured: Sequence[float], remaining: Sequence[float]) -> list[float] | None:
    """Bounds of the 95 % confidence interval of the percentage saved: the macro of this name in data/schema/macros.

    ``measured`` and ``remaining`` have one total for each site, in the same order. None if the macro gives NULL.
    """
    with duckdb.connect() as connection:
        for statement in macro_statements():
            connection.execute(statement)
        call = "SELECT saved_pct_interval($1::DOUBLE[], $2::DOUBLE[])"
        rows = connection.execute(call, [list(measured), list(remaining)]).fetchall()
    bounds: list[float] | None = rows[0][0]
    return bounds
