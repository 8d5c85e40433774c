"""Files of a CDN's certificates and of its traffic, CSV or Parquet, read into what plans are made of."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import duckdb
import polars as pl

from originset.data.errors import InputError
from originset.models.plans.exclusions import Exclusions
from originset.models.plans.inventory.certificate_inventory import (
    INVENTORY,
    PAIRS,
    InventoryPlan,
    Limits,
    plan_inventory,
)

_TRUE, _FALSE = ("true", "1", "yes", "t", "y"), ("false", "0", "no", "f", "n", "")
_NONE = Exclusions()
_MOST_CONNECTIONS = 10**18
_COLUMN_SEPARATORS = (",", ";", "\t")
_LONGEST_HEADER_BYTES = 64 << 10
# Of an inventory, which is read as a whole: millions of certificates of a hundred names.
_MOST_ROWS, _MOST_BYTES = 10_000_000, 2 << 30
# polars unpacks gzip, zlib and Zstandard by itself, as a whole.
_PACKED = (b"\x1f\x8b", b"\x78\x01", b"\x78\x9c", b"\x78\xda", b"\x28\xb5\x2f\xfd")
_SEPARATORS = r"[\s;,]+"
# What an inventory may leave out, and what that means: nobody's property is taken for shared, nobody has opted out.
_OPTIONAL = {"owner", "shared", "opt_out", "multi_cdn", "caa", "ca", "key_holder"}


@dataclass(frozen=True, slots=True)
class Inventory:
    """``certificates``: rows of INVENTORY. ``remarks``: a line on each column that the file lacks."""

    certificates: pl.DataFrame
    remarks: list[str]


def plan_of_files(inventory: Inventory, pairs: Path, limits: Limits, excluded: Exclusions = _NONE) -> InventoryPlan:
    """The plan for an inventory by its traffic: a file of site, host and connections a day, CSV or Parquet.

    Raises:
        InputError: the file cannot be read, or lacks a column, or a value is none of its kind; a number of connections
            is whole and not negative.
    """
    traffic = scan_traffic(pairs)
    try:
        return plan_inventory(inventory.certificates, traffic, limits, excluded)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(str(pairs), "not-pairs", _why_unreadable(error)) from error
    except duckdb.Error as error:
        raise InputError(str(pairs), "not-pairs", f"cannot be worked through ({_line(error)})") from error


def scan_traffic(path: Path, counters: tuple[str, ...] = ()) -> pl.LazyFrame:
    """A file of site, host and connections, and those of ``counters`` that it has, lazily; columns as PAIRS, numbers.

    Raises:
        InputError: the file cannot be read, or lacks a column, or a number is not whole or is negative.
    """
    traffic = _scan(path, tuple(PAIRS))
    try:
        present = [name for name in counters if name in traffic.collect_schema().names()]
        for name in ("connections", *present):
            _require_counts(path, traffic, name)
        kinds = {**PAIRS, **dict.fromkeys(present, pl.Int64())}
        return traffic.select(pl.col(name).cast(kind) for name, kind in kinds.items())
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(str(path), "not-pairs", _why_unreadable(error)) from error


def read_inventory(path: Path) -> Inventory:
    """A CDN's certificates.

    Raises:
        InputError: the file cannot be read, is larger than any inventory or lacks a column, or a value is none of its
            kind.
    """
    try:
        scanned = _scan(path, ("certificate", "names"))
        known = [name for name in INVENTORY if name in scanned.collect_schema()]
        rows = _collect_bounded(path, scanned.select(known))
        rows = rows.select(_column(path, rows, name, INVENTORY[name]) for name in known)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(str(path), "not-an-inventory", _why_unreadable(error)) from error
    missing = [pl.lit(None, kind).alias(name) for name, kind in INVENTORY.items() if name not in known]
    rows = rows.with_columns(missing).select(INVENTORY.names())
    if rows["certificate"].null_count() or rows["certificate"].is_duplicated().any():
        raise InputError(str(path), "not-an-inventory", "has a certificate without a name, or two of one name")
    holders = set(rows["key_holder"].drop_nulls().unique()) - {"cdn", "customer"}
    if holders:
        raise InputError(str(path), "not-an-inventory", f"has key_holder {min(holders)!r}: it is cdn or customer")
    absent = sorted(_OPTIONAL & {name for name in INVENTORY if name not in known})
    remarks = [f"{path} has no column {name}: {_consequence_of_unknown(name)}" for name in absent]
    certificates = rows.with_columns(
        pl.col("names").list.eval(pl.element().str.to_lowercase().str.strip_chars_end("."))
    )
    return Inventory(certificates, remarks)


def _collect_bounded(path: Path, scanned: pl.LazyFrame) -> pl.DataFrame:
    """All rows, in memory, if they are not more than any inventory has: a small file may hold one text many times.

    Raises:
        InputError: they are more.
    """
    texts = [name for name, kind in scanned.collect_schema().items() if kind in (pl.String, pl.Categorical)]
    scanned = scanned.with_columns(pl.col(texts).cast(pl.String))
    counts = scanned.select(pl.len(), *(pl.col(name).str.len_bytes().sum() for name in texts))
    rows, *sizes = counts.collect(engine="streaming").row(0)
    if rows > _MOST_ROWS or sum(sizes) > _MOST_BYTES:
        raise InputError(
            str(path), "too-large", f"has more than {_MOST_ROWS:,} rows or {_MOST_BYTES >> 30} GiB of text"
        )
    return scanned.collect()


def _consequence_of_unknown(name: str) -> str:
    if name == "key_holder":
        return "nobody's key is known to be the CDN's, so nothing can be proposed"
    if name == "shared":
        return "only names of the same owner can be proposed"
    return "taken as not set"


def _column(path: Path, rows: pl.DataFrame, name: str, kind: pl.DataType) -> pl.Expr:
    given, column = rows.schema[name], pl.col(name)
    if kind == given:
        return column
    if isinstance(kind, pl.List) and given == pl.String:
        parts = column.str.replace_all(_SEPARATORS, " ").str.strip_chars().str.split(" ")
        texts = parts.list.eval(pl.element().filter(pl.element() != ""))
        # An empty field is not known, in quotes too; a semicolon alone is an empty list, as in a CAA record.
        return pl.when(column.str.strip_chars() != "").then(texts).alias(name)
    if kind == pl.Boolean and given == pl.String:
        words = rows[name].str.to_lowercase().str.strip_chars()
        odd = set(words.drop_nulls().unique()) - {*_TRUE, *_FALSE}
        if odd:
            raise InputError(str(path), "not-an-inventory", f"has {name} {min(odd)!r}: it is true or false")
        return column.str.to_lowercase().str.strip_chars().is_in(_TRUE).alias(name)
    return column.cast(kind)


def _scan(path: Path, columns: tuple[str, ...]) -> pl.LazyFrame:
    """The file's rows, lazily: Parquet by its first bytes, else CSV with every column as text."""
    try:
        with path.open("rb") as file:
            beginning = file.read(4)
        if beginning.startswith(_PACKED):
            raise InputError(str(path), "packed", "is packed: unpack it first")
        parquet = beginning == b"PAR1"
        rows = pl.scan_parquet(path) if parquet else pl.scan_csv(path, separator=_separator(path), infer_schema=False)
        names = rows.collect_schema().names()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(str(path), "unreadable", _why_unreadable(error)) from error
    missing = [name for name in columns if name not in names]
    if missing:
        raise InputError(str(path), "no-column", f"has no column {missing[0]}; it needs {', '.join(columns)}")
    return rows


def _separator(path: Path) -> str:
    """What separates the columns of a CSV file: the comma, or what spreadsheets of other languages write."""
    with path.open("rb") as file:
        header = file.readline(_LONGEST_HEADER_BYTES).decode(errors="replace")
    return max(_COLUMN_SEPARATORS, key=header.count)


def _why_unreadable(error: Exception) -> str:
    if isinstance(error, pl.exceptions.NoDataError):
        return "is empty; the first line names the columns"
    if isinstance(error, OSError):
        return f"cannot be read ({error.strerror})" if error.strerror else "cannot be read"
    return "is neither Parquet nor CSV in UTF-8 whose rows have the columns that its first line names"


def _require_counts(path: Path, traffic: pl.LazyFrame, counter: str) -> None:
    """See that each number of a column is a whole one that is not negative.

    Raises:
        InputError: one is not; the first is named.
    """
    given = pl.col(counter)
    if traffic.collect_schema()[counter] == pl.String:
        good = given.str.contains(r"^[0-9]{1,18}$")
    else:
        number = given.cast(pl.Float64, strict=False)
        good = (number >= 0) & (number < _MOST_CONNECTIONS) & (number == number.floor())
    bad = traffic.with_row_index("row", 1).filter(~good.fill_null(value=False)).select("row", counter).head(1)
    for row, value in bad.collect(engine="streaming").iter_rows():
        shown = f"no {counter}" if value is None else f"{value!r} {counter}"
        problem = f"row {row} has {shown}: the number is a whole one, 0 or more"
        raise InputError(str(path), "not-pairs", problem)


def _line(error: Exception) -> str:
    return str(error).partition("\n")[0]
