"""The schema's intervals for numbers that are no rows of a database: DuckDB works them out, as it does in queries."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from originset.data.schema.sql_macros import macro_statements


def saved_pct_interval(measured: Sequence[float], remaining: Sequence[float]) -> list[float] | None:
    """Bounds of the 95 % interval of the percentage saved: the macro of this name in data/schema/macros.

    ``measured`` and ``remaining`` have one total a site, in the same order. None where nothing can be said.
    """
    with duckdb.connect() as connection:
        for statement in macro_statements():
            connection.execute(statement)
        call = "SELECT saved_pct_interval($1::DOUBLE[], $2::DOUBLE[])"
        rows = connection.execute(call, [list(measured), list(remaining)]).fetchall()
    bounds: list[float] | None = rows[0][0]
    return bounds
