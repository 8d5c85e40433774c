"""Chains in a NetLog: connections share a verification, and remember one; one that failed completes nothing."""

from __future__ import annotations

import base64
import textwrap
from typing import Any

import msgspec

from originset.data.netlog.certificate_events import ChainLog
from originset.data.netlog.events import Event

LEAF, MIDDLE, ROOT = b"leaf" * 20, b"middle" * 20, b"root" * 20


def pem(der: bytes) -> str:
    body = "\n".join(textwrap.wrap(base64.b64encode(der).decode(), 64))
    return f"-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n"


def event(source: int, name: str, phase: int = 0, kind: str = "SSL_CONNECT_JOB", **params: Any) -> Event:
    return Event(source, kind, name, phase, 0, msgspec.Raw(msgspec.json.encode(params)))


def read(*events: Event) -> ChainLog:
    log = ChainLog()
    for one in events:
        log.add(one)
    return log


def received(source: int, *chain: bytes) -> Event:
    return event(source, "SSL_CERTIFICATES_RECEIVED", certificates=[pem(der) for der in chain])


def job(source: int, given: list[bytes], **result: Any) -> tuple[Event, Event]:
    begin = event(source, "CERT_VERIFIER_JOB", 1, "CERT_VERIFIER_JOB", certificates=[pem(der) for der in given])
    return begin, event(source, "CERT_VERIFIER_JOB", 2, "CERT_VERIFIER_JOB", **result)


VERIFIED = {"verified_cert": {"certificates": [pem(LEAF), pem(MIDDLE), pem(ROOT)]}}


def test_as_sent_and_as_verified() -> None:
    log = read(received(1, LEAF, MIDDLE), *job(9, [LEAF, MIDDLE], **VERIFIED), received(2, LEAF, MIDDLE))
    for connection in (1, 2):  # the second has no verification of its own
        sent = log.sent(connection)
        assert sent == [LEAF, MIDDLE]
        assert log.verified(sent) == [LEAF, MIDDLE, ROOT]


def test_another_chain_of_the_same_leaf_is_another() -> None:
    log = read(received(1, LEAF, MIDDLE), received(2, LEAF), *job(9, [LEAF, MIDDLE], **VERIFIED))
    assert log.verified(log.sent(1)) == [LEAF, MIDDLE, ROOT]
    assert log.verified(log.sent(2)) is None


def test_a_verification_that_failed_completes_nothing() -> None:
    log = read(received(1, LEAF), *job(9, [LEAF], net_error=-202, **VERIFIED))
    assert log.sent(1) == [LEAF]
    assert log.verified(log.sent(1)) is None


def test_a_quic_sessions_chain_by_its_verification() -> None:
    bound = event(7, "CERT_VERIFIER_REQUEST_BOUND_TO_JOB", 0, "QUIC_SESSION", source_dependency={"id": 9, "type": 26})
    begin, end = job(9, [LEAF, MIDDLE], **VERIFIED)
    log = read(begin, bound, end)
    assert log.sent(7) == [LEAF, MIDDLE]
    assert log.verified(log.sent(7)) == [LEAF, MIDDLE, ROOT]


def test_what_is_not_there_is_not_known() -> None:
    log = read()
    assert log.sent(1) is None
    assert log.verified(None) is None
    assert read(event(1, "SSL_CERTIFICATES_RECEIVED", certificates="none")).sent(1) == []
