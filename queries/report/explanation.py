"""What ``explain`` says, as structs: JSON for programs, whose schema docs/json-schema.json publishes.

Fields may be added to a version, and are never removed or given another meaning. None is "not known".
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from originset.queries.report.explained_changes import (
    LoadTimeErrors,
    OwnerChange,
    PreconnectHint,
    StateOfPage,
    load_time_errors,
    owner_changes,
    owner_changes_together,
    preconnects,
    states_drawn,
)
from originset.queries.report.report_advice import Advice
from originset.queries.report.report_contents import Contents, Page
from originset.queries.report.rules_sentences import BrowserNeeds, recorders_needs
from originset.queries.report.undecided_sharing import without_advice, without_counts, without_findings

VERSION = 1


class Rung(msgspec.Struct, frozen=True, kw_only=True):
    """A step of the ladder: how many connections or lookups there would be.

    ``comparison_only``: no step between its neighbours. ``saved_pct``: percent of measured; the bounds are of its 95 %
    confidence interval over sites.
    """

    counts: Literal["TLS connections", "DNS lookups"]
    rung: str
    total: float
    comparison_only: bool
    vantage: str | None = None
    browser: str | None = None
    saved_pct: float | None = None
    saved_pct_low: float | None = None
    saved_pct_high: float | None = None


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A change by which connections would be shared.

    ``by``: who can make it, such as ``site``; ``connections``: how many have it as their first obstacle. Numbers of
    different changes cannot be added up. ``need_more``: how many of these have another obstacle too, ``unsure``: how
    many may have one. ``live``: it is based on answers obtained later than the recording.
    """

    by: str
    who: str
    change: str
    cause: str
    connections: float
    pages: int
    need_more: float
    unsure: float
    live: bool


class ExplainedConnection(msgspec.Struct, frozen=True, kw_only=True):
    """One connection of a page; times in ms from the page's first request.

    ``cause``: why it is redundant, as in the table redundant_connections; None for one that is not. ``could_be``: the
    earlier connection that could have served it. ``change``: what would help, None where nothing is advised.
    """

    id: int
    hosts: list[str]
    protocol: str | None
    server_ip: str | None
    opened_ms: float | None
    closed_ms: float | None
    used: bool | None
    requests: int
    cause: str | None = None
    why: str | None = None
    could_be: int | None = None
    who: str | None = None
    change: str | None = None


class ExplainedPage(msgspec.Struct, frozen=True, kw_only=True):
    """One page load. ``quality``: what limits its recording; counts are None where the recording cannot say.

    ``owner_changes``: what the site's owner can change, each alone; ``owner_changes_together``: all of it, with
    ``owner_changes_untried`` that were not tried alone. ``states``: the page before and after; empty where it is not
    drawn, as is the rest then. ``load_time_errors``: by how much modelled load times were off in the testbed.

    ``needs``: by the rules of its browser's version, by which ``cause`` is said, of today's and of the one asked about.
    """

    visit_id: str
    site: str
    url: str | None
    status: str
    recorder: str | None
    browser: str | None
    browser_version: str | None
    quality: list[str]
    connections_measured: float | None
    connections_deployable: float | None
    lookups_measured: float | None
    connections: list[ExplainedConnection]
    owner_changes: list[OwnerChange]
    owner_changes_untried: int
    owner_changes_together: OwnerChange | None
    preconnects: list[PreconnectHint]
    states: list[StateOfPage]
    load_time_errors: list[LoadTimeErrors]
    needs: list[BrowserNeeds]


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """What was found in all recordings together, and in each page load.

    ``redundant``: connections that an earlier one might have served; ``undecidable``: those of which the recordings
    lack what decides. ``remarks``: what was counted, left out and is not known, as sentences.
    """

    title: str
    visits: int
    failed: int
    ladder: list[Rung]
    redundant: float
    undecidable: float
    changes: list[Change]
    pages: list[ExplainedPage]
    remarks: list[str]
    live_as_of: str | None = None
    version: int = VERSION


def explanation(contents: Contents) -> Explanation:
    """The contents of a report as what ``explain`` says."""
    undecided = contents.undecided
    live = contents.live.as_of
    return Explanation(
        title=contents.title,
        visits=contents.facts["visits"],
        failed=contents.facts["failed"],
        ladder=[_rung(row) for _, rungs in contents.ladders for row in rungs.to_dicts() if row["total"] is not None],
        redundant=undecided.redundant,
        undecidable=undecided.undecidable,
        changes=[_change(by, entry) for by, entries in contents.advice.items() for entry in entries],
        pages=[_page(page) for page in contents.pages],
        remarks=[
            *(f"{sentence}." for sentence in contents.rests_on),
            *without_findings(undecided),
            *without_advice(undecided, asked_live=live is not None),
            *without_counts(undecided),
        ],
        live_as_of=live,
    )


def _rung(row: dict[str, Any]) -> Rung:
    return Rung(**{name: row[name] for name in Rung.__struct_fields__})


def _change(by: str, entry: Advice) -> Change:
    return Change(
        by=by,
        who=entry.who,
        change=entry.fix,
        cause=entry.cause,
        connections=entry.connections,
        pages=entry.pages,
        need_more=entry.more,
        unsure=entry.unsure,
        live=entry.live,
    )


def _page(page: Page) -> ExplainedPage:
    facts = page.facts
    same = ("visit_id", "site", "url", "status", "recorder", "browser", "browser_version")
    return ExplainedPage(
        **{name: facts[name] for name in same},
        quality=list(facts["quality"] or ()),
        connections_measured=facts["measured_tls"],
        connections_deployable=facts["paired_ideal_deployable"],
        lookups_measured=facts["measured_dns"],
        connections=[_connection(entry) for entry in page.connections],
        owner_changes=owner_changes(page),
        owner_changes_untried=page.further_changes,
        owner_changes_together=owner_changes_together(page),
        preconnects=preconnects(page),
        states=states_drawn(page),
        load_time_errors=load_time_errors(page),
        needs=[*recorders_needs(facts), *([] if page.as_browser is None else [page.as_browser])],
    )


def _connection(entry: dict[str, Any]) -> ExplainedConnection:
    return ExplainedConnection(
        id=entry["connection_id"],
        hosts=entry["hosts"],
        protocol=entry["protocol"],
        server_ip=entry["server_ip"],
        opened_ms=entry["opened_ms"],
        closed_ms=entry["closed_ms"],
        used=entry["used"],
        requests=entry["requests"] or 0,
        cause=entry["cause"],
        why=entry["why"],
        could_be=entry["reusable_connection_id"],
        who=entry["who"],
        change=entry["fix"],
    )
