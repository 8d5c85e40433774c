"""What ``check server`` says: rows, JUnit XML, SARIF, or annotations of a GitHub workflow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal
from xml.etree import ElementTree as ET

import click
import polars as pl

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
    """A test suite for each server, a test case for each row; a fault is a failure, what could not be asked an error.

    Texts are without the characters that XML 1.0 has no way to write.
    """
    root = ET.Element("testsuites", name="originset check server")
    for server, of_server in rows.group_by("site", "address", "port", maintain_order=True):
        counts = {kind: str(of_server.filter(result=kind).height) for kind in ("fault", "failed")}
        suite = ET.SubElement(
            root, "testsuite", name=printable(_server_text(*server)), tests=str(of_server.height),
            failures=counts["fault"], errors=counts["failed"],
        )  # fmt: skip
        for row in of_server.iter_rows(named=True):
            name = printable(f"{row['test']} {row['subject']}")
            case = ET.SubElement(suite, "testcase", classname=suite.attrib["name"], name=name)
            text = printable(row["detail"])
            if row["result"] == "fault":
                ET.SubElement(case, "failure", type=row["test"], message=text)
            elif row["result"] == "failed":
                ET.SubElement(case, "error", type=row["test"], message=text)
            else:
                ET.SubElement(case, "system-out").text = text
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True)


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
