"""budget.toml: what pages may cost."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from originset.data.errors import InputError
from originset.queries.page_budget import MEASURES, PageBudget

_MOST = 1 << 31  # of what a page can cost


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
