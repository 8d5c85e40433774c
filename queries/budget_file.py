"""budget.toml: the limits for pages, read and validated."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from originset.data.errors import InputError
from originset.queries.page_budget import MEASURES, PageBudget

_LARGEST_LIMIT = (1 << 31) - 1


def read_budget(path: Path) -> tuple[PageBudget, list[PageBudget]]:
    """The defaults of ``[budget]`` and each ``[[page]]`` with its ``site`` or ``url``.

    Raises:
        InputError: it is not TOML, or has a key or value that a budget cannot have.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(str(path), "not-a-budget", f"cannot be read as TOML ({error})") from error
    if unknown := set(content) - {"budget", "page"}:
        raise _error(path, f"{', '.join(sorted(unknown))} is neither [budget] nor [[page]]")
    default, pages = content.get("budget", {}), content.get("page", [])
    if not isinstance(default, dict) or not isinstance(pages, list) or not (default or pages):
        raise _error(path, "it has no table [budget] and no tables [[page]]")
    return PageBudget(_limits(path, default, "[budget]")), [_page(path, page) for page in pages]


def _page(path: Path, page: Any) -> PageBudget:  # noqa: ANN401 - whatever the file holds
    if not isinstance(page, dict):
        raise _error(path, "page is not a table")
    site, url = page.get("site"), page.get("url")
    if (site is None) == (url is None) or not isinstance(site or url, str):
        raise _error(path, "each [[page]] has either a site or a url")
    limits = {name: value for name, value in page.items() if name not in {"site", "url"}}
    return PageBudget(_limits(path, limits, f"[[page]] {site or url}"), site, url)


def _limits(path: Path, table: dict[str, Any], where: str) -> dict[str, int]:
    for name, value in table.items():
        if name not in MEASURES:
            raise _error(path, f"{where} has {name}; it can limit {', '.join(MEASURES)}")
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _LARGEST_LIMIT:
            raise _error(path, f"{where}: {name} is not a number from 0 to {_LARGEST_LIMIT:,}")
    return table


def _error(path: Path, detail: str) -> InputError:
    return InputError(str(path), "not-a-budget", detail)
