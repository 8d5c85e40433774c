"""``--client-mix FILE``: shares of clients by browser and protocol, from CSV or TOML."""

from __future__ import annotations

import csv
import math
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from originset.data.errors import InputError
from originset.models.plans.client_shares import ClientMix

_KINDS = tuple(ClientMix.__struct_fields__)
_MAX_BYTES = 64 << 10
# The comma, or what spreadsheets of other languages write.
_SEPARATORS = (",", ";", "\t")

# Shares in a file are often rounded to whole percents.
_ROUNDING = 0.02


def read_client_mix(path: Path) -> ClientMix:
    """Shares from a file: CSV with the columns browser, protocol and share, or TOML with a table for each browser.

    Browsers are chromium, firefox and other (which needs no protocol), protocols h2 and h3. Rows of one kind are added
    up; what is rounded is scaled to 1.

    Raises:
        InputError: it cannot be read, holds something else, or its shares do not add up to 1.
    """
    try:
        with path.open("rb") as file:
            text = file.read(_MAX_BYTES).decode("utf-8-sig")
    except OSError as error:
        raise InputError(str(path), "unreadable", f"cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise _invalid(path, "is not UTF-8") from error
    shares = dict.fromkeys(_KINDS, 0.0)
    for browser, protocol, value in _toml(path, text) if path.suffix == ".toml" else _csv(path, text):
        kind = "other" if browser == "other" else f"{browser}_{protocol}"
        if kind not in shares:
            raise _invalid(path, f"has {kind!r}, which is none of {', '.join(_KINDS)}")
        try:
            share = math.nan if isinstance(value, bool) else float(value)
        except (TypeError, ValueError, OverflowError):
            share = math.nan
        if not 0 <= share <= 1:
            raise _invalid(path, f"has a share of {value!r} for {kind}, which is not between 0 and 1")
        shares[kind] += share
    total = sum(shares.values())
    if abs(total - 1) > _ROUNDING:
        raise _invalid(path, f"has shares that add up to {total:g}, not to 1; the rest is 'other'")
    return ClientMix(**{kind: share / total for kind, share in shares.items()})


def _csv(path: Path, text: str) -> Iterator[tuple[str, str, Any]]:
    lines = text.splitlines()
    separator = max(_SEPARATORS, key=lines[0].count) if lines else ","
    rows = csv.DictReader(lines, delimiter=separator)
    if not {"browser", "protocol", "share"} <= set(rows.fieldnames or ()):
        raise _invalid(path, "lacks one of the columns browser, protocol and share")
    for row in rows:
        share = row["share"]
        if separator == ";" and share is not None:  # the decimal comma of the same spreadsheets
            share = share.replace(",", ".")
        yield str(row["browser"]).strip().lower(), str(row["protocol"]).strip().lower(), share


def _toml(path: Path, text: str) -> Iterator[tuple[str, str, Any]]:
    try:
        given = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a number of thousands of digits is a ValueError
        place = re.search(r"\(at (line \d+, column \d+)\)$", str(error))
        raise _invalid(path, f"is not TOML at {place[1]}" if place else "is not TOML") from error
    for browser, shares in given.items():
        for protocol, share in shares.items() if isinstance(shares, dict) else [("", shares)]:
            yield browser, protocol, share


def _invalid(path: Path, why: str) -> InputError:
    return InputError(str(path), "not-a-client-mix", why)
