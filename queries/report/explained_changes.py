"""What ``explain`` says of a page's changes and of its requests before and after them, as structs."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from originset.data.reference.timeline_errors import errors_of
from originset.queries.report.change_sentences import PageChange
from originset.queries.report.connection_lanes import PageState, page_states, request_spans
from originset.queries.report.load_time_sentences import exceeds_error
from originset.queries.report.printable_text import printable_excerpt
from originset.queries.report.report_contents import Page


class Bounds(msgspec.Struct, frozen=True):
    """The least and the most."""

    low: float
    high: float


class OwnerChange(msgspec.Struct, frozen=True, kw_only=True):
    """What a change that the page's owner can make saves, by the rules of the recorded browser.

    ``change`` is None for all of a page's together, ``connections``: ids of those that it is advised for.
    ``handshake_bytes_saved``: of certificates that servers send in handshakes; ``load_ms_saved``: how much earlier the
    load event is, by the causal timeline; None: not known. ``load_ms_exceeds_errors``: whether that is more than the
    page's ``load_time_errors``; a figure that does not is none to go by. ``connections_saved_elsewhere``: in browsers
    that were not recorded.
    """

    change: str | None
    connections: list[int]
    connections_saved: Bounds
    lookups_saved: int | None
    handshake_bytes_saved: Bounds | None
    load_ms_saved: Bounds | None
    load_ms_exceeds_errors: bool | None
    connections_saved_elsewhere: dict[str, Bounds]


class PreconnectHint(msgspec.Struct, frozen=True, kw_only=True):
    """A preconnect that would help; times in ms from the page's first request.

    The connection was opened at ``opened_ms``, and the document's answer began at ``announced_ms``. With it the load
    event is up to ``saved_ms`` earlier, by the paper's timeline.
    """

    host: str
    connection: int | None
    opened_ms: float
    announced_ms: float
    handshake_ms: float
    saved_ms: float


class RequestSpans(msgspec.Struct, frozen=True, kw_only=True):
    """A request: when its lookup and handshake begin, it is sent, its answer begins, and its answer ends.

    Times in ms from the page's first request. ``host``: None where its URL has none that can be read; ``connection``:
    None where it is not known.
    """

    host: str | None
    connection: int | None
    begun_ms: float
    sent_ms: float
    answered_ms: float
    ended_ms: float


class StateOfPage(msgspec.Struct, frozen=True, kw_only=True):
    """A state of the page: as recorded, after all that its owner can change, or at best with one connection a network.

    Of what is a range, ``requests`` are those of the least connections and the earliest load event.
    """

    state: Literal["recorded", "changed", "best"]
    connections: Bounds
    load_ms: Bounds | None
    requests: list[RequestSpans]


class LoadTimeErrors(msgspec.Struct, frozen=True, kw_only=True):
    """By how many ms the causal timeline was off in the testbed: quantiles over pages of promised minus measured.

    Of the page's browser, or of Chromium where it was not tried in that one. ``profile``: the access network.
    """

    browser: str
    profile: str
    pages: int
    p10: float
    p50: float
    p90: float


def load_time_errors(page: Page) -> list[LoadTimeErrors]:
    """The errors of load times such as the page's."""
    return [
        LoadTimeErrors(browser=one.browser, profile=one.profile, pages=one.pages, p10=one.p10, p50=one.p50, p90=one.p90)
        for one in errors_of(page.facts["browser"])
    ]


def owner_changes(page: Page) -> list[OwnerChange]:
    """The changes of a page that were tried each by itself."""
    return [_owner_change(page, change) for change in page.changes]


def owner_changes_together(page: Page) -> OwnerChange | None:
    """All changes of a page together; None: there are none, or the page is not drawn."""
    return None if page.together is None else _owner_change(page, page.together)


def preconnects(page: Page) -> list[PreconnectHint]:
    """The preconnects that would help a page."""
    ids = _ids(page)
    times = ("opened_ms", "announced_ms", "handshake_ms", "saved_ms")
    return [
        PreconnectHint(
            host=hint.host,
            connection=None if hint.number is None else ids[hint.number],
            **{name: getattr(hint, name) for name in times},
        )
        for hint in page.preconnects
    ]


def states_drawn(page: Page) -> list[StateOfPage]:
    """The page's states, as its waterfalls draw them; empty where it is not drawn."""
    if page.timeline is None:
        return []
    known = {entry["connection_id"] for entry in page.connections}
    rows = page.timeline.requests.to_dicts()
    return [_state(state, rows, known) for state in page_states(page.timeline, page.facts)]


def _state(state: PageState, rows: list[dict[str, Any]], known: set[int]) -> StateOfPage:
    carried = [(row, state.carriers.get(row["connection_id"], row["connection_id"])) for row in rows]
    least = len({connection for _, connection in carried} & known)
    return StateOfPage(
        state=state.name,
        connections=Bounds(least, least + state.perhaps_more),
        load_ms=_bounds(state.load_ms),
        requests=[_request(row, connection, state.suffix) for row, connection in carried],
    )


def _request(row: dict[str, Any], connection: int | None, suffix: str) -> RequestSpans:
    (_, begun, sent), (_, _, answered), (_, _, ended) = request_spans(row, suffix)
    return RequestSpans(
        host=None if row["host"] is None else printable_excerpt(row["host"]),
        connection=connection,
        begun_ms=begun,
        sent_ms=sent,
        answered_ms=answered,
        ended_ms=ended,
    )


def _owner_change(page: Page, change: PageChange) -> OwnerChange:
    ids, errors = _ids(page), errors_of(page.facts["browser"])
    return OwnerChange(
        change=change.fix,
        connections=[ids[number] for number in change.connections],
        connections_saved=Bounds(*change.saved),
        lookups_saved=change.lookups,
        handshake_bytes_saved=_bounds(change.handshake_bytes),
        load_ms_saved=_bounds(change.load_ms),
        load_ms_exceeds_errors=None if change.load_ms is None else exceeds_error(change.load_ms[1], errors),
        connections_saved_elsewhere={browser: Bounds(*saved) for browser, saved in change.elsewhere.items()},
    )


def _bounds(ends: tuple[float, float] | None) -> Bounds | None:
    return None if ends is None else Bounds(*ends)


def _ids(page: Page) -> dict[int, int]:
    """The ids of a page's connections by their numbers on the page."""
    return {entry["number"]: entry["connection_id"] for entry in page.connections}
