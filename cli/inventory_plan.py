"""``originset plan --inventory``: files of certificates and of traffic read, the plan and its rollout written."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import msgspec
import polars as pl

from originset.cli.files import write_text
from originset.cli.output import note, write_rows
from originset.data.errors import InputError, UsageError
from originset.models.plans.certificate_inventory import INVENTORY, PAIRS, InventoryPlan, Limits, plan_inventory
from originset.models.plans.rollout import rollout

_TRUE, _FALSE = ("true", "1", "yes", "t", "y"), ("false", "0", "no", "f", "n", "")
_SEPARATORS = r"[\s;,]+"
# What an inventory may leave out, and what that means: nobody's property is taken for shared, nobody has opted out.
_OPTIONAL = {"owner", "shared", "opt_out", "multi_cdn", "caa", "ca", "key_holder"}


def make(inventory: Path, pairs: Path, limits: Limits) -> InventoryPlan:
    """The plan for an inventory by its traffic; both CSV or Parquet.

    Raises:
        InputError: a file cannot be read, or lacks a column, or a value is none of its kind.
    """
    certificates = _inventory(inventory)
    traffic = _scan(pairs, ("site", "host", "connections"))
    try:
        checked = traffic.select(pl.col(name).cast(kind) for name, kind in PAIRS.items())
        return plan_inventory(certificates, checked, limits)
    except (duckdb.Error, pl.exceptions.PolarsError, OSError) as error:
        raise InputError(str(pairs), "not-pairs", f"cannot be used ({_line(error)})") from error


def show(made: InventoryPlan, out: Path | None, output_format: str) -> None:
    """Rows to stdout, or everything as JSON to ``out``; what was left out to stderr."""
    if out is None:
        write_rows(made.additions, output_format)
    else:
        content = {
            "format": "originset-inventory-plan",
            "version": 1,
            "additions": made.additions.to_dicts(),
            "left_out": made.left_out.to_dicts(),
        }
        write_text(out, json.dumps(content, indent=1) + "\n")
    total = made.left_out["connections"].sum()
    certificates = made.additions["certificate"].n_unique()
    saved = made.additions["connections_saved"].sum()
    note(f"{made.additions.height} names for {certificates} certificates save {saved} of {total} connections a day")
    for reason, pairs, connections in made.left_out.filter(pl.col("reason") != "planned").iter_rows():
        note(f"left out: {connections} connections of {pairs} pairs: {reason}")


def write_rollout(made: InventoryPlan, control_domain: str | None, path: Path, seed: str) -> None:
    """The rings and steps as JSON.

    Raises:
        UsageError: there is no domain for the control, or it is none.
    """
    if control_domain is None:
        raise UsageError("--rollout needs --control-domain", "a domain of yours, for the control's unused names")
    try:
        planned = rollout(made.additions, control_domain, seed)
    except ValueError as error:
        raise UsageError(f"--control-domain {error}") from error
    write_text(path, json.dumps(msgspec.to_builtins(planned), indent=1) + "\n")
    sizes = ", ".join(str(len(ring.certificates)) for ring in planned.rings)
    controls = sum(change.group == "control" for ring in planned.rings for change in ring.certificates)
    note(f"rollout: {len(planned.rings)} rings of {sizes} certificates, {controls} of them control")


def _inventory(path: Path) -> pl.DataFrame:
    try:
        rows = _scan(path, ("certificate", "names")).collect()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(str(path), "not-an-inventory", f"cannot be read ({_line(error)})") from error
    known = [name for name in INVENTORY if name in rows.columns]
    rows = rows.select(_column(path, rows, name, INVENTORY[name]) for name in known)
    missing = [pl.lit(None, kind).alias(name) for name, kind in INVENTORY.items() if name not in known]
    rows = rows.with_columns(missing).select(INVENTORY.names())
    if rows["certificate"].null_count() or rows["certificate"].is_duplicated().any():
        raise InputError(str(path), "not-an-inventory", "has a certificate without a name, or two of one name")
    holders = set(rows["key_holder"].drop_nulls().unique()) - {"cdn", "customer"}
    if holders:
        raise InputError(str(path), "not-an-inventory", f"has key_holder {min(holders)!r}: it is cdn or customer")
    for name in sorted(_OPTIONAL & {name for name in INVENTORY if name not in known}):
        note(f"{path} has no column {name}: " + _meaning(name))
    return rows.with_columns(pl.col("names").list.eval(pl.element().str.to_lowercase().str.strip_chars_end(".")))


def _meaning(name: str) -> str:
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
        return parts.list.eval(pl.element().filter(pl.element() != "")).alias(name)
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
            parquet = file.read(4) == b"PAR1"
        rows = pl.scan_parquet(path) if parquet else pl.scan_csv(path, infer_schema=False)
        names = rows.collect_schema().names()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(str(path), "unreadable", f"cannot be read ({_line(error)})") from error
    missing = [name for name in columns if name not in names]
    if missing:
        raise InputError(str(path), "no-column", f"has no column {missing[0]}; it needs {', '.join(columns)}")
    return rows


def _line(error: Exception) -> str:
    return str(error).partition("\n")[0]
