"""The options that select visits, which every command that answers questions about pages has."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click
import duckdb

from originset.cli.common.output import note
from originset.queries.visit_selection import PAGE_KINDS, Selection, holds_internal_pages, select_visits

_OPTIONS = (
    click.option(
        "--where",
        metavar="SQL",
        help="Only visits that satisfy this condition over the columns of visits, such as 'rank <= 1000'.",
    ),
    click.option("--vantage", help="Only visits from this vantage point."),
    click.option("--round", "round_number", type=click.IntRange(min=1), help="Only visits of this round."),
    click.option(
        "--page-kind",
        type=click.Choice(PAGE_KINDS),
        help="Only landing pages, only internal pages, or all. Pages of imported HARs are landing pages.  [default:"
        " landing, unless --where names page_kind]",
    ),
    click.option("--browser", help="Only visits by this browser."),
)


def selection_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that select visits, which reach the command as ``selection``."""

    @wraps(function)
    def with_selection(
        *given: Any,  # noqa: ANN401 - the command's own
        where: str | None,
        vantage: str | None,
        round_number: int | None,
        page_kind: str | None,
        browser: str | None,
        **options: Any,  # noqa: ANN401 - the command's own
    ) -> None:
        function(*given, selection=Selection(where, vantage, round_number, page_kind, browser), **options)

    decorated: Callable[..., Any] = with_selection
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated


def apply_selection(connection: duckdb.DuckDBPyConnection, selection: Selection, label: str = "") -> str | None:
    """Select the visits for this connection.

    Where something was asked for, or the study has internal pages too, a remark says which visits these are; it is
    returned, else None. ``label`` stands before it.

    Raises:
        UsageError: as :func:`originset.queries.visit_selection.select_visits`.
    """
    sentence = select_visits(connection, selection)
    if selection.is_default and not holds_internal_pages(connection):
        return None
    note(f"{label}{sentence}")
    return sentence
