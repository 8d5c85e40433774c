"""AS numbers to the names of ASes and of the organisations that run them."""

from __future__ import annotations

import gzip
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
        rows = _as_org2info(content.decode()) if b"# format:" in content else _pairs(content)
    except (OSError, EOFError, zlib.error, ValueError, IndexError, pl.exceptions.PolarsError) as error:
        raise InputError(name, "not-as-names", f"not a list of AS names ({error})") from error
    return rows.unique("asn", keep="last", maintain_order=True)


def _pairs(content: bytes) -> pl.DataFrame:
    columns = {"asn": pl.Int64, "as_name": pl.String}
    rows = pl.read_csv(content, has_header=False, schema=columns)
    if rows["asn"].has_nulls() or rows["as_name"].has_nulls():
        raise ValueError("a line lacks its number or name")
    return rows.with_columns(organisation="as_name")


def _as_org2info(text: str) -> pl.DataFrame:
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
    rows = [(int(row["aut"]), row["aut_name"], organisations.get(row["org_id"])) for row in ases]
    return pl.DataFrame(rows, schema=_SCHEMA, orient="row")
