"""How sure a percentage is: bootstrap intervals that resample sites, since pages of one site are much alike."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb
import numpy as np
from duckdb.func import SPECIAL

_NAME = "saved_pct_interval"


def saved_pct_interval(
    measured: Sequence[float] | None,
    left: Sequence[float] | None,
    *,
    confidence: float = 0.95,
    replicates: int = 1000,
    seed: int = 8336,
) -> list[float] | None:
    """Lower and upper bound of the percentage saved, ``100 * (sum(measured) - sum(left)) / sum(measured)``.

    ``measured`` and ``left`` hold one total for each site, in the same order (any). Percentile bootstrap with sites as
    clusters (Efron and Tibshirani 1993, chapter 13): as many sites drawn again, with replacement, ``replicates`` times.
    The same sites give the same interval, whatever their order. None where fewer than two sites are there or nothing
    was measured, since nothing can be said of how sites differ then.
    """
    if measured is None or left is None or len(measured) < 2 or not any(measured):
        return None
    # Sites that have the same two totals are drawn together: few distinct pairs stand for any number of sites.
    pairs, counts = np.unique(np.array([measured, left]), axis=1, return_counts=True)
    sites = int(counts.sum())
    rng = np.random.default_rng(seed)
    kept = []
    for _ in range(replicates):
        before, after = pairs @ rng.multinomial(sites, counts / sites)
        if before:
            kept.append(100.0 * (before - after) / before)
    tail = (1.0 - confidence) / 2
    low, high = np.quantile(kept, [tail, 1.0 - tail])
    return [float(low), float(high)]


def register(connection: duckdb.DuckDBPyConnection) -> None:
    """Let the SQL of this connection call ``saved_pct_interval(list(measured), list(left))`` -> DOUBLE[2] or NULL."""
    known = "SELECT count(*) FROM duckdb_functions() WHERE function_name = ?"
    if connection.execute(known, [_NAME]).fetchall() == [(0,)]:
        connection.create_function(_NAME, _in_sql, ["DOUBLE[]", "DOUBLE[]"], "DOUBLE[]", null_handling=SPECIAL)

        connection.execute("""
            CREATE OR REPLACE TEMP MACRO median_interval(numbers) AS CASE WHEN len(list_filter(numbers, lambda n: n IS NOT NULL)) >= 6
            THEN [0.0, 0.0] END""")


def _in_sql(measured: list[float] | None, left: list[float] | None) -> list[float] | None:
    return saved_pct_interval(measured, left)
