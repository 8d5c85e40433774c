"""A page's connections as lanes on one time axis: as recorded, after what the owner can do, and at best."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import ceil, floor, log10
from typing import Any, Literal

import polars as pl

from originset.data.reference.timeline_errors import errors_of
from originset.queries.report.load_time_sentences import exceeds_error

#: The width of a lane's drawing in units; its height is that of its rows of requests.
WIDTH = 1000
ROW_HEIGHT = 4

_MOST_LANES = 60
# Requests of one lane that overlap are drawn below one another, at most so many; more share the last row.
_MOST_ROWS = 6

_Row = dict[str, Any]

_TITLES = {
    "recorded": "As recorded",
    "changed": "After what the owner can do",
    "best": "At best: one connection a network",
}


@dataclass(frozen=True, slots=True)
class PageTimeline:
    """The requests of one page, before and after.

    ``requests``: host, connection_id, and started, blocked, dns, connect, send, wait and receive in ms, also with
    ``_after`` and ``_best``. ``carriers`` and ``best_carriers``: by connection, which one carries its requests then.
    ``saved``: how many connections the owner's changes save, ``saved_ms``: how much earlier the load event is then,
    both at least and at most; None: not known.
    """

    requests: pl.DataFrame
    carriers: Mapping[int, int]
    best_carriers: Mapping[int, int]
    saved: tuple[int, int]
    saved_ms: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class PageState:
    """The page as recorded, after changes, or at best.

    ``suffix``: of its columns in ``PageTimeline.requests``. ``carriers``: which connection carries each one's requests.
    ``load_ms``: the load event, at the earliest and at the latest; None: not known. ``perhaps_more``: how many more
    connections there may be.
    """

    name: Literal["recorded", "changed", "best"]
    suffix: str
    carriers: Mapping[int, int]
    load_ms: tuple[float, float] | None
    perhaps_more: int = 0


@dataclass(frozen=True, slots=True)
class Lane:
    """A connection: its number in the table, whose requests it carries besides, and its drawing as SVG paths.

    ``bars``: by the kind of phase (handshake, wait, receive) a path in units of WIDTH and ROW_HEIGHT.
    """

    number: int | None
    host: str
    carries: list[int]
    redundant: bool
    could_be: int | None
    rows: int
    bars: dict[str, str]


@dataclass(frozen=True, slots=True)
class Panel:
    """One state of the page.

    Of what is a range, the least is drawn. ``load_ms``: the load event, at the earliest and at the latest; ``load``:
    the former in units of WIDTH. ``count``: its connections, of which ``more`` are not drawn.
    """

    title: str
    load_ms: tuple[float, float] | None
    load: int | None
    lanes: list[Lane]
    count: tuple[int, int]
    more: int


@dataclass(frozen=True, slots=True)
class Waterfalls:
    """The panels and their axis: ``ticks`` are pairs of percent of the width and ms."""

    panels: list[Panel]
    ticks: list[tuple[float, float]]


def page_states(timeline: PageTimeline, facts: Mapping[str, Any]) -> list[PageState]:
    """The states of a page; what is not modelled is left out. ``facts``: load_ms, origin_ms and left_out_reason."""
    modelled = facts["left_out_reason"] is None and facts["origin_ms"] is not None
    load_ms = facts["load_ms"]
    states = [PageState("recorded", "", {}, None if load_ms is None else (load_ms, load_ms))]
    if modelled and timeline.carriers and timeline.saved_ms is not None:
        least, most = timeline.saved_ms
        low, high = timeline.saved
        after = (load_ms - most, load_ms - least)
        states.append(PageState("changed", "_after", timeline.carriers, after, high - low))
    if modelled:
        states.append(PageState("best", "_best", timeline.best_carriers, (facts["origin_ms"], facts["origin_ms"])))
    return states


def waterfalls(
    timeline: PageTimeline, connections: list[dict[str, Any]], facts: Mapping[str, Any]
) -> Waterfalls | None:
    """The drawing of a page; None if no request has a time.

    ``connections``: rows of a report's page; ``facts``: of it, as for :func:`page_states`, and browser. A modelled load
    event is not drawn where the timeline was off by more in the testbed than it is earlier.
    """
    states = [replace(state, load_ms=load_to_draw(state, facts)) for state in page_states(timeline, facts)]
    rows = timeline.requests.to_dicts()
    end = max((request_spans(row, state.suffix)[-1][2] for row in rows for state in states), default=0.0)
    end = max(end, facts["load_ms"] or 0.0)
    if end <= 0:
        return None
    entries = {entry["connection_id"]: entry for entry in connections}
    panels = [_panel(state, rows, entries, end) for state in states]
    return Waterfalls(panels, [(100 * ms / end, ms) for ms in _ticks(end)])


def load_to_draw(state: PageState, facts: Mapping[str, Any]) -> tuple[float, float] | None:
    """The load event of a state; None where it is not known, or so little earlier that the timeline's error exceeds it.

    ``facts``: load_ms and browser of the page.
    """
    if state.name == "recorded" or state.load_ms is None:
        return state.load_ms
    return state.load_ms if exceeds_error(facts["load_ms"] - state.load_ms[0], errors_of(facts["browser"])) else None


def _panel(state: PageState, rows: list[_Row], entries: Mapping[int, _Row], end: float) -> Panel:
    lanes: dict[int | None, list[_Row]] = {}
    for row in rows:
        connection = state.carriers.get(row["connection_id"], row["connection_id"])
        lanes.setdefault(connection if connection in entries else None, []).append(row)
    carried: dict[int, list[int]] = {}
    for connection, carrier in state.carriers.items():
        if connection in entries:
            carried.setdefault(carrier, []).append(entries[connection]["number"])
    order = [connection for connection in entries if connection in lanes]
    drawn = [_lane(lanes[one], entries[one], carried.get(one, []), state.suffix, end) for one in order[:_MOST_LANES]]
    if None in lanes:
        drawn.append(_lane(lanes[None], None, [], state.suffix, end))
    load = None if state.load_ms is None else round(WIDTH * state.load_ms[0] / end)
    count = (len(order), len(order) + state.perhaps_more)
    return Panel(_TITLES[state.name], state.load_ms, load, drawn, count, max(0, len(order) - _MOST_LANES))


def _lane(rows: list[_Row], entry: _Row | None, carries: list[int], suffix: str, end: float) -> Lane:
    paths: dict[str, list[str]] = {"handshake": [], "wait": [], "receive": []}
    ends: list[float] = []
    for row in sorted(rows, key=lambda one: one[f"started{suffix}"]):
        spans = request_spans(row, suffix)
        place = next((number for number, until in enumerate(ends) if until <= spans[0][1]), len(ends))
        place = min(place, _MOST_ROWS - 1)
        if place == len(ends):
            ends.append(0.0)
        ends[place] = max(ends[place], spans[-1][2])
        for kind, start, stop in spans:
            if stop > start:
                paths[kind].append(_bar(start, stop, place, end))
    return Lane(
        number=None if entry is None else entry["number"],
        host="connection not known" if entry is None else entry["hosts"][0],
        carries=sorted(carries),
        redundant=bool(entry and entry["cause"]) and not suffix,
        could_be=None if entry is None or suffix else entry["could_be"],
        rows=max(1, len(ends)),
        bars={kind: "".join(bars) for kind, bars in paths.items() if bars},
    )


def request_spans(row: Mapping[str, Any], suffix: str) -> list[tuple[str, float, float]]:
    """The phases of a request that it spends with its connection: kind, start and end in ms."""
    phases = {name: row[f"{name}{suffix}"] or 0.0 for name in ("blocked", "dns", "connect", "send", "wait", "receive")}
    shaken = row[f"started{suffix}"] + phases["blocked"]
    sent = shaken + phases["dns"] + phases["connect"]
    answered = sent + phases["send"] + phases["wait"]
    return [
        ("handshake", shaken, sent),
        ("wait", sent, answered),
        ("receive", answered, answered + phases["receive"]),
    ]


def _bar(start: float, stop: float, place: int, end: float) -> str:
    left = floor(WIDTH * max(start, 0.0) / end)
    width = max(1, ceil(WIDTH * stop / end) - left)
    return f"M{left} {place * ROW_HEIGHT}h{width}v{ROW_HEIGHT - 1}h-{width}z"


def _ticks(end: float) -> Iterable[float]:
    """Round times, some four to the axis, without its end."""
    raw = end / 4
    power = 10 ** floor(log10(raw))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw)
    return [step * number for number in range(int(end / step) + 1) if step * number < 0.92 * end]
