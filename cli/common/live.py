"""What ``study enrich`` and ``explain --live`` share: asking for what recordings lack, and their options."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import polars as pl

from originset.analysis.resolution.live_answers import LiveHandshake, MissingAnswers, missing_answers, store_answers
from originset.cli.common.contact_options import allow_private_option, ca_file_option, max_time_option, rate_option
from originset.cli.common.output import note, progress
from originset.data.studies.shards import scan
from originset.data.studies.study import Study

if TYPE_CHECKING:
    from originset.crawler.probe.live_lookups import CertificateProbe, Endpoint, LookupPolicy

_F = TypeVar("_F", bound=Callable[..., Any])

# Hosts between two writes: these answers are kept if the rest is interrupted.
_AT_ONCE = 25
# Hosts and reasons that a remark names.
_NAMED = 5

# For all hosts together, by default.
_LIVE_SECONDS = 3600.0
_PER_SECOND = 5.0

CONTACTS = pl.Schema(
    {
        "host": pl.String(),
        "what": pl.String(),
        "address": pl.String(),
        "port": pl.Int32(),
        "visits": pl.UInt32(),
        "contacted": pl.Boolean(),
        "why_not": pl.String(),
    }
)


def live_options(function: _F) -> _F:
    """Add ``--resolver``, ``--rate``, ``--max-time``, ``--ca-file`` and ``--allow-private``."""
    options = (
        click.option(
            "--resolver",
            default="system",
            show_default=True,
            metavar="ADDRESS[:PORT]",
            help="The DNS resolver to query: its IP address, system (the first of /etc/resolv.conf), or none.",
        ),
        rate_option(_PER_SECOND),
        max_time_option(_LIVE_SECONDS),
        ca_file_option,
        allow_private_option,
    )
    for option in reversed(options):
        function = option(function)
    return function


def policy(resolver: str, rate: float, *, allow_private: bool, ca_file: Path | None = None) -> LookupPolicy:
    """The options as a policy of the crawler.

    Raises:
        UsageError: the resolver is not valid.
    """
    from originset.crawler.probe.live_lookups import LookupPolicy  # noqa: PLC0415 - explain does without
    from originset.crawler.probe.resolver import parse_resolver  # noqa: PLC0415 - likewise

    return LookupPolicy(parse_resolver(resolver), rate, allow_private, ca_file)


def enrich(study: Study, how: LookupPolicy, seconds: float, *, again: bool = False) -> dict[str, int]:
    """Obtain live what a study's recordings lack, and store it for ``analyze``; returns counts.

    Asks for at most ``seconds``. Hosts that this left no time for are ``unfinished``, and lacking as before.

    Raises:
        StudyError: another process is changing the study.
    """
    from originset.crawler.probe.live_lookups import LookupRequest, probe_live  # noqa: PLC0415 - explain does without

    resolver = None if how.resolver is None else how.resolver.name
    facts = {"resolver": resolver, "rate": how.rate, "allow_private": how.allow_private, "again": again}
    with study.changing("enrich", facts) as counts, progress() as display:
        missing = missing_answers(study, again=again, refused_too=how.allow_private)
        counts.update(names=0, handshakes=0, certificates=0, not_contacted=0, unfinished=0)
        ends = time.monotonic() + seconds
        hosts = missing.hosts
        places = places_of(missing)
        if hosts:
            note(_announcement(hosts, missing, resolver))
        task = display.add_task("ask for hosts", total=len(hosts))
        for first in range(0, len(hosts), _AT_ONCE):
            rest = ends - time.monotonic()
            if rest <= 0:
                counts["unfinished"] += len(hosts) - first
                break
            next_hosts = hosts[first : first + _AT_ONCE]
            began = datetime.now(UTC)
            probes = probe_live([LookupRequest(host, places.get(host, ())) for host in next_hosts], how, rest)
            counts["unfinished"] += len(probes.unfinished)
            for name, count in store_answers(
                study, missing, began, probes.queries, map(_live_handshake, probes.handshakes)
            ).items():
                counts[name] += count
            display.advance(task, len(next_hosts))
    return dict(counts)


def _announcement(hosts: list[str], missing: MissingAnswers, resolver: str | None) -> str:
    """What is going to be asked of whom."""
    names = f"DNS at {resolver} for {missing.names['host'].n_unique()} names" if resolver else "no DNS"
    servers = missing.places.select("host", "port").unique().height
    listed = ", ".join(hosts[:_NAMED]) + (f" and {len(hosts) - _NAMED} more" if len(hosts) > _NAMED else "")
    return f"asking {names}, and {servers} servers for their certificates: {listed}"


def handshake_problems(study: Study) -> list[str]:
    """Why live handshakes gave no certificate that is trusted, each reason with its hosts, the commonest first."""
    failed = scan(study, "live_handshakes").filter(pl.col("problem").is_not_null()).select("host", "problem").unique()
    rows = failed.collect().group_by("problem").agg(pl.col("host").sort()).sort(pl.col("host").list.len(), "problem")
    return [
        f"{problem}: {', '.join(hosts[:_NAMED])}{f' and {len(hosts) - _NAMED} more' if len(hosts) > _NAMED else ''}"
        for problem, hosts in reversed(rows.select("problem", "host").rows())
    ]


def remark(counts: dict[str, int], problems: Sequence[str] = ()) -> None:
    """Print how many names and servers were contacted, what they answered, and ``problems`` of handshakes."""
    certificates, handshakes = counts["certificates"], counts["handshakes"]
    trusted = f"{certificates} of {handshakes} TLS handshakes gave a trusted certificate"
    note(f"queried DNS for {counts['names']} names; {trusted}")
    if handshakes and not certificates:
        note("if a private CA issues these servers' certificates, name its file with --ca-file")
    for problem in problems[:_NAMED]:
        note(f"no certificate: {problem}")
    if len(problems) > _NAMED:
        note(f"{len(problems) - _NAMED} more reasons; live_handshakes has them all")
    if counts["not_contacted"]:
        note(f"{counts['not_contacted']} servers were not contacted; live_handshakes says why")
    if counts["unfinished"]:
        note(f"there was no time for {counts['unfinished']} hosts; allow more with --max-time")


def places_of(wanted: MissingAnswers) -> dict[str, tuple[Endpoint, ...]]:
    """Each host's distinct endpoints, over all visits."""
    from originset.crawler.probe.live_lookups import Endpoint  # noqa: PLC0415 - explain does without

    endpoints: dict[str, dict[Endpoint, None]] = {}
    for host, address, port in wanted.places.select("host", "server_ip", "port").iter_rows():
        endpoints.setdefault(host, {})[Endpoint(address, port)] = None
    return {host: tuple(places) for host, places in endpoints.items()}


def would_contact(wanted: MissingAnswers, how: LookupPolicy) -> pl.DataFrame:
    """The queries and handshakes that :func:`enrich` would make or refuse; nothing is contacted."""
    resolver = None if how.resolver is None else how.resolver.name
    rows: list[tuple[object, ...]] = []
    visits = pl.concat([wanted.names, wanted.places.select("visit_id", "host")]).unique()
    for host, count in visits.group_by("host").len().sort("host").iter_rows():
        if resolver is not None:
            asks = how.may_look_up(host)
            why_not = None if asks else "not a name of the public DNS"
            rows.append((host, "A, AAAA, CNAME, HTTPS", resolver, None, count, asks, why_not))
    places = wanted.places.group_by("host", "server_ip", "port").len().sort("host", "server_ip", "port")
    for host, address, port, count in places.iter_rows():
        if address is not None:
            refusal = how.refusal(address, port)
            rows.append((host, "TLS handshake", address, port, count, refusal is None, refusal))
        if how.may_look_up(host):
            where = "as answered, if public and other" if address else "as answered, if public"
            rows.append((host, "TLS handshake", where, port, count, None, None))
    return pl.DataFrame(rows, schema=CONTACTS, orient="row")


def _live_handshake(found: CertificateProbe) -> LiveHandshake:
    return LiveHandshake(
        found.host,
        found.address,
        found.port,
        recorded=found.recorded,
        recorded_ip=found.recorded_address,
        address_changed=found.changed,
        certificate=found.certificate,
        protocol=found.protocol,
        tls_version=found.tls_version,
        asked_at=found.asked_at,
        problem=found.problem,
    )
