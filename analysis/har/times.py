"""Time stamps of HARs to UTC: RFC 3339 as the standard asks, and the near misses that recorders write."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

import polars as pl

# There were no HARs before: 1969 and 1970 are a clock's zero.
EARLIEST = datetime(1990, 1, 1, tzinfo=UTC)
LATEST = datetime(2200, 1, 1, tzinfo=UTC)

_STAMP = re.compile(
    r"\s*(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,12}))?\s*(Z|[+-]\d\d(?::?\d\d)?)?\s*",
    re.IGNORECASE | re.ASCII,
)
_MILLISECONDS = re.compile(r"\d{12,13}(?:\.\d+)?", re.ASCII)


def parse_timestamp(text: str) -> datetime | None:
    """The time in UTC, to the microsecond; None if the text is not a time stamp, or is before HARs existed.

    Understands offsets with and without a colon, a blank for the ``T``, any number of fractional digits, no offset at
    all (then UTC), and milliseconds since 1970.
    """
    moment: datetime | None = None
    try:
        if parts := _STAMP.fullmatch(text):
            microseconds = int((parts[7] or "").ljust(6, "0")[:6])
            year, month, day, hour, minute, second = (int(part) for part in parts.group(1, 2, 3, 4, 5, 6))
            moment = datetime(year, month, day, hour, minute, second, microseconds, _offset(parts[8])).astimezone(UTC)
        elif _MILLISECONDS.fullmatch(text):
            moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=float(text))
    except (ValueError, OverflowError):
        return None
    return moment if moment is not None and EARLIEST <= moment < LATEST else None


def _offset(text: str | None) -> timezone:
    if text is None or text in "Zz":
        return UTC
    digits = text[1:].replace(":", "").ljust(4, "0")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-offset if text[0] == "-" else offset)


def parse_timestamps(column: pl.Series) -> pl.Series:
    """:func:`parse_timestamp` over a column of strings: Datetime in microseconds, UTC, without a zone."""
    # chrono's RFC 3339 parser reads nearly all of them.
    parsed = column.str.to_datetime("%+", time_unit="us", time_zone="UTC", strict=False)
    left = column.filter(parsed.is_null() & column.is_not_null()).unique()
    if len(left):
        others = {text: parse_timestamp(text) for text in left}
        slow = column.replace_strict(others, default=None, return_dtype=pl.Datetime("us", "UTC"))
        parsed = parsed.zip_with(parsed.is_not_null(), slow)
    valid = (parsed >= EARLIEST) & (parsed < LATEST)
    return parsed.zip_with(
        valid, pl.Series([None], dtype=parsed.dtype).new_from_index(0, len(parsed))
    ).dt.replace_time_zone(None)
