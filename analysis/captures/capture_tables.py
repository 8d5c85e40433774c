"""Captures to rows of every table that a capture can fill, many at once.

Their requests take the same way as those of foreign HARs; what only a capture has comes from ``log._originset``.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import replace
from pathlib import Path

import polars as pl
from msgspec.structs import asdict

from originset.analysis.captures.lookup_rows import dns_query_rows
from originset.analysis.certificates.certificate_rows import Certificate, certificate_from_der, certificate_tables
from originset.analysis.har.decoding.har_decoder import decode
from originset.analysis.har.decoding.structs import Log
from originset.analysis.har.entry_columns import EntryColumns, VisitFacts
from originset.analysis.har.recorders import ORIGINSET
from originset.analysis.har.requests import request_rows
from originset.analysis.har.tables import finished_requests
from originset.analysis.har.times import parse_timestamp
from originset.analysis.har.urls import map_distinct, split_authority
from originset.data.captures.capture import Connection, Extension, decode_extension, decode_raw_extension
from originset.data.captures.capture import Visit as CapturedVisit
from originset.data.errors import InputError
from originset.data.host_names import canonical_ip, normalise_host
from originset.data.reference.registrable_domains import registrable_domain
from originset.data.sanitising.url_redaction import redact_url
from originset.data.schema.study_tables import TABLES

# Chromium's privacy modes that show whether credentials were sent. In "enabled partitioned state
# allowed" third-party cookies were blocked, which does not show the request's credentials mode.
_CREDENTIALS = {"disabled": "include", "enabled": "omit", "enabled without client certs": "omit"}


class CaptureBatch:
    """Captures whose rows become one shard of each table. ``suffix_list``: None for the list of tldextract.

    ``keep_secrets``: URLs stay as they are.
    """

    def __init__(self, suffix_list: Path | None = None, *, keep_secrets: bool = False) -> None:
        self._keep_secrets = keep_secrets
        self._suffix_list = suffix_list
        self._entry_columns = EntryColumns()
        self._extensions: list[Extension] = []
        self._credentials: list[tuple[int, int, str]] = []  # visit, place of the entry, mode

    def add(self, text: bytes, source: str, visit_id: str | None = None) -> None:
        """Add one capture's text. ``visit_id``: the visit in the name of its file; None if it has no file.

        Raises:
            InputError: it is not a capture, or belongs to another visit; nothing of it is added.
        """
        log = decode(text, source)
        if log.extension is None:
            decode_extension(text, source)  # which says what is wrong
            raise InputError(source, "not-capture", "log._originset is null")
        extension = decode_raw_extension(log.extension, source)
        log.extension = None  # it would keep the whole text
        visit = extension.visit
        if visit_id not in {None, visit.visit_id}:
            raise InputError(source, "misnamed", "its visit_id is not the one that its file is named by")
        version = log.creator.version if log.creator is not None else None
        self.add_visit(log, extension, VisitFacts(visit.visit_id, "crawl", None, ORIGINSET, version))

    def add_visit(self, log: Log, extension: Extension, facts: VisitFacts) -> None:
        """Add a decoded capture, or what another recording has in its form; ``facts``: without the clock's zero."""
        facts = replace(facts, zero=parse_timestamp(extension.visit.started_at))
        self._credentials += [
            (len(self._extensions), place, entry.credentials)
            for place, entry in enumerate(log.entries)
            if entry.credentials in {"include", "omit"}
        ]
        log.pages = None  # a capture is one page
        self._entry_columns.add(log, [facts])
        self._extensions.append(extension)

    def tables(self) -> dict[str, pl.DataFrame]:
        """Rows of visits, requests, connections, dns_queries, certificates and certificate_names."""
        requests = self._requests()
        return {
            "requests": finished_requests(requests),
            "connections": self._connections(requests),
            "dns_queries": _frame("dns_queries", dns_query_rows(self._extensions)),
            **certificate_tables(self._certificates()),
            "visits": self._visits(),
        }

    def _visits(self) -> pl.DataFrame:
        rows = [
            {
                **asdict(extension.visit),
                "url": self._without_secrets(extension.visit.url),
                "final_url": None
                if extension.visit.final_url is None
                else self._without_secrets(extension.visit.final_url),
                "started_at": None if facts.zero is None else facts.zero.replace(tzinfo=None),
                "source": facts.source,
                "source_sha256": facts.sha256,
                "recorder": facts.recorder.name,
                "recorder_version": facts.recorder_version,
            }
            for extension, facts in zip(self._extensions, self._entry_columns.visits, strict=True)
        ]
        return _frame("visits", rows)

    def _without_secrets(self, url: str) -> str:
        return url if self._keep_secrets else redact_url(url)

    def _requests(self) -> pl.DataFrame:
        rows = request_rows(self._entry_columns, keep_secrets=self._keep_secrets)
        modes = pl.DataFrame(
            [
                {
                    "visit_id": extension.visit.visit_id,
                    "connection_id": connection.id,
                    "credentials": _credentials(connection, extension.visit),
                }
                for extension in self._extensions
                for connection in extension.connections
            ],
            schema={"visit_id": pl.String, "connection_id": pl.Int64, "credentials": pl.String},
        ).unique(["visit_id", "connection_id"])
        rows = rows.join(modes, on=["visit_id", "connection_id"], how="left", maintain_order="left")
        credentials = pl.DataFrame(
            self._credentials,
            schema={"visit": rows.schema["visit"], "place": rows.schema["place"], "said": pl.String},
            orient="row",
        )
        rows = rows.join(credentials, on=["visit", "place"], how="left", maintain_order="left")
        return rows.with_columns(
            pl.coalesce("said", "credentials", pl.lit("unknown")).alias("credentials"),
            map_distinct(rows["frame_url"], self._site_of).alias("frame_site"),
        )

    def _site_of(self, url: str) -> str | None:
        """The registrable domain (or the host) of a URL."""
        _, separator, rest = url.partition("://")
        host = split_authority(rest.partition("/")[0].partition("?")[0])[0] if separator else None
        return None if host is None else registrable_domain(host, self._suffix_list) or host

    def _connections(self, requests: pl.DataFrame) -> pl.DataFrame:
        carried = (
            requests.filter(pl.col("connection_id").is_not_null() & pl.col("host").is_not_null())
            .group_by("visit_id", "connection_id", maintain_order=True)
            .agg(pl.col("host").unique(maintain_order=True).alias("hosts"))
        )
        rows = [
            {
                **asdict(connection),
                "visit_id": extension.visit.visit_id,
                "connection_id": connection.id,
                "first_host": None if connection.first_host is None else normalise_host(connection.first_host),
                "server_ip": None if connection.server_ip is None else canonical_ip(connection.server_ip),
                "certificate_id": connection.chain[0] if connection.chain else None,
                "source": "netlog",
            }
            for extension in self._extensions
            for connection in extension.connections
        ]
        frame = _frame("connections", rows).drop("hosts")
        joined = frame.join(carried, on=["visit_id", "connection_id"], how="left", maintain_order="left")
        return joined.with_columns(pl.col("hosts").fill_null(pl.lit([], pl.List(pl.String))))

    def _certificates(self) -> list[Certificate]:
        # Of several chains or texts the first in sort order is kept, so that the order of the visits does not matter.
        chains: dict[str, tuple[str, ...]] = {}
        texts: dict[str, str] = {}
        for extension in self._extensions:
            for connection in extension.connections:
                if connection.chain:
                    chain = tuple(connection.chain)
                    chains[chain[0]] = min(chain, chains.get(chain[0], chain))
            for certificate_id, text in extension.certificates.items():
                texts[certificate_id] = min(text, texts.get(certificate_id, text))
        return [_certificate(name, text, chains.get(name)) for name, text in texts.items()]


def _certificate(certificate_id: str, text: str, chain: tuple[str, ...] | None) -> Certificate:
    try:
        certificate = certificate_from_der(base64.b64decode(text, validate=True), chain)
    except (binascii.Error, ValueError):
        return Certificate(certificate_id, chain=chain, problem="not base64")
    if certificate.certificate_id == certificate_id:
        return certificate
    problem = "; ".join(filter(None, ["recorded under an id that is not its SHA-256", certificate.problem]))
    return replace(certificate, certificate_id=certificate_id, problem=problem)


def _credentials(connection: Connection, visit: CapturedVisit) -> str:
    if visit.third_party_cookies == "blocked" and connection.privacy_mode != "disabled":
        return "unknown"
    return _CREDENTIALS.get(connection.privacy_mode or "", "unknown")


def _frame(table: str, rows: list[dict[str, object]]) -> pl.DataFrame:
    schema = TABLES[table].polars_schema
    return pl.DataFrame([pl.Series(name, [row.get(name) for row in rows], dtype=kind) for name, kind in schema.items()])
