"""What was seen of a live server, a line a test, whether anything is wrong with it or not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from originset.crawler.probe.server_findings import answer_text
from originset.crawler.probe.server_observation import HostObservation, ServerObservation, origins_in
from originset.data.certificate_errors import CERTIFICATE_ERRORS
from originset.data.host_names import covers


@dataclass(frozen=True, slots=True)
class ServerFact:
    """The result of one test; ``subject`` is the host that it is about."""

    test: Literal["protocol", "certificate", "origin_set", "http3", "answer"]
    subject: str
    detail: str


def facts(seen: ServerObservation) -> list[ServerFact]:
    """Protocol, certificate, ORIGIN set, HTTP/3, and the answer for the site and each host that was tried."""
    site = seen.target.site
    return [
        ServerFact("protocol", site, f"{seen.protocol} over {seen.tls_version}"),
        ServerFact("certificate", site, _certificate(seen)),
        ServerFact("origin_set", site, _origin_set(seen)),
        ServerFact("http3", site, _http3(seen)),
        ServerFact("answer", site, answer_text(seen.page)),
        *(ServerFact("answer", host.host, "; ".join(_answers(seen, host))) for host in seen.hosts),
    ]


def _certificate(seen: ServerObservation) -> str:
    count = len(seen.certificate_names)
    names = f"{count} DNS names, {'covers' if covers(seen.certificate_names, seen.target.site) else 'lacks'} the host"
    try:
        certificate = x509.load_der_x509_certificate(seen.certificate)
        key, issuer = certificate.public_key(), certificate.issuer.rfc4514_string()
    except CERTIFICATE_ERRORS:
        return names
    kind = type(key).__name__.removeprefix("_").removesuffix("PublicKey")
    if isinstance(key, rsa.RSAPublicKey):
        kind = f"RSA {key.key_size}"
    elif isinstance(key, ec.EllipticCurvePublicKey):
        kind = f"ECDSA {key.curve.name}"
    ends = certificate.not_valid_after_utc.date().isoformat()
    return f"{kind}, {names}, valid until {ends}, {len(seen.certificate)} bytes, issued by {issuer}"


def _origin_set(seen: ServerObservation) -> str:
    if not seen.longest_frame and not seen.payloads:
        return "no ORIGIN frame"
    size = sum(map(len, seen.payloads))
    return f"{len(seen.origins)} origins in {size} bytes: {', '.join(seen.origins)}".removesuffix(": ")


def _http3(seen: ServerObservation) -> str:
    if not seen.http3_offered:
        return "not offered"
    if seen.http3_payloads is None:
        return f"offered; {seen.http3_problem}"
    return f"offered; {len(origins_in(seen.http3_payloads))} origins"


def _answers(seen: ServerObservation, host: HostObservation) -> Iterator[str]:
    here = answer_text(host.first)
    yield f"{here} as a connection's first request"
    yield f"{_same_or_other(here, answer_text(host.after))} after {seen.target.site}"
    if host.own is not None:
        yield f"{_same_or_other(here, answer_text(host.own))} at its own address"
    elif host.not_compared is not None:
        yield host.not_compared


def _same_or_other(here: str, there: str) -> str:
    return "the same" if here == there else there
