"""What the changes that a page's owner is advised would save, and the page's requests before and after them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from originset.data.studies.shards import scan_visits
from originset.data.studies.study import Study
from originset.models.browsers.batch import INPUTS, read
from originset.models.browsers.causes.advised_changes import ADVISED_CHANGES
from originset.models.parameters import Parameters
from originset.models.plans.change_savings import ALL_CHANGES, MOST_TRIED_ALONE, ChangeSavings, change_savings
from originset.models.runner.runner import batch_rows
from originset.models.timeline.changed_timelines import TIMELINE_READS, PageTimelines, carriers
from originset.queries.report.change_sentences import PageChange, Preconnect
from originset.queries.report.connection_lanes import PageTimeline
from originset.queries.report.printable_text import printable_excerpt
from originset.queries.report.report_contents import Page

_CHANGE = ["visit_id", "change"]
_Key = tuple[str, int]  # a visit, and a number of its changes
_KEYS = ["visit_id", "connection_id", "carrier_id"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _SavingsOfPages:
    """What changes save, by visit and change, and frames with rows of drawn and announced things, by (visit,)."""

    changes: Mapping[_Key, dict[str, Any]]
    elsewhere: Mapping[_Key, dict[str, tuple[int, int]]]
    load_times: Mapping[_Key, tuple[float, float]]
    requests: Mapping[tuple[Any, ...], pl.DataFrame]
    carriers: Mapping[tuple[Any, ...], pl.DataFrame]
    best_carriers: Mapping[tuple[Any, ...], pl.DataFrame]
    preconnects: Mapping[tuple[Any, ...], pl.DataFrame]


def with_changes(study: Study, pages: Sequence[Page]) -> list[Page]:
    """The pages with what their owners' changes save, preconnects that would help, and their timelines."""
    parameters = Parameters.from_manifest(study.manifest())
    tables = scan_visits(study, [page.facts["visit_id"] for page in pages])
    rows = batch_rows(tables, (*INPUTS, *TIMELINE_READS), parameters)
    fixes = {page.facts["visit_id"]: _owner_fixes(page) for page in pages}
    savings = change_savings(read(rows), _advised_rows(pages, fixes))
    timelines = PageTimelines(rows, parameters)
    together = savings.instead.filter(change=ALL_CHANGES)
    savings_of_pages = _SavingsOfPages(
        changes={(row["visit_id"], row["change"]): row for row in savings.changes.filter("recorded").to_dicts()},
        elsewhere=_saved_elsewhere(savings),
        load_times=_load_times(timelines, savings),
        requests=_requests_of_panels(timelines, together).partition_by("visit_id", as_dict=True),
        carriers=carriers(together.select(_KEYS)).partition_by("visit_id", as_dict=True),
        best_carriers=timelines.best_carriers().partition_by("visit_id", as_dict=True),
        preconnects=timelines.preconnects(together).partition_by("visit_id", as_dict=True),
    )
    return [_page_with_changes(page, fixes[page.facts["visit_id"]], savings_of_pages) for page in pages]


def _page_with_changes(page: Page, fixes: Sequence[str], savings: _SavingsOfPages) -> Page:
    visit = page.facts["visit_id"]
    times = savings.load_times if page.facts["left_out_reason"] is None else {}
    page_changes = {
        number: _page_change(
            savings.changes[visit, number], times.get((visit, number)), savings.elsewhere.get((visit, number), {})
        )
        for number in (ALL_CHANGES, *range(len(fixes)))
        if (visit, number) in savings.changes
    }
    together = page_changes.get(ALL_CHANGES)
    timeline = None
    if (visit,) in savings.requests:
        timeline = PageTimeline(
            requests=savings.requests[visit,],
            carriers=_by_connection(savings.carriers.get((visit,))),
            best_carriers=_by_connection(savings.best_carriers.get((visit,))),
            saved=(0, 0) if together is None else together.saved,
            saved_ms=times.get((visit, ALL_CHANGES)),
        )
    return replace(
        page,
        changes=[
            replace(page_changes[number], fix=fix, connections=_connections_advised(page, fix))
            for number, fix in enumerate(fixes)
            if number in page_changes
        ],
        further_changes=max(0, len(fixes) - MOST_TRIED_ALONE),
        together=together and replace(together, connections=_connections_advised(page, *fixes)),
        preconnects=_preconnects(page, savings.preconnects.get((visit,))) if times else [],
        timeline=timeline,
    )


def _by_connection(rows: pl.DataFrame | None) -> dict[int, int]:
    return {} if rows is None else dict(rows.select("connection_id", "carrier_id").iter_rows())


def _is_for_owner(entry: Mapping[str, Any]) -> bool:
    """Whether something is advised about a connection that the site's owner can do."""
    return entry["fix"] is not None and entry["fixable_by"] == "site"


def _owner_fixes(page: Page) -> list[str]:
    """What the owner is advised, those for most connections first."""
    fixes = Counter(entry["fix"] for entry in page.connections if _is_for_owner(entry))
    return [fix for fix, _ in fixes.most_common()]


def _advised_rows(pages: Sequence[Page], fixes: dict[str, list[str]]) -> pl.DataFrame:
    names = [name for name in ADVISED_CHANGES.names() if name not in _CHANGE]
    rows = [
        {
            "visit_id": page.facts["visit_id"],
            "change": fixes[page.facts["visit_id"]].index(entry["fix"]),
            **{name: entry[name] for name in names},
        }
        for page in pages
        for entry in page.connections
        if _is_for_owner(entry)
    ]
    return pl.DataFrame(rows, schema=ADVISED_CHANGES)


def _saved_elsewhere(savings: ChangeSavings) -> dict[_Key, dict[str, tuple[int, int]]]:
    """By visit and change the least and the most connections saved in browsers that were not recorded."""
    found: dict[_Key, dict[str, tuple[int, int]]] = {}
    for row in savings.changes.filter(~pl.col("recorded")).to_dicts():
        saved = (row["connections_low"], row["connections_high"])
        found.setdefault((row["visit_id"], row["change"]), {})[row["browser"]] = saved
    return found


def _load_times(timelines: PageTimelines, savings: ChangeSavings) -> dict[_Key, tuple[float, float]]:
    """By visit and change how many ms earlier the load event is, at least and at most."""
    measured = timelines.load_events(timelines.loaded, "measured")
    found: dict[_Key, list[float]] = {}
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


def _requests_of_panels(timelines: PageTimelines, together: pl.DataFrame) -> pl.DataFrame:
    after = timelines.with_changes(timelines.carried_by(together.select(_KEYS)), "_after")
    best = timelines.with_changes(timelines.at_best(), "_best")
    return timelines.requests().hstack(after).hstack(best)


def _page_change(
    row: Mapping[str, Any], load_ms: tuple[float, float] | None, elsewhere: Mapping[str, tuple[int, int]]
) -> PageChange:
    low, high = row["handshake_bytes_low"], row["handshake_bytes_high"]
    return PageChange(
        saved=(row["connections_low"], row["connections_high"]),
        lookups=row["lookups"],
        handshake_bytes=None if low is None or high is None else (low, high),
        load_ms=load_ms,
        elsewhere=elsewhere,
    )


def _connections_advised(page: Page, *fixes: str) -> list[int]:
    return [entry["number"] for entry in page.connections if entry["fix"] in fixes and _is_for_owner(entry)]


def _preconnects(page: Page, rows: pl.DataFrame | None) -> list[Preconnect]:
    numbers = {entry["connection_id"]: entry["number"] for entry in page.connections}
    return [
        Preconnect(
            host=printable_excerpt(row["host"]),
            number=numbers.get(row["connection_id"]),
            **{name: row[name] for name in ("opened_ms", "announced_ms", "handshake_ms", "saved_ms")},
        )
        for row in ([] if rows is None else rows.to_dicts())
    ]
