"""AS numbers to the names of ASes and of the organisations that run them."""

from __future__ import annotations

import csv
import gzip
import io
import zlib

import polars as pl

from originset.data.errors import InputError

_SCHEMA = {"asn": pl.Int64, "as_name": pl.String, "organisation": pl.String}


def read_as_names(content: bytes, name: str) -> pl.DataFrame:
    """Columns ``asn`` (once each), ``as_name`` and ``organisation``.

    Either lines of ``ASN,ORGANISATION``, where the organisation is the only name; or CAIDA's as-org2info, two tables
    separated by ``|`` whose columns its ``# format:`` lines name.

    Raises:
        InputError: it is neither.
    """
    try:
        if content.startswith(b"\x1f\x8b"):
            content = gzip.decompress(content)
        text = content.decode()
        rows = _as_org2info(text) if "# format:" in text else _pairs(text)
    except (OSError, EOFError, zlib.error, ValueError, IndexError, csv.Error) as error:
        raise InputError(name, "not-as-names", f"not a list of AS names ({error})") from error
    return pl.DataFrame(rows, schema=_SCHEMA, orient="row").unique("asn", keep="last", maintain_order=True)


def _pairs(text: str) -> list[tuple[int, str, str]]:
    return [(int(number), name, name) for number, name in csv.reader(io.StringIO(text))]


def _as_org2info(text: str) -> list[tuple[int, str, str | None]]:
    ases: list[dict[str, str]] = []
    organisations: dict[str, str] = {}
    columns: list[str] = []
    for line in text.splitlines():
        if line.startswith("# format:"):
            columns = line.removeprefix("# format:").strip().split("|")
        elif line and not line.startswith("#"):
            row = dict(zip(columns, line.split("|"), strict=True))
            if "aut" in row:
                ases.append(row)
            else:
                organisations[row["org_id"]] = row["org_name"]
    return [(int(row["aut"]), row["aut_name"], organisations.get(row["org_id"])) for row in ases]
