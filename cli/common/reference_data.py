"""What is printed of the reference data in use."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import polars as pl

from originset.cli.common.output import note, write_rows
from originset.data.reference.snapshot import Reference
from originset.data.studies.shards import scan
from originset.data.studies.study import Study

# Within such a time few addresses change their AS.
_CURRENT = timedelta(days=2 * 365)


def warn_of_age(reference: Reference) -> None:
    """Print a remark on reference data that is more than a year old."""
    for what, when in reference.old(_today()).items():
        note(f"{what.replace('_', ' ')} is of {when}, more than a year old: run originset study reference update")


def warn_of_older_visits(study: Study, reference: Reference) -> None:
    """A remark on stderr about visits of long before the IP-to-AS table, whose addresses others may have had then."""
    dated = reference.facts.get("ip_to_as", {}).get("date")
    if dated is None:  # a table of the user's
        return
    first_day = datetime.fromisoformat(dated) - _CURRENT
    begun = scan(study, "visits").select(pl.col("started_at").dt.replace_time_zone(None).alias("begun"))
    older = begun.filter(pl.col("begun") < first_day).collect()["begun"]
    if older.len():
        years = sorted({str(year) for year in (older.dt.year().min(), older.dt.year().max())})
        note(
            f"{older.len()} visits are of {' to '.join(years)}, and the IP-to-AS table is of {dated}: their addresses "
            "may have been of other ASes then; give a table of that time with --ip-to-as, or fetch one with: "
            "originset study reference update --date DAY"
        )


def write_facts(facts: dict[str, dict[str, str]], output_format: str) -> None:
    """Write a row for each table of the reference data."""
    rows = [{"what": what, **entry} for what, entry in facts.items()]
    schema = dict.fromkeys(("what", "date", "source", "sha256"), pl.String)
    write_rows(pl.DataFrame(rows, schema=schema), output_format)


def _today() -> date:
    return datetime.now(UTC).date()
