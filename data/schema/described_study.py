"""Columns of rows that describe a study: its state, its tables and their columns."""

from __future__ import annotations

import polars as pl

#: Visits of a crawl in one state, or files of the study.
STATUS = pl.Schema(
    {
        "what": pl.String(),
        "vantage": pl.String(),
        "round": pl.Int64(),
        "browser": pl.String(),
        "state": pl.String(),
        "reason": pl.String(),
        "count": pl.Int64(),
        "latest": pl.Datetime("us", "UTC"),
    }
)

STUDY_TABLES = pl.Schema(dict.fromkeys(("name", "kind", "description"), pl.String()))
STUDY_COLUMNS = pl.Schema(
    {
        "name": pl.String(),
        "type": pl.String(),
        "unit": pl.String(),
        "key": pl.Boolean(),
        "description": pl.String(),
    }
)
