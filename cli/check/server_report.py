"""What ``check server`` says: rows, JUnit XML, SARIF, or annotations of a GitHub workflow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import click
import polars as pl

from originset.cli.check.junit_text import JunitCase, junit_text
from originset.cli.check.sarif_text import SarifResult, sarif_text
from originset.cli.common.output import FORMATS, say, write_rows
from originset.data.sanitising.printable import printable
from originset.queries.github_annotations import annotation

#: ``result``: what a row says of its test. ``failed``: the server could not be asked.
CHECKED = pl.Schema(
    {
        "site": pl.String(),
        "address": pl.String(),
        "port": pl.Int64(),
        "test": pl.String(),
        "result": pl.Enum(["seen", "note", "fault", "failed"]),
        "subject": pl.String(),
        "detail": pl.String(),
    }
)

SERVER_FORMATS = (*FORMATS, "junit", "sarif", "github")

Row = dict[str, Any]

_GITHUB_LEVELS: dict[str, Literal["error", "notice"]] = {"note": "notice", "fault": "error", "failed": "error"}
_SARIF_LEVELS: dict[str, Literal["note", "warning", "error"]] = {"note": "note", "fault": "error", "failed": "error"}
_JUNIT_PROBLEMS: dict[str, Literal["failure", "error"]] = {"fault": "failure", "failed": "error"}


def write_checked(rows: pl.DataFrame, output_format: str) -> None:
    """Write rows (:data:`CHECKED`) to stdout in one of :data:`SERVER_FORMATS`."""
    if output_format == "junit":
        click.echo(junit(rows))
    elif output_format == "sarif":
        click.echo(sarif(rows))
    elif output_format == "github":
        for line in github(rows):
            say(line)
    else:
        write_rows(rows.with_columns(pl.col("result").cast(pl.String)), output_format)


def junit(rows: pl.DataFrame) -> str:
    """A test suite for each server, a test case for each row; a fault fails, what could not be asked is an error."""
    suites: dict[str, list[JunitCase]] = {}
    for row in rows.iter_rows(named=True):
        name = f"{row['test']} {row['subject']}"
        case = JunitCase(name, row["detail"], _JUNIT_PROBLEMS.get(row["result"]), row["test"])
        suites.setdefault(_server_text(row["site"], row["address"], row["port"]), []).append(case)
    return junit_text("originset check server", suites)


def sarif(rows: pl.DataFrame) -> str:
    """SARIF 2.1.0 (OASIS): faults, remarks, and servers that could not be asked; what was merely seen is no result."""
    results = []
    for row in rows.filter(pl.col("result") != "seen").iter_rows(named=True):
        server = _server_text(row["site"], row["address"], row["port"])
        location = {
            "physicalLocation": {"artifactLocation": {"uri": f"https://{row['site']}/"}},
            "logicalLocations": [{"fullyQualifiedName": server}],
        }
        said = f"{printable(row['subject'])}: {printable(row['detail'])}"
        results.append(SarifResult(row["test"], _SARIF_LEVELS[row["result"]], said, location))
    return sarif_text("originset check server", results)


def github(rows: pl.DataFrame) -> Iterator[str]:
    """An error for each fault and each server that could not be asked, a notice for each remark."""
    for row in rows.iter_rows(named=True):
        if row["result"] in _GITHUB_LEVELS:
            where = _server_text(row["site"], row["address"], row["port"])
            said = printable(f"{where}: {row['subject']}: {row['detail']}")
            yield annotation(_GITHUB_LEVELS[row["result"]], row["test"], said)


def _server_text(site: object, address: object, port: object) -> str:
    return str(site) if address is None else f"{site} at {address} port {port}"
