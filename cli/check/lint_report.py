"""What ``check lint`` says: rows, JUnit XML, SARIF, or annotations of a GitHub workflow; and what to change."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import click
import polars as pl

from originset.cli.check.junit_text import JunitCase, junit_text
from originset.cli.check.sarif_text import SarifResult, sarif_text
from originset.cli.common.output import FORMATS, say, write_rows
from originset.data.sanitising.printable import printable
from originset.models.servers.shared_connections import VERDICTS, SharedConnection
from originset.queries.github_annotations import annotation

#: ``opened_for`` and ``requested`` are NULL where a line was not understood; ``line``: its number, or a path of YAML.
LINTED = pl.Schema(
    {
        "opened_for": pl.String(),
        "requested": pl.String(),
        "verdict": pl.Enum([*VERDICTS, "not understood"]),
        "why": pl.String(),
        "change": pl.String(),
        "file": pl.String(),
        "line": pl.String(),
    }
)

LINT_FORMATS = (*FORMATS, "junit", "sarif", "github")

_Level = Literal["error", "warning", "notice"]
_LEVELS: dict[str, _Level] = {
    "421": "notice",
    "unknown": "warning",
    "not understood": "warning",
    "refused": "error",
    "404": "error",
    "wrong site": "error",
    "client certificate bypassed": "error",
}
_SARIF_LEVELS: dict[_Level, Literal["note", "warning", "error"]] = {
    "notice": "note",
    "warning": "warning",
    "error": "error",
}

# A fault fails; what is unknown, or was not understood, could not be tested.
_JUNIT_PROBLEMS: dict[_Level | None, Literal["failure", "error"]] = {"error": "failure", "warning": "error"}

# Each is a configuration of the lab, which was asked: docs/servers.md.
_MISDIRECTED = {
    "apache": "SSLVHostSNIPolicy strict",
    "haproxy": "http-request set-var(txn.host) req.hdr(host), and then "
    "http-request return status 421 unless {{ ssl_fc_sni,strcmp(txn.host) eq 0 }}",
    "caddy": "servers {{ strict_sni_host on }} in the global options",
    "envoy": "a virtual host for {requested} in the filter chain of {opened_for}, with a direct_response",
}


def change(server: str, found: SharedConnection) -> str | None:
    """The smallest change that makes a pair safe; None where nothing needs to be changed, or it is not known what."""
    if _LEVELS.get(found.verdict) != "error":
        return None
    apart = "a certificate for {opened_for} that does not name {requested}"
    where = _MISDIRECTED.get(server)
    text = apart if where is None else f"answer 421: {where}; or {apart}"
    return text.format(opened_for=found.opened_for, requested=found.requested)


def write_linted(rows: pl.DataFrame, output_format: str) -> None:
    """Write rows (:data:`LINTED`) to stdout in one of :data:`LINT_FORMATS`."""
    if output_format == "junit":
        click.echo(junit(rows))
    elif output_format == "sarif":
        click.echo(sarif(rows))
    elif output_format == "github":
        for line in github(rows):
            say(line)
    else:
        write_rows(rows.with_columns(pl.col("verdict").cast(pl.String)), output_format)


def junit(rows: pl.DataFrame) -> str:
    """A test suite for each file, a test case for each pair, and for each line that was not understood."""
    suites: dict[str, list[JunitCase]] = {}
    for row in rows.iter_rows(named=True):
        pair = "" if row["requested"] is None else f": {row['requested']} on a connection for {row['opened_for']}"
        level = _LEVELS.get(row["verdict"])
        case = JunitCase(f"line {row['line']}{pair}", _message(row), _JUNIT_PROBLEMS.get(level), row["verdict"])
        suites.setdefault(row["file"], []).append(case)
    return junit_text("originset check lint", suites)


def sarif(rows: pl.DataFrame) -> str:
    """SARIF 2.1.0 (OASIS): each pair that is neither safe nor separate, at the requested host's line."""
    results = [
        SarifResult(
            row["verdict"], _SARIF_LEVELS[_LEVELS[row["verdict"]]], _message(row), {"physicalLocation": _location(row)}
        )
        for row in rows.to_dicts()
        if row["verdict"] in _LEVELS
    ]
    return sarif_text("originset check lint", results)


def github(rows: pl.DataFrame) -> Iterator[str]:
    """An annotation for each pair that is neither safe nor separate, and for each line that was not understood."""
    for row in rows.iter_rows(named=True):
        if row["verdict"] in _LEVELS:
            said = f"{row['file']}:{row['line']}: {_message(row)}"
            yield annotation(_LEVELS[row["verdict"]], row["verdict"], printable(said), Path(row["file"]))


def _message(row: dict[str, str | None]) -> str:
    pair = "" if row["requested"] is None else f"{row['requested']} on a connection for {row['opened_for']}: "
    advice = "" if row["change"] is None else f"; {row['change']}"
    return printable(f"{pair}{row['why']}{advice}")


def _location(row: dict[str, str]) -> dict[str, object]:
    artifact: dict[str, object] = {"artifactLocation": {"uri": printable(row["file"])}}
    return {**artifact, "region": {"startLine": int(row["line"])}} if row["line"].isdigit() else artifact
