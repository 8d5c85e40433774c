"""The HTML of a report, without a reference to anything outside the file."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib import resources
from typing import Any

import jinja2
import polars as pl
from markupsafe import Markup

import originset
from originset.data.quantity import quantity
from originset.queries.report.backtest_sentences import page_sentence
from originset.queries.report.cause_sentences import recorded, remaining
from originset.queries.report.range_sentences import range_sentence
from originset.queries.report.report_contents import Contents, Page
from originset.queries.report.shown_text import between, less_or_more
from originset.queries.report.undecided_sharing import without_advice, without_counts, without_findings

_PHASES = ("blocked", "dns", "connect", "send", "wait", "receive")


def render(contents: Contents) -> str:
    """The report as HTML. Its content security policy allows only the page's own script and style."""
    style, script = _file("report.css"), _file("report.js")
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(
        number=_number, ms=_milliseconds, rung=_share, sentence=_sentence, quantity=quantity, less_or_more=less_or_more,
        between=between, back_test=page_sentence, prediction=range_sentence,
        recorded=recorded, remaining=remaining, without_findings=without_findings, without_advice=without_advice,
        without_counts=without_counts,
    )  # fmt: skip
    template = environment.from_string(_file("report.html.j2"))
    return template.render(
        report=contents,
        version=originset.__version__,
        style=Markup(style),  # noqa: S704 - ours, and hashed into the policy
        script=Markup(script),  # noqa: S704 - likewise
        policy=f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri 'none'; "
        "form-action 'none'",
        data=Markup(_data(contents)),  # noqa: S704 - JSON whose < > & are escaped
    )


def request_rows(times: pl.DataFrame) -> list[list[Any]]:
    """A page's requests for the waterfall: host, connection, starts and phases measured, then after ORIGIN.

    ``times``: one row a request with host, connection_id, started and the phases in ms, each also with ``_after``.
    """
    columns = ["host", "connection_id"]
    for side in ("", "_after"):
        columns += [f"started{side}", *(f"{phase}{side}" for phase in _PHASES)]
    rounded = times.with_columns(pl.col(column).round(1) for column in columns[2:])
    return [list(row) for row in rounded.select(columns).iter_rows()]


def _data(contents: Contents) -> str:
    """The data that the script draws, as JSON in which no HTML parser sees markup."""
    pages = [_page_data(page) for page in contents.pages]
    text = json.dumps(pages, separators=(",", ":"), ensure_ascii=True)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _page_data(page: Page) -> dict[str, Any]:
    numbers = {entry["connection_id"]: entry["number"] for entry in page.connections}
    hosts: dict[str, int] = {}
    rows = []
    for host, connection, *times in page.requests:
        host_number = hosts.setdefault(host or "?", len(hosts))
        rows.append([host_number, numbers.get(connection), *(_short(one) for one in times)])
    lanes = [
        [
            entry["number"],
            _short(entry["first_ms"] if entry["opened_ms"] is None else entry["opened_ms"]),
            _short(entry["closed_ms"] if entry["closed_ms"] is not None else entry["last_ms"]),
            bool(entry["cause"]),
            entry["hosts"][0],
            len(entry["hosts"]),
        ]
        for entry in page.connections
    ]
    loads = [_short(page.facts["load_ms"]), _short(page.facts["origin_ms"])]
    return {"h": list(hosts), "r": rows, "l": lanes, "t": loads}


def _short(value: float | None) -> float | int | None:
    """A number rounded to tenths, without a needless fraction: the page gets smaller."""
    if value is None:
        return None
    rounded = round(value, 1)
    return int(rounded) if rounded == int(rounded) else rounded


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
