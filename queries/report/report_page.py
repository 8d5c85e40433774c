"""The HTML of a report, without a reference to anything outside the file."""

from __future__ import annotations

import base64
import hashlib
from importlib import resources
from typing import Any

import jinja2
from markupsafe import Markup

import originset
from originset.data.quantity import quantity
from originset.data.sanitising.printable import printable_lines
from originset.queries.report.backtest_sentences import page_sentence
from originset.queries.report.cause_sentences import recorded, remaining
from originset.queries.report.change_sentences import preconnect_sentence, saved_sentence
from originset.queries.report.connection_lanes import ROW_HEIGHT, WIDTH, Waterfalls, waterfalls
from originset.queries.report.load_time_sentences import load_time_sentence
from originset.queries.report.printable_text import between, between_numbers, less_or_more
from originset.queries.report.range_sentences import range_sentence
from originset.queries.report.report_contents import Contents, Page
from originset.queries.report.rules_sentences import as_browser_sentence, rules_sentence
from originset.queries.report.undecided_sharing import without_advice, without_counts, without_findings


def render(contents: Contents) -> str:
    """The report as HTML. Its content security policy allows only the page's own script and style."""
    style, script = _file("report.css"), _file("report.js")
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=_shown
    )
    environment.filters.update(
        number=_number, ms=_milliseconds, rung=_share, sentence=_sentence, quantity=quantity, less_or_more=less_or_more,
        between=between, back_test=page_sentence, prediction=range_sentence, rules=rules_sentence,
        load_time=load_time_sentence,
        as_browser=as_browser_sentence,
        recorded=recorded, remaining=remaining, without_findings=without_findings, without_advice=without_advice,
        without_counts=without_counts, waterfalls=_waterfalls, connection_numbers=_connection_numbers, saves=_saves,
        preconnect=preconnect_sentence, between_numbers=between_numbers,
    )  # fmt: skip
    template = environment.from_string(_file("report.html.j2"))
    return template.render(
        report=contents,
        version=originset.__version__,
        lane_width=WIDTH,
        row_height=ROW_HEIGHT,
        style=Markup(style),  # noqa: S704 - ours, and hashed into the policy
        script=Markup(script),  # noqa: S704 - likewise
        policy=f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri 'none'; "
        "form-action 'none'",
    )


def _shown(value: object) -> object:
    """A value of the template: no text of a stranger has controls, whichever way it came."""
    return printable_lines(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _waterfalls(page: Page) -> Waterfalls | None:
    return None if page.timeline is None else waterfalls(page.timeline, page.connections, page.facts)


def _connection_numbers(page: Page) -> dict[int, int]:
    return {entry["connection_id"]: entry["number"] for entry in page.connections}


def _saves(page: Page) -> list[tuple[str, str, list[int]]]:
    """Each change, what it saves, and the connections that it is for; of several, what all together save first."""
    unknown, browser = page.facts["left_out_reason"], page.facts["browser"]
    unknown_time = f"the file does not say ({unknown})" if unknown else None
    rows = [
        (change.fix or "", saved_sentence(change, unknown_time, browser), list(change.connections))
        for change in page.changes
    ]
    if page.together is not None and len(rows) > 1:
        rows.insert(0, ("all of these together", saved_sentence(page.together, unknown_time, browser), []))
    return rows


def _file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _number(value: Any) -> str:  # noqa: ANN401 - whatever a cell holds
    if value is None:
        return "\N{EN DASH}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.2f}".rstrip("0").rstrip(".")
    if isinstance(value, list):
        return ", ".join(map(_number, value))
    return str(value)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _milliseconds(value: float | None) -> str:
    return "\N{EN DASH}" if value is None else f"{value:,.0f} ms"


def _share(value: float | None, whole: float | None) -> str:
    """A length in percent of ``whole``, for drawings."""
    return "0" if not value or not whole else f"{100 * value / whole:.2f}"
