"""What a recording lacks that would narrow the range of connections that a browser needs."""

from __future__ import annotations

import polars as pl

from originset.data.reference.browser_rules import BrowserRules
from originset.models.browsers.sharing_rules import MAYBE, joins

#: What :func:`lacking` counts, of each page.
LACKING = ("lacks_answers", "lacks_certificates", "lacks_credentials")


def lacking(opens: pl.DataFrame, found: pl.DataFrame, rules: BrowserRules) -> pl.DataFrame:
    """Of each page (visit_id) with a range how much of what might narrow it is not known.

    ``lacks_answers``: hosts whose DNS answers are not; ``lacks_certificates``: hosts the names of whose certificates
    are not; ``lacks_credentials``: requests of which it is not known whether they were sent with credentials.
    ``opens``: of :func:`originset.models.browsers.predictions.connections`; ``found``: the pairs that it rests on.
    """
    ranges = opens.filter((pl.col("low") < pl.col("high")) | pl.col("as_recorded"))
    recorded = joins(rules, recorded=True)
    doubtful = found.filter((recorded == MAYBE) | (joins(rules, recorded=False) < recorded)).join(
        ranges.select("group"), on="group", how="semi"
    )
    groups = pl.concat([ranges["group"], doubtful["group_held"]]).unique()
    unsent = opens.filter(pl.col("group").is_in(groups.implode()), pl.col("credentialed").is_null())
    counts = (
        _hosts(doubtful.filter(pl.col("answers").is_null(), ~pl.col("same_host")), "host", "lacks_answers"),
        _hosts(doubtful.filter(pl.col("covers_by_names") == MAYBE), "host_held", "lacks_certificates"),
        unsent.group_by("visit_id").agg(pl.col("requests").sum().alias("lacks_credentials")),
    )
    pages = opens.select("visit_id").unique()
    for counted in counts:
        pages = pages.join(counted, on="visit_id", how="left")
    return pages.with_columns(pl.col(LACKING).fill_null(0).cast(pl.Int64))


def _hosts(rows: pl.DataFrame, column: str, name: str) -> pl.DataFrame:
    return rows.group_by("visit_id").agg(pl.col(column).n_unique().alias(name))
