"""HAR files to tables, many at once: the one door through which imports and captures go."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import polars as pl

from originset.analysis.certificates.certificate_rows import certificate_from_details, certificate_tables
from originset.analysis.har.connections import connection_rows
from originset.analysis.har.decoding.har_decoder import decode
from originset.analysis.har.decoding.structs import Log, Page
from originset.analysis.har.decoding.truncated import whole_entries
from originset.analysis.har.entry_columns import EntryColumns, VisitFacts
from originset.analysis.har.recorders import Recorder, browser, detect_recorder, recorder_version
from originset.analysis.har.requests import request_rows
from originset.analysis.har.user_agents import sent_version
from originset.analysis.har.visits import visit_rows
from originset.analysis.har.webpagetest_chains import from_chain
from originset.analysis.har.webpagetest_lookups import lookup_rows
from originset.data.errors import InputError
from originset.data.schema.study_tables import TABLES
from originset.data.studies.identity import import_visit_id


@dataclass(frozen=True, slots=True)
class FileSummary:
    """What was read from a file; ``lost``: where a truncated file ends."""

    recorder: Recorder
    lost: InputError | None = None


class HarBatch:
    """HAR files whose rows become one shard of each table. It keeps their columns in memory, not their text.

    ``keep_secrets``: URLs stay as they are in the files.
    """

    def __init__(self, *, keep_secrets: bool = False) -> None:
        self._entry_columns = EntryColumns()
        self._keep_secrets = keep_secrets

    @property
    def entries(self) -> int:
        """The number of entries so far."""
        return self._entry_columns.entries

    def add(self, text: bytes, source: str, sha256: str) -> FileSummary:
        """Add one file; ``source`` is its path within the imported folder or archive.

        Raises:
            InputError: it is not a HAR; nothing of it is added.
        """
        with _cycles_later():
            log, lost = decode_whole_entries(text, source)
            recorder = detect_recorder(log)
            kind, version = browser(log, recorder)
            version = version or sent_version(text, kind)
            pages: list[Page | None] = [*log.pages] if log.pages else [None]
            self.add_log(
                log,
                [
                    VisitFacts(
                        visit_id=import_visit_id(source, index),
                        source=source,
                        sha256=sha256,
                        recorder=recorder,
                        recorder_version=recorder_version(log, recorder),
                        browser=kind,
                        browser_version=version,
                        page=page,
                        truncated=lost is not None,
                        later=index > 0,
                    )
                    for index, page in enumerate(pages)
                ],
            )
            del log
        return FileSummary(recorder, lost)

    def add_log(self, log: Log, visits: list[VisitFacts]) -> None:
        """Add a decoded HAR, whose pages are ``visits``."""
        self._entry_columns.add(log, visits)

    def tables(self) -> dict[str, pl.DataFrame]:
        """Rows of visits, requests, connections, dns_queries, certificates and certificate_names."""
        rows = request_rows(self._entry_columns, keep_secrets=self._keep_secrets)
        chains = [
            from_chain(certificate_facts)
            if isinstance(certificate_facts, tuple)
            else [certificate_from_details(certificate_facts)]
            for certificate_facts in self._entry_columns.certificates
        ]
        return {
            "visits": visit_rows(self._entry_columns.visits, rows, keep_secrets=self._keep_secrets),
            "requests": finished_requests(rows),
            "connections": connection_rows(rows, [chain[0].certificate_id if chain else None for chain in chains]),
            "dns_queries": lookup_rows(self._entry_columns, rows),
            **certificate_tables([certificate for chain in chains for certificate in chain]),
        }


@contextmanager
def _cycles_later() -> Iterator[None]:
    """Pause Python's cyclic garbage collector: decoded JSON has no cycles, but many objects, which trigger it often."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def decode_whole_entries(text: bytes, source: str) -> tuple[Log, InputError | None]:
    """A HAR's log; of a truncated HAR its whole entries, and the byte offset where the rest is lost.

    Raises:
        InputError: it is no HAR, or not one entry of it is whole.
    """
    try:
        return decode(text, source), None
    except InputError as error:
        if error.reason != "truncated" or (whole_part := whole_entries(text)) is None:
            raise
        entries_text, end = whole_part
        log = decode(entries_text, source)
        detail = f"cut off: {len(log.entries)} whole entries are kept, the rest is lost"
        return log, InputError(source, "truncated", detail, end)


def finished_requests(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows with exactly the columns of ``requests``; what a HAR does not have is NULL."""
    complete = rows.with_columns(pl.lit("unknown").alias("credentials")) if "credentials" not in rows.columns else rows
    return complete.select(
        pl.col(name).cast(kind) if name in complete.columns else pl.lit(None, kind).alias(name)
        for name, kind in TABLES["requests"].polars_schema.items()
    )
