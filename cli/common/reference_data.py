"""What is printed of the reference data in use."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import click
import polars as pl

from originset.cli.common.files import FILE
from originset.cli.common.output import note, write_rows
from originset.data.errors import UsageError
from originset.data.reference.snapshot import Reference, current_reference
from originset.data.studies.shards import scan
from originset.data.studies.study import Study

REFERENCE_FACTS = pl.Schema(dict.fromkeys(("what", "date", "source", "sha256"), pl.String()))

# Within such a time few addresses change their AS.
_CURRENT = timedelta(days=2 * 365)


class TableOfYear(click.ParamType[tuple[int | None, Path]]):
    """``[YEAR=]FILE``: an IP-to-AS table, and the year whose visits it is for."""

    name = "[YEAR=]FILE"

    def convert(
        self,
        value: str | tuple[int | None, Path],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> tuple[int | None, Path]:
        if isinstance(value, tuple):
            return value
        match = re.fullmatch(r"([12][0-9]{3})=(.+)", value, re.ASCII | re.DOTALL)
        file = match[2] if match else value
        return int(match[1]) if match else None, Path(FILE.convert(file, param, ctx))


def reference_with(tables: Sequence[tuple[int | None, Path]]) -> Reference:
    """The reference data in use, with these tables of the user's, each for a year or for all others.

    Raises:
        UsageError: two are for the same visits.
        InputError: a file is no table.
    """
    reference = current_reference()
    for number, (year, path) in enumerate(tables):
        if year in {other for other, _ in tables[:number]}:
            which = "without a year" if year is None else f"for {year}"
            raise UsageError(f"--ip-to-as {path}: there is a table {which} already", "write --ip-to-as YEAR=FILE")
        reference = reference.with_table(path, year)
    return reference


def warn_of_age(reference: Reference) -> None:
    """Print a remark on reference data that is more than a year old."""
    for what, when in reference.old(_today()).items():
        note(f"{what.replace('_', ' ')} is of {when}, more than a year old: run originset study reference update")


def warn_of_older_visits(study: Study, reference: Reference) -> None:
    """Remarks on stderr about visits of long before the IP-to-AS table, whose addresses others may have had then.

    And about tables of years of which there are no visits.
    """
    begun = scan(study, "visits").select(pl.col("started_at").dt.replace_time_zone(None).alias("begun"))
    years = set(begun.select(pl.col("begun").dt.year()).unique().collect()["begun"])
    for year in sorted(reference.of_years.keys() - years):
        note(f"no visit is of {year}: the IP-to-AS table of that year is not used")
    dated = reference.facts.get("ip_to_as", {}).get("date")
    if dated is None:  # a table of the user's
        return
    first_day = datetime.fromisoformat(dated) - _CURRENT
    without_table = ~pl.col("begun").dt.year().is_in(list(reference.of_years))
    older = begun.filter(pl.col("begun") < first_day, without_table).collect()["begun"]
    if older.len():
        first_and_last = sorted({str(year) for year in (older.dt.year().min(), older.dt.year().max())})
        note(
            f"{older.len()} visits are of {' to '.join(first_and_last)}, and the IP-to-AS table is of {dated}: their "
            "addresses may have been of other ASes then; give a table of that time with --ip-to-as YEAR=FILE, or fetch "
            "one with: originset study reference update --date DAY"
        )


def write_facts(facts: dict[str, dict[str, str]], output_format: str) -> None:
    """Write a row for each table of the reference data."""
    rows = [{"what": what, **entry} for what, entry in facts.items()]
    write_rows(pl.DataFrame(rows, schema=REFERENCE_FACTS), output_format)


def _today() -> date:
    return datetime.now(UTC).date()
