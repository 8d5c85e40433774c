"""A budget file, and what ``check --budget`` writes about it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl

from originset.cli.output import note, say, write_rows
from originset.cli.scratch_study import study_of
from originset.data.errors import InputError, UsageError
from originset.data.studies.database import open_database
from originset.data.studies.study import Study
from originset.queries.page_budget import MEASURES, OVER, UNKNOWN, PageBudget, judged

GITHUB = "github"

# Exit codes: kept, exceeded, and not to be said by what was recorded.
_KEPT, _EXCEEDED, _NOT_KNOWN = 0, 1, 2
_MOST = 1 << 31  # of what a page can cost


def check_budget(study: Study, path: Path, hars: tuple[Path, ...], output_format: str) -> int:
    """Judge the HARs, or the study where there are none, by a budget, and write a row per page and limit.

    Returns the exit code: 0 within, 1 over, 2 where nothing is over but something cannot be said.

    Raises:
        InputError: the file is no budget.
        UsageError: there is no page to judge.
    """
    default, overrides = read_budget(path)
    if hars:
        with study_of(hars) as made:
            rows = _judged(made, default, overrides)
    else:
        rows = _judged(study, default, overrides)
    if rows.is_empty():
        raise UsageError(
            f"{path} limits nothing of these pages", "its [[page]] tables name others, and [budget] nothing"
        )
    if output_format == GITHUB:
        for line in github_lines(rows, path):
            say(line)
    else:
        write_rows(rows, output_format)
    over, unknown = (rows.filter(verdict=verdict).height for verdict in (OVER, UNKNOWN))
    note(f"{over} of {rows.height} limits are exceeded, {unknown} cannot be judged")
    return _EXCEEDED if over else _NOT_KNOWN if unknown else _KEPT


def _judged(study: Study, default: PageBudget, overrides: list[PageBudget]) -> pl.DataFrame:
    with open_database(study) as connection:
        return judged(connection, default, overrides)


def read_budget(path: Path) -> tuple[PageBudget, list[PageBudget]]:
    """The defaults of ``[budget]`` and each ``[[page]]`` with its ``site`` or ``url``.

    Raises:
        InputError: it is no TOML, or has what a budget does not.
    """
    try:
        held = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(str(path), "not-a-budget", f"cannot be read as TOML ({error})") from error
    if strange := set(held) - {"budget", "page"}:
        raise _wrong(path, f"{', '.join(sorted(strange))} is neither [budget] nor [[page]]")
    default, pages = held.get("budget", {}), held.get("page", [])
    if not isinstance(default, dict) or not isinstance(pages, list) or not (default or pages):
        raise _wrong(path, "it has no table [budget] and no tables [[page]]")
    return PageBudget(_limits(path, default, "[budget]")), [_page(path, page) for page in pages]


def _page(path: Path, page: Any) -> PageBudget:  # noqa: ANN401 - whatever the file holds
    if not isinstance(page, dict):
        raise _wrong(path, "page is no table")
    site, url = page.get("site"), page.get("url")
    if (site is None) == (url is None) or not isinstance(site or url, str):
        raise _wrong(path, "each [[page]] names either a site or a url")
    limits = {name: value for name, value in page.items() if name not in {"site", "url"}}
    return PageBudget(_limits(path, limits, f"[[page]] {site or url}"), site, url)


def _limits(path: Path, table: dict[str, Any], where: str) -> dict[str, int]:
    for name, value in table.items():
        if name not in MEASURES:
            raise _wrong(path, f"{where} has {name}; it can limit {', '.join(MEASURES)}")
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < _MOST:
            raise _wrong(path, f"{where}: {name} is no number from 0 to {_MOST - 1:,}")
    return table


def _wrong(path: Path, detail: str) -> InputError:
    return InputError(str(path), "not-a-budget", detail)


def github_lines(rows: pl.DataFrame, path: Path) -> Iterable[str]:
    """A workflow command of GitHub for each limit that is exceeded, and a warning for each that cannot be judged.

    Texts are escaped as its runner reads them (actions/toolkit, command.ts): a page's address is a stranger's, and must
    not become a command of its own.
    """
    for row in rows.iter_rows(named=True):
        page = row["url"] or row["site"] or row["visit_id"]
        what = row["measure"].replace("_", " ")
        if row["verdict"] == OVER:
            level, said = "error", f"{row['value']} {what} on {page}, where {row['budget']} are allowed"
        elif row["verdict"] == UNKNOWN:
            level, said = "warning", f"{what} on {page} cannot be judged: {row['why']}"
        else:
            continue
        yield f"::{level} file={_property(str(path))},title={_property('originset: ' + what)}::{_message(said)}"


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
