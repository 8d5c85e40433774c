"""Verdicts about a budget as annotations of a GitHub workflow."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from originset.queries.page_budget import OVER, UNKNOWN


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
