"""The page loads of a NetLog as rows of the tables that an import writes."""

from __future__ import annotations

import msgspec
import polars as pl

from originset.analysis.captures.capture_tables import CaptureBatch
from originset.analysis.har.entry_columns import VisitFacts
from originset.analysis.har.recorders import NETLOG
from originset.analysis.netlog.netlog_captures import NetLogCaptures
from originset.data.captures.capture import decode_raw_extension
from originset.data.errors import InputError

# What a crawl decides, and a recording by hand does not say.
_OF_CRAWLS = ("round", "repeat", "page_kind")


def netlog_tables(
    captures: NetLogCaptures, source: str, sha256: str, *, keep_secrets: bool = False
) -> dict[str, pl.DataFrame]:
    """Rows by table; ``source`` and ``sha256`` are the file's.

    Raises:
        InputError: it has more connections, lookups or certificates than any capture, or a number out of range.
    """
    batch = CaptureBatch(keep_secrets=keep_secrets)
    for log, extension in captures.visits:
        # Strangers' numbers meet the bounds that captures have.
        bounded = decode_raw_extension(msgspec.json.encode(extension), source)
        batch.add_visit(log, bounded, VisitFacts(extension.visit.visit_id, source, sha256, NETLOG))
    try:
        tables = batch.tables()
    except (ArithmeticError, LookupError, TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise InputError(source, "no-rows", f"no rows can be made of it ({type(error).__name__})") from error
    unknown = [pl.lit(None, tables["visits"].schema[name]).alias(name) for name in _OF_CRAWLS]
    return tables | {"visits": tables["visits"].with_columns(unknown)}
