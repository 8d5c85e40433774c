"""What the changes that a page's owner is advised would save, and the page's requests before and after them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from originset.data.schema.study_tables import TABLES, Stage
from originset.data.studies.shards import scan
from originset.data.studies.study import Study
from originset.models.browsers.batch import INPUTS, read
from originset.models.browsers.causes.advised_changes import ADVISED_CHANGES
from originset.models.parameters import Parameters
from originset.models.plans.change_savings import ALL_CHANGES, ChangeSavings, change_savings
from originset.models.runner.runner import batch_rows
from originset.models.timeline.changed_timelines import TIMELINE_READS, PageTimelines, carriers
from originset.queries.report.change_sentences import PageChange, Preconnect
from originset.queries.report.connection_lanes import PageTimeline
from originset.queries.report.report_contents import Page
from originset.queries.report.shown_text import printable_excerpt

_CHANGE = ["visit_id", "change"]
_KEYS = ["visit_id", "connection_id", "carrier_id"]


def with_changes(study: Study, pages: Sequence[Page]) -> list[Page]:
    """The pages with what their owners' changes save, preconnects that would help, and their timelines."""
    visits = [page.facts["visit_id"] for page in pages]
    parameters = Parameters.from_manifest(study.manifest())
    rows = batch_rows(_tables_of(study, visits), (*INPUTS, *TIMELINE_READS), parameters)
    fixes = {page.facts["visit_id"]: _owner_fixes(page) for page in pages}
    savings = change_savings(read(rows), _advised(pages, fixes))
    timelines = PageTimelines(rows, parameters)
    load_times = _load_times(timelines, savings)
    together = savings.instead.filter(change=ALL_CHANGES)
    hints = timelines.preconnects(together).partition_by("visit_id", as_dict=True)
    drawn = _drawn(timelines, together).partition_by("visit_id", as_dict=True)
    carried = carriers(together.select(_KEYS)).partition_by("visit_id", as_dict=True)
    best = timelines.best_carriers().partition_by("visit_id", as_dict=True)
    by_change = {(row["visit_id"], row["change"]): row for row in savings.changes.filter("recorded").to_dicts()}
    elsewhere: dict[tuple[str, int], dict[str, tuple[int, int]]] = {}
    for row in savings.changes.filter(~pl.col("recorded")).to_dicts():
        saved = (row["connections_low"], row["connections_high"])
        elsewhere.setdefault((row["visit_id"], row["change"]), {})[row["browser"]] = saved
    found = []
    for page in pages:
        key = (page.facts["visit_id"],)
        times = load_times if page.facts["left_out_reason"] is None else {}
        changes = [
            replace(
                _change(by_change[*key, number], times.get((*key, number))),
                fix=fix,
                connections=_numbers(page, fix),
                elsewhere=elsewhere.get((*key, number), {}),
            )
            for number, fix in enumerate(fixes[key[0]])
            if (*key, number) in by_change
        ]
        whole = by_change.get((*key, ALL_CHANGES))
        together_of = None
        if whole is not None:
            together_of = replace(
                _change(whole, times.get((*key, ALL_CHANGES))), elsewhere=elsewhere.get((*key, ALL_CHANGES), {})
            )
        timeline = None
        if key in drawn:
            timeline = PageTimeline(
                requests=drawn[key],
                carriers=_by_connection(carried.get(key)),
                best_carriers=_by_connection(best.get(key)),
                saved=(0, 0) if whole is None else (whole["connections_low"], whole["connections_high"]),
                saved_ms=times.get((*key, ALL_CHANGES)),
            )
        found.append(
            replace(
                page,
                changes=changes,
                together=together_of,
                preconnects=_hints(page, hints.get(key)) if times else [],
                timeline=timeline,
            )
        )
    return found


def _by_connection(rows: pl.DataFrame | None) -> dict[int, int]:
    return {} if rows is None else dict(rows.select("connection_id", "carrier_id").iter_rows())


def _tables_of(study: Study, visits: list[str]) -> dict[str, pl.LazyFrame]:
    return {
        name: scan(study, name).filter(pl.col("visit_id").is_in(visits))
        if "visit_id" in table.polars_schema
        else scan(study, name)
        for name, table in TABLES.items()
        if table.stage in (Stage.ROWS, Stage.RESOLVED)
    }


def _owner_fixes(page: Page) -> list[str]:
    """What the owner is advised, those for most connections first."""
    fixes = Counter(
        entry["fix"] for entry in page.connections if entry["fix"] is not None and entry["fixable_by"] == "site"
    )
    return [fix for fix, _ in fixes.most_common()]


def _advised(pages: Sequence[Page], fixes: dict[str, list[str]]) -> pl.DataFrame:
    names = [name for name in ADVISED_CHANGES.names() if name not in _CHANGE]
    rows = [
        {
            "visit_id": page.facts["visit_id"],
            "change": fixes[page.facts["visit_id"]].index(entry["fix"]),
            **{name: entry[name] for name in names},
        }
        for page in pages
        for entry in page.connections
        if entry["fix"] is not None and entry["fixable_by"] == "site"
    ]
    return pl.DataFrame(rows, schema=ADVISED_CHANGES)


def _load_times(timelines: PageTimelines, savings: ChangeSavings) -> dict[tuple[str, int], tuple[float, float]]:
    """By visit and change how many ms earlier the load event is, at least and at most."""
    measured = timelines.load_events(timelines.loaded, "measured")
    found: dict[tuple[str, int], list[float]] = {}
    for change in savings.changes["change"].unique():
        of_change = savings.instead.filter(change=change)
        visits = savings.changes.filter(change=change).select("visit_id")
        for instead in (of_change.filter("certain"), of_change):
            then = timelines.load_events(timelines.carried_by(instead.select(_KEYS)).loaded, "then")
            for visit, saved in (
                measured.join(then, on="visit_id")
                .join(visits, on="visit_id", how="semi")
                .select("visit_id", pl.col("measured") - pl.col("then"))
                .drop_nulls()
                .iter_rows()
            ):
                found.setdefault((visit, change), []).append(saved)
    return {key: (min(both), max(both)) for key, both in found.items()}


def _drawn(timelines: PageTimelines, together: pl.DataFrame) -> pl.DataFrame:
    after = timelines.with_changes(timelines.carried_by(together.select(_KEYS)), "_after")
    best = timelines.with_changes(timelines.at_best(), "_best")
    return timelines.requests().hstack(after).hstack(best)


def _change(row: dict[str, Any], load_ms: tuple[float, float] | None) -> PageChange:
    low, high = row["handshake_bytes_low"], row["handshake_bytes_high"]
    return PageChange(
        saved=(row["connections_low"], row["connections_high"]),
        lookups=row["lookups"],
        handshake_bytes=None if low is None or high is None else (low, high),
        load_ms=load_ms,
    )


def _numbers(page: Page, fix: str) -> list[int]:
    return [entry["number"] for entry in page.connections if entry["fix"] == fix]


def _hints(page: Page, rows: pl.DataFrame | None) -> list[Preconnect]:
    numbers = {entry["connection_id"]: entry["number"] for entry in page.connections}
    return [
        Preconnect(
            host=printable_excerpt(row["host"]),
            number=numbers.get(row["connection_id"]),
            **{name: row[name] for name in ("opened_ms", "announced_ms", "handshake_ms", "saved_ms")},
        )
        for row in ([] if rows is None else rows.to_dicts())
    ]
