"""What is printed of the reference data in use."""

from __future__ import annotations

from datetime import UTC, date, datetime

import polars as pl

from originset.cli.common.output import note, write_rows
from originset.data.reference.snapshot import Reference


def warn_of_age(reference: Reference) -> None:
    """Print a remark on reference data that is more than a year old."""
    for what, when in reference.old(_today()).items():
        note(f"{what.replace('_', ' ')} is of {when}, more than a year old: run originset study reference update")


def write_facts(facts: dict[str, dict[str, str]], output_format: str) -> None:
    """Write a row for each table of the reference data."""
    rows = [{"what": what, **entry} for what, entry in facts.items()]
    schema = dict.fromkeys(("what", "date", "source", "sha256"), pl.String)
    write_rows(pl.DataFrame(rows, schema=schema), output_format)


def _today() -> date:
    return datetime.now(UTC).date()
