"""NetLogs: a file's page loads made rows, and the same bytes as a running Chromium writes them into a pipe."""

from __future__ import annotations

import base64
import contextlib
import json
import random
import re
import tempfile
import threading
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from unittest import mock

import mutated_hars
from handwritten_netlog import SITE, HandwrittenNetLog, one_page

from doors import Bound, har_text
from originset.analysis.netlog.netlog_captures import netlog_captures
from originset.analysis.netlog.netlog_tables import netlog_tables
from originset.crawler.netlog import stream as stream_module
from originset.crawler.netlog.stream import NetLogStream
from originset.data.errors import BrowserError
from originset.data.netlog import records, visit_log
from originset.data.netlog.visit_log import read_visit

FOLDERS = ("analysis/netlog", "crawler/netlog", "data/netlog")
LONGEST = 1 << 15
MEMORY = Bound(4 << 20, 500)
LINES = Bound(20_000, 100)

_RECORDED = Path(__file__).resolve().parents[2] / "data" / "netlog" / "recorded"
_FEW_WAITING = 4_096  # bytes
_MAIN_FRAME = {"https://site.test/", "https://www.site.test/"}


def read(data: bytes, *, whole: bool) -> None:
    """Raises InputError where it is no NetLog, or no page is loaded in it."""
    if whole:
        with contextlib.suppress(BrowserError):  # it wrote no constants
            _read_from_pipe(data)
    captures = netlog_captures(data, "a.json")
    if whole:
        har_text.require_schema(netlog_tables(captures, "a.json", "0" * 64))


def _read_from_pipe(data: bytes) -> None:
    """Raises what ends the thread that reads the pipe, too."""
    with _streamed(data, ("https://site.test/", "https://never.test/")) as stream:
        stream.forget("https://never.test/")
        stream.take_loss()
        log = read_visit(stream.take(), stream.constants, _MAIN_FRAME, frozenset({1, 10}))
        records.ip_families(log)
    with mock.patch.object(stream_module, "_MOST_WAITING", _FEW_WAITING), _streamed(data, ()) as stream:
        events = stream.take()
        assert sum(len(event.params) for event in events) <= _FEW_WAITING


@contextlib.contextmanager
def _streamed(data: bytes, expected: tuple[str, ...]) -> Iterator[NetLogStream]:
    """A stream at the end of what was written into its pipe."""
    with tempfile.TemporaryDirectory() as folder, _failures_of_threads() as failures:
        pipe = Path(folder) / "netlog"
        stream = NetLogStream(pipe, visit_log.EVENT_NAMES)
        for url in expected:
            stream.expect(url)
        with pipe.open("wb") as writer:
            writer.write(data)
        stream.close()
        stream.close()  # as a browser that is stopped twice
        if failures:
            raise failures[0]
        yield stream


@contextlib.contextmanager
def _failures_of_threads() -> Iterator[list[BaseException]]:
    failures: list[BaseException] = []
    before, threading.excepthook = threading.excepthook, lambda of: failures.append(of.exc_value or of.exc_type())
    try:
        yield failures
    finally:
        threading.excepthook = before


def seeds() -> Iterator[bytes]:
    """Logs by hand, whole, cut off and in another layout; two recorded ones, each in parts of its events."""
    log = one_page()
    yield log.text()
    yield log.text(whole=False)
    yield json.dumps(json.loads(log.text()), indent=1).encode()
    yield every_event().text()
    for name in ("netlog.json", "netlog_quic.json"):
        yield from _of_fewer_events((_RECORDED / name).read_bytes())


def every_event() -> HandwrittenNetLog:
    """A page whose log has an event of each kind that is read: lookups of both resolvers, HTTP/1.1, HTTP/3, a 421."""
    log = one_page()
    _add_lookups(log)
    _add_http1(log)
    _add_http3(log)
    log.event(1036, ("URL_REQUEST", 2), "HTTP_TRANSACTION_RESTART_MISDIRECTED_REQUEST")
    log.event(1037, ("URL_REQUEST", 2), "FAILED", net_error=-3)
    log.event(1037, ("URL_REQUEST", 2), "HTTP_TRANSACTION_READ_BODY", "end")
    for name in ("URL_REQUEST_JOB_BYTES_READ", "URL_REQUEST_JOB_FILTERED_BYTES_READ"):
        log.event(1038, ("URL_REQUEST", 2), name, byte_count=100)
    log.event(1039, ("HTTP2_SESSION", 11), "HTTP2_SESSION_SEND_HEADERS", source_dependency={"id": 500_001})
    log.event(1040, ("SOCKET", 10), "SOCKET_ALIVE", "end")
    for name in sorted(visit_log.EVENT_NAMES):  # all of them have a number, for events that are changed
        log.event(1041, ("NONE", 99), name, host="a.test", stream_key={"destination": "https://a.test"})
    return log


def _add_lookups(log: HandwrittenNetLog) -> None:
    job, task, key = ("HOST_RESOLVER_IMPL_JOB", 100), ("DNS_TRANSACTION", 101), f"{SITE} same_site"
    log.event(1001, job, "HOST_RESOLVER_MANAGER_JOB", "begin", host=SITE, dns_query_types=["A", "AAAA", "HTTPS"],
              network_anonymization_key=key)  # fmt: skip
    log.event(1001, job, "DNS_TRANSACTION", source_dependency={"id": 101})
    log.event(1001, task, "DNS_TRANSACTION", "begin", query_type=1)
    log.event(1001, task, "DNS_TRANSACTION_ATTEMPT")
    log.event(1005, task, "DNS_TRANSACTION_RESPONSE", rcode=0)
    log.event(1005, task, "DNS_TRANSACTION", "end", net_error=-3)
    service = {"supported_protocol_alpns": ["h2", "http/1.1"]}
    results = [
        {"query_type": "A", "type": "alias", "domain_name": "site.test.", "alias_target": "b.test."},
        {"query_type": "A", "type": "data", "endpoints": [{"address": "::1"}], "timed_expiration": "13300000000000"},
        {"query_type": "HTTPS", "type": "metadata", "metadatas": [
            {"metadata_weight": 1, "metadata_value": {"supported_protocol_alpns": ["h3"], "ech_config_list": "x"}}]},
        {"query_type": "HTTPS", "type": "metadata", "metadatas": {"1": service}},
    ]  # fmt: skip
    log.event(1006, job, "HOST_RESOLVER_DNS_TASK_EXTRACTION_RESULTS", results=results)
    log.event(1007, job, "HOST_RESOLVER_MANAGER_ATTEMPT_STARTED")
    addresses = ["[2606:4700::1]:443", "1.2.3.5:443"]
    log.event(1008, job, "HOST_RESOLVER_SYSTEM_TASK", "end", address_list=addresses, aliases=["b.test", "site.test"])
    log.event(1009, job, "HOST_RESOLVER_MANAGER_JOB", "end", net_error=-3)
    for number, host in ((102, SITE), (103, "https://cached.test")):
        source = ("HOST_RESOLVER_IMPL_REQUEST", number)
        log.event(1010, source, "HOST_RESOLVER_MANAGER_REQUEST", "begin", host=host, network_anonymization_key=key)
        endpoints = [{"endpoint_address": "::1"}, {"endpoint_address": "1.1.1.1"}]
        log.event(1011, source, "HOST_RESOLVER_MANAGER_CACHE_HIT", results={"ip_endpoints": endpoints})


def _add_http1(log: HandwrittenNetLog) -> None:
    log.connection(200, "old.site.test", 1030)
    log.event(1045, ("SOCKET", 200), "SSL_CONNECT", "end", version="TLS 1.2", next_proto="unknown", is_resumed=True)
    log.request(201, "https://old.site.test/a", 1050, None)
    source = ("URL_REQUEST", 201)
    headers = ["Host: old.site.test", "Sec-Fetch-Dest: script", f"Referer: {SITE}/"]
    log.event(1051, source, "HTTP_TRANSACTION_SEND_REQUEST_HEADERS", headers=headers)
    log.event(1051, ("SOCKET", 200), "SOCKET_BYTES_SENT", byte_count=100)
    log.event(1052, source, "HTTP_TRANSACTION_SEND_REQUEST_HEADERS", headers=headers)
    log.event(1052, source, "HTTP_TRANSACTION_SEND_REQUEST", "end")
    moved = ["HTTP/1.1 301", "location: https://site.test/b", "content-type: text/html"]
    log.event(1053, source, "HTTP_TRANSACTION_READ_RESPONSE_HEADERS", headers=moved)
    log.request(201, "https://site.test/b", 1060, 11)


def _add_http3(log: HandwrittenNetLog) -> None:
    source, key = ("QUIC_SESSION", 300), f"{SITE} same_site"
    log.event(1030, source, "QUIC_SESSION", "begin", host="quic.site.test", network_anonymization_key=key)
    log.event(1031, source, "QUIC_SESSION_PACKET_RECEIVED", peer_address="1.2.3.4:443", self_address="10.0.0.1:9")
    list_of_one = bytes(1) + (9).to_bytes(3) + (4).to_bytes(3) + b"\x30\x02\x05\x00" + bytes(2)
    packed = zlib.compress(list_of_one)
    hello = b"\x03\x03" + b"r" * 32 + bytes(4) + (6).to_bytes(2) + bytes.fromhex("002900020000")
    messages = {
        "ENCRYPTION_INITIAL": b"\x02" + len(hello).to_bytes(3) + hello,
        "ENCRYPTION_HANDSHAKE": b"\x08" + bytes(3) + b"\x0b" + len(list_of_one).to_bytes(3) + list_of_one,
        "ENCRYPTION_FORWARD_SECURE": b"\x19" + (8 + len(packed)).to_bytes(3) + b"\x00\x01"
        + len(list_of_one).to_bytes(3) + len(packed).to_bytes(3) + packed,
    }  # fmt: skip
    for level, message in messages.items():
        for place in (0, 5, 9_999):
            part = base64.b64encode(message[place:]).decode()
            log.event(1032, source, "QUIC_SESSION_CRYPTO_FRAME_RECEIVED", bytes=part, offset=place,
                      encryption_level=level)  # fmt: skip
    log.event(1033, source, "QUIC_SESSION_CRYPTO_HANDSHAKE_COMPLETE")
    log.event(1034, source, "HTTP3_HEADERS_SENT")
    log.event(1034, source, "QUIC_SESSION_ORIGIN_FRAME_RECEIVED", origins=["https://other.test"])
    log.event(1034, ("NONE", 301), "QUIC_SESSION_POOL_MATCHING_IP_SESSION_FOUND", source_dependency={"id": 300},
              destination="https://pooled.test")  # fmt: skip
    log.event(1035, source, "CERT_VERIFIER_REQUEST_BOUND_TO_JOB", source_dependency={"id": 302})
    log.event(1035, ("CERT_VERIFIER_JOB", 302), "CERT_VERIFIER_JOB", "begin", certificates=[_PEM])
    log.event(1036, ("CERT_VERIFIER_JOB", 302), "CERT_VERIFIER_JOB", "end", verified_cert={"certificates": [_PEM]})
    log.event(1040, source, "QUIC_SESSION_CLOSED")
    log.event(1041, source, "QUIC_SESSION", "end")


_PEM = "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n"


def _of_fewer_events(text: bytes) -> Iterator[bytes]:
    """The log with the constants' names that its events have, whole; and with each second and third event alone."""
    head, begin, *lines = text.splitlines()
    events = [json.loads(line.rstrip(b",")) for line in lines if line.endswith(b"},")]
    constants = json.loads(head.rstrip(b",") + b"}")["constants"]
    for table, numbers in (
        ("logEventTypes", {event["type"] for event in events}),
        ("logSourceType", {event["source"]["type"] for event in events}),
        ("netError", {-3, -105, 0}),
    ):
        constants[table] = {name: number for name, number in constants[table].items() if number in numbers}
    first = b'{"constants":' + json.dumps(constants).encode() + b","
    for step in (1, 2, 3):
        kept = [json.dumps(event).encode() + b"," for event in events[::step]]
        yield b"\n".join([first, begin, *kept, b'"polledData": []}'])


def mutate(source: random.Random, data: bytes) -> bytes:
    """One event changed as HARs are; events doubled, lost, exchanged, or at another's source."""
    lines = data.splitlines(keepends=True)
    if len(lines) < 3 or source.random() < 0.05:
        return mutated_hars.mutate(source, [data])
    for _ in range(source.choice((1, 2, 5))):
        place, other = (source.randrange(min(2, len(lines) - 1), len(lines)) for _ in range(2))
        kind = source.random()
        if kind < 0.15:
            lines.insert(place, lines[other])
        elif kind < 0.3 and len(lines) > 4:
            del lines[place]
        elif kind < 0.45:
            lines[place], lines[other] = lines[other], lines[place]
        else:
            lines[place] = _changed(source, lines[place], lines[other])
    return b"".join(lines)


def _changed(source: random.Random, line: bytes, other: bytes) -> bytes:
    try:
        event, of_other = (json.loads(one.rstrip(b",\n")) for one in (line, other))
        if source.random() < 0.5:
            name = source.choice(("source", "type", "phase", "time", "params"))
            event[name] = of_other[name]
            return json.dumps(event).encode() + b",\n"
    except (ValueError, LookupError, TypeError, RecursionError):
        pass
    return mutated_hars.mutate(source, [line.rstrip(b",\n")]).replace(b"\n", b" ") + b",\n"


def bombs(size: int) -> Mapping[str, bytes]:
    """Events of one kind over and over, values without end in one event, a constant line of one sign."""
    head, begin, *events = every_event().text(whole=False).splitlines(keepends=True)
    start = head + begin
    found = {
        "head": b'{"constants":' + b"[" * size,
        "spaces": b'{"constants":{' + b" " * size,
        "events-of-another-layout": b'{"constants":{},\n"events":[' + (b"{}," * (size // 3))[:-1] + b"]}",
        "lines": start + b"\n" * size,
        "brackets": start + b"[" * size,
        "field-trials": b'{"constants":{"activeFieldTrialGroups":[' + (b'"a",' * (size // 4))[:-1] + b"]}}",
        "command-line": head.replace(b"--disable-features=A", b"--disable-features=" + b"a," * (size // 2)) + begin,
        "all-events": start + b"".join(events) * (size // sum(map(len, events))),
    }
    for place, event in enumerate(events[: -len(visit_log.EVENT_NAMES)]):
        found[f"event-{place}"] = start + b"".join(events) + event * (size // len(event))
        found[f"sources-{place}"] = start + b"".join(_with_numbers(event, size // len(event)))
    for name, value in _LONG_PARAMETERS.items():
        for place, event in enumerate(events[:2]):
            one = json.loads(event.rstrip(b",\n"))
            one["params"] = one["params"] | {key: value * (size // len(value)) for key in _TEXTS}
            found[f"{name}-{place}"] = start + b"".join(events) + json.dumps(one).encode() + b",\n"
    return found


def _with_numbers(event: bytes, count: int) -> Iterator[bytes]:
    """An event over and over, with another source and another last octet of addresses each time."""
    for number in range(count):
        one = re.sub(rb'"id": \d+, "type"', b'"id": %d, "type"' % number, event, count=1)
        yield re.sub(rb"1\.2\.3\.\d+", b"1.2.%d.%d" % divmod(number % 65_536, 256), one)


_TEXTS = ("group_id",)
_LONG_PARAMETERS = {"angles": " <", "slashes": "/", "colons": ":"}
