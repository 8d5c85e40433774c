"""Pairs of hosts drawn from a study's evidence that one server can answer for both, and how often that was so."""

from __future__ import annotations

from math import sqrt

import polars as pl

from originset.data.errors import UsageError
from originset.data.studies.database import open_database
from originset.data.studies.study import Study

# By a digest, so that the same seed draws the same pairs of the same study on any machine.
_DRAWN = """
    SELECT e.kind, e.level, coalesce(a.edge, b.edge) AS provider, e.host_a, e.host_b
    FROM colocation_evidence AS e
    LEFT JOIN hosts AS a ON a.host = e.host_a
    LEFT JOIN hosts AS b ON b.host = e.host_b
    QUALIFY row_number() OVER (
        PARTITION BY e.kind, provider ORDER BY md5(concat_ws(' ', $1, e.host_a, e.host_b)), e.host_a, e.host_b
    ) <= $2
    ORDER BY e.level DESC, e.kind, provider, e.host_a, e.host_b"""

DRAWN_PAIRS = pl.Schema(
    {
        "kind": pl.String(),
        "level": pl.Int8(),
        "provider": pl.String(),
        "host_a": pl.String(),
        "host_b": pl.String(),
    }
)

# The quantile of the normal distribution for a 95 % interval.
_QUANTILE = 1.959964


def drawn_pairs(study: Study, most: int, seed: int) -> pl.DataFrame:
    """At most ``most`` pairs of each kind of evidence and provider, as DRAWN_PAIRS.

    Raises:
        StudyError: there is no study, or no database yet.
        UsageError: the study has no evidence.
    """
    with open_database(study) as connection:
        found = pl.DataFrame(connection.sql(_DRAWN, params=[str(seed), most]).to_arrow_table())
    if found.is_empty():
        raise UsageError(f"study {study.root} has no evidence about pairs of hosts", "analyze pages with several hosts")
    return found


def precision(answered: pl.DataFrame) -> pl.DataFrame:
    """Of each kind (kind, result) asked, same, and the share in percent with its 95 % interval (Wilson 1927).

    Pairs that could not be compared are not among those asked.
    """
    counts = (
        answered.filter(pl.col("result") != "not compared")
        .group_by("kind", maintain_order=True)
        .agg(pl.len().alias("asked"), (pl.col("result") == "same").sum().alias("same"))
    )
    rows = [(kind, asked, same, *_wilson(same, asked)) for kind, asked, same in counts.iter_rows()]
    return pl.DataFrame(rows, ["kind", "asked", "same", "pct", "low_pct", "high_pct"], orient="row")


def _wilson(successes: int, trials: int) -> tuple[float, float, float]:
    share, square = successes / trials, _QUANTILE**2
    middle = (share + square / (2 * trials)) / (1 + square / trials)
    reach = _QUANTILE / (1 + square / trials) * sqrt(share * (1 - share) / trials + square / (4 * trials**2))
    return 100 * share, 100 * max(0.0, middle - reach), 100 * min(1.0, middle + reach)
