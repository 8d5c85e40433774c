"""Refused inputs to rows of ``rejects``."""

from __future__ import annotations

import polars as pl

from originset.data.errors import InputError
from originset.data.schema.study_tables import TABLES

#: What may be wrong with an input.
REASONS = (
    *(
        "empty",
        "not-json",
        "not-har",
        "not-netlog",
        "not-capture",
        "no-har",
        "no-rows",
        "truncated",
        "damaged",
        "unreadable",
    ),
    *("misnamed", "packed-twice", "too-deep", "too-large", "bomb", "version", "path-taken", "process-ended"),
)


def reject_rows(refused: list[InputError]) -> pl.DataFrame:
    """Rows of ``rejects``."""
    return pl.DataFrame(
        {
            "source": [error.source for error in refused],
            "reason": [error.reason for error in refused],
            "detail": [error.detail for error in refused],
            "byte_offset": [error.byte_offset for error in refused],
        },
        schema=TABLES["rejects"].polars_schema,
    )
