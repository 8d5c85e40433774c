"""HAR files to tables, many at once: the one door through which imports and captures go."""

from __future__ import annotations

import polars as pl

from originset.analysis.certificates import certificate_tables, from_details
from originset.analysis.har.connections import connection_rows
from originset.analysis.har.gather import Gathered, VisitFacts
from originset.analysis.har.recorders import Recorder, browser, detect
from originset.analysis.har.requests import request_rows
from originset.analysis.har.structs import Page, decode
from originset.analysis.har.visits import visit_rows
from originset.data.identity import import_visit_id
from originset.data.schema import TABLES


class HarBatch:
    """HAR files that become one shard of each table. Memory is that of its files' columns, not of their text."""

    def __init__(self) -> None:
        self._gathered = Gathered()

    @property
    def entries(self) -> int:
        """How many entries it holds."""
        return self._gathered.entries

    def add(self, text: bytes, source: str, sha256: str) -> Recorder:
        """Take one file and say what recorded it; ``source`` is its path within what was imported.

        Raises:
            InputError: it is no HAR; nothing of it is taken.
        """
        log = decode(text, source)
        recorder = detect(log)
        kind, version = browser(log, recorder)
        pages: list[Page | None] = [*log.pages] if log.pages else [None]
        self._gathered.add(
            log,
            [
                VisitFacts(
                    visit_id=import_visit_id(source, index),
                    source=source,
                    sha256=sha256,
                    recorder=recorder,
                    recorder_version=log.creator.version if log.creator is not None else None,
                    browser=kind,
                    browser_version=version,
                    page=page,
                )
                for index, page in enumerate(pages)
            ],
        )
        return recorder

    def tables(self) -> dict[str, pl.DataFrame]:
        """Rows of visits, requests, connections, certificates and certificate_names."""
        rows = request_rows(self._gathered)
        certificates = [from_details(details) for details in self._gathered.certificates]
        return {
            "visits": visit_rows(self._gathered.visits, rows),
            "requests": finished_requests(rows),
            "connections": connection_rows(rows, [certificate.certificate_id for certificate in certificates]),
            **certificate_tables(certificates),
        }


def finished_requests(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows with exactly the columns of ``requests``; what a HAR cannot tell is NULL."""
    known = rows.with_columns(pl.lit("unknown").alias("credentials")) if "credentials" not in rows.columns else rows
    return known.select(
        pl.col(name).cast(kind) if name in known.columns else pl.lit(None, kind).alias(name)
        for name, kind in TABLES["requests"].polars_schema.items()
    )
