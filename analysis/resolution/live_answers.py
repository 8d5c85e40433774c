"""What a study's recordings lack and can still be asked for, and the rows of what was answered."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

import duckdb
import polars as pl

from originset.analysis.certificates.certificate_rows import certificate_from_der, certificate_tables
from originset.data.captures.capture import DnsQuery
from originset.data.schema.sql_views import view_sql
from originset.data.schema.study_tables import TABLES, polars_type
from originset.data.studies.database_file import SHUT_IN
from originset.data.studies.shards import (
    LIVE,
    literal,
    read_shard,
    read_shards_sql,
    scan,
    shard_path,
    shard_paths,
    write_shard,
)
from originset.data.studies.study import Study

_PLACE = ["visit_id", "host", "server_ip", "port"]

# The tables that are written, and the keys by which later rows replace earlier ones.
_KEYS = {
    "certificates": ("certificate_id",),
    "certificate_names": ("certificate_id", "name"),
    "dns_queries": ("visit_id", "host"),
    "live_handshakes": ("visit_id", "host", "port"),
}


@dataclass(frozen=True, slots=True)
class MissingAnswers:
    """What recordings lack. ``names``: visit_id and host; ``places``: also server_ip (NULL: not recorded) and port.

    ``names`` have no DNS answers. ``places`` have no certificate, or one whose names are not known.
    """

    names: pl.DataFrame
    places: pl.DataFrame

    @property
    def hosts(self) -> list[str]:
        """All hosts of both, in order."""
        return sorted({*self.names["host"], *self.places["host"]})


@dataclass(frozen=True, slots=True)
class LiveHandshake:
    """One live handshake: the columns of ``live_handshakes`` except the visit, and the certificate as DER."""

    host: str
    server_ip: str | None
    port: int
    recorded: bool
    recorded_ip: str | None
    address_changed: bool | None
    certificate: bytes | None
    protocol: str | None
    tls_version: str | None
    asked_at: datetime | None
    problem: str | None


def missing_answers(study: Study, *, again: bool = False, refused_too: bool = False) -> MissingAnswers:
    """The DNS answers and certificates that recordings lack for the pages' https and wss hosts.

    Earlier live answers are not obtained again, unless ``again``; ``refused_too``: try again what was not contacted.
    """
    secure = _secure_hosts(study)
    names = secure.select("visit_id", "host").unique()
    # A host that ends in a digit or has a colon is an IP address.
    names = names.filter(~pl.col("host").str.contains(r"(^|\.)[0-9]+$|:"))
    answered = scan(study, "dns_queries").filter(pl.col("rtype").is_in(["A", "AAAA"]))
    answered = answered.filter(pl.col("source") != "live") if again else answered
    names = names.join(answered.select("visit_id", "host").unique().collect(), on=["visit_id", "host"], how="anti")
    return MissingAnswers(names.sort("visit_id", "host"), _places(study, secure, again=again, refused_too=refused_too))


def _secure_hosts(study: Study) -> pl.DataFrame:
    """The hosts of network requests over TLS: visit_id, host, port, server_ip and connection_id, distinct."""
    paths = shard_paths(study, "requests")
    with duckdb.connect(config=SHUT_IN) as connection:
        requests = read_shards_sql(study, "requests", paths, literal(str(study.root.absolute())))
        connection.execute(f"CREATE TEMP VIEW requests AS {requests}")
        connection.execute(f"CREATE TEMP VIEW network_requests AS {view_sql('network_requests')}")
        rows: pl.DataFrame = connection.sql("""
            SELECT DISTINCT visit_id, host, port, server_ip, connection_id FROM network_requests
            WHERE secure AND host IS NOT NULL
        """).pl()
    return rows


def _places(study: Study, secure: pl.DataFrame, *, again: bool, refused_too: bool) -> pl.DataFrame:
    with_names = scan(study, "certificates").filter(pl.col("san_count").is_not_null()).select("certificate_id").unique()
    connections = scan(study, "connections").filter(pl.col("tls").ne_missing(other=False)).with_columns(
        pl.col("first_host").alias("host"), pl.col("port").fill_null(443)
    )  # fmt: skip
    ours = connections.drop_nulls("host").join(secure.lazy(), on=["visit_id", "host"], how="semi")
    without = ours.join(with_names, on="certificate_id", how="anti").select(_PLACE)
    without_connection = secure.lazy().filter(pl.col("connection_id").is_null()).select(_PLACE)
    with_certificate = (
        ours.join(with_names, on="certificate_id", how="semi").select("visit_id", "host", "port").unique()
    )
    # A certificate from another connection to the host is not evidence for this address.
    without_connection = without_connection.join(
        with_certificate, on=["visit_id", "host", "port"], how="anti", nulls_equal=True
    )
    earlier_handshakes = scan(study, "live_handshakes")
    earlier_handshakes = (
        earlier_handshakes.filter(pl.col("asked_at").is_not_null()) if refused_too else earlier_handshakes
    )
    earlier_handshakes = earlier_handshakes.head(0) if again else earlier_handshakes
    return (
        pl.concat([without, without_connection])
        .with_columns(pl.col("port").fill_null(443))
        .unique()
        .join(earlier_handshakes, on=["visit_id", "host", "port"], how="anti")
        .sort(_PLACE)
        .collect(engine="streaming")
    )


def store_answers(
    study: Study,
    wanted: MissingAnswers,
    began: datetime,
    queries: Iterable[DnsQuery],
    handshakes: Iterable[LiveHandshake],
) -> dict[str, int]:
    """Add live answers to the study, for each visit that lacks them; they replace earlier ones. Returns counts.

    ``began``: when the queries' ``asked_ms`` count from. ``queries`` and ``handshakes``: of whole hosts.
    """
    queries, handshakes = list(queries), list(handshakes)
    leaves = {
        one.certificate: certificate_from_der(one.certificate) for one in handshakes if one.certificate is not None
    }
    for table, rows in certificate_tables(leaves.values()).items():
        _replace(study, table, rows, _KEYS[table])
    answers = _answers(study, wanted.names, began, queries)
    _replace(study, "dns_queries", answers, _KEYS["dns_queries"])
    ids = {der: certificate.certificate_id for der, certificate in leaves.items()}
    rows = _handshakes(wanted.places, handshakes, ids)
    _replace(study, "live_handshakes", rows, _KEYS["live_handshakes"])
    return {
        "names": len({query.host for query in queries}),
        "handshakes": sum(one.asked_at is not None for one in handshakes),
        "certificates": sum(one.certificate is not None for one in handshakes),
        "not_contacted": sum(one.asked_at is None for one in handshakes),
    }


def merge_answers(study: Study, source: Study) -> None:
    """Merge the live answers of another study into one that the caller has locked."""
    for table, key in _KEYS.items():
        path = shard_path(source, table, LIVE)
        if path.is_file():
            _replace(study, table, read_shard(source, table, path), key)


def _answers(study: Study, names: pl.DataFrame, began: datetime, queries: list[DnsQuery]) -> pl.DataFrame:
    schema = TABLES["dns_queries"].polars_schema
    fields = [name for name in schema if name != "visit_id"]
    query_rows = pl.DataFrame(
        [{name: getattr(query, name) for name in fields} for query in queries],
        schema={name: schema[name] for name in fields},
    ).drop("lookup_id")
    last = scan(study, "dns_queries").group_by("visit_id").agg(pl.col("lookup_id").max().alias("last")).collect()
    started = scan(study, "visits").select("visit_id", "started_at").unique("visit_id").collect()
    age = (pl.lit(began.astimezone(UTC).replace(tzinfo=None)) - pl.col("started_at")).dt.total_microseconds() / 1000
    return (
        names.join(last, on="visit_id", how="left")
        .join(started, on="visit_id", how="left")
        .with_columns(
            (pl.col("last").fill_null(0) + pl.col("host").rank("ordinal").over("visit_id"))
            .cast(pl.Int32)
            .alias("lookup_id")
        )
        .join(query_rows, on="host")
        .with_columns((pl.col("asked_ms") + age).alias("asked_ms"))
        .select(schema.names())
    )


def _handshakes(places: pl.DataFrame, handshakes: list[LiveHandshake], ids: dict[bytes, str]) -> pl.DataFrame:
    schema = TABLES["live_handshakes"].polars_schema
    handshake_rows = pl.DataFrame(
        [
            {
                "host": one.host,
                "recorded_ip": one.recorded_ip,
                "contacted": one.server_ip,
                "port": one.port,
                "recorded": one.recorded,
                "address_changed": one.address_changed,
                "certificate_id": None if one.certificate is None else ids[one.certificate],
                "protocol": one.protocol,
                "tls_version": one.tls_version,
                "asked_at": None if one.asked_at is None else one.asked_at.astimezone(UTC).replace(tzinfo=None),
                "problem": one.problem,
            }
            for one in handshakes
        ],
        schema={
            **{name: kind for name, kind in schema.items() if name not in {"visit_id", "server_ip"}},
            "recorded_ip": polars_type("VARCHAR"),
            "contacted": polars_type("VARCHAR"),
        },
    )
    return (
        places.join(
            handshake_rows,
            left_on=["host", "server_ip", "port"],
            right_on=["host", "recorded_ip", "port"],
            nulls_equal=True,
        )
        .with_columns(pl.col("contacted").alias("server_ip"))
        .select(schema.names())
        .unique(TABLES["live_handshakes"].key, keep="first", maintain_order=True)
    )


def _replace(study: Study, table: str, rows: pl.DataFrame, key: tuple[str, ...]) -> None:
    path = shard_path(study, table, LIVE)
    if rows.is_empty():
        return
    if path.exists():
        remaining = read_shard(study, table, path).join(rows, on=list(key), how="anti")
        rows = pl.concat([remaining, rows.select(remaining.columns)])
    write_shard(study, table, LIVE, rows)
