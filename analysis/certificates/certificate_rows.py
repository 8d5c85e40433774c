"""Certificates to rows of ``certificates`` and ``certificate_names``: from the DER, or a HAR's TLS details."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol, TypeVar

import polars as pl
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed448, ed25519, rsa
from cryptography.x509.oid import NameOID, ObjectIdentifier

from originset.analysis.certificates.alternative_names import alternative_names
from originset.analysis.certificates.chain_order import chain_problem
from originset.data.certificate_errors import CERTIFICATE_ERRORS
from originset.data.host_names import normalise_host
from originset.data.schema.study_tables import TABLES

_T = TypeVar("_T")

_SIGNATURES = {
    "1.2.840.113549.1.1.4": "md5WithRSAEncryption",
    "1.2.840.113549.1.1.5": "sha1WithRSAEncryption",
    "1.2.840.113549.1.1.10": "RSASSA-PSS",
    "1.2.840.113549.1.1.11": "sha256WithRSAEncryption",
    "1.2.840.113549.1.1.12": "sha384WithRSAEncryption",
    "1.2.840.113549.1.1.13": "sha512WithRSAEncryption",
    "1.2.840.10045.4.1": "ecdsa-with-SHA1",
    "1.2.840.10045.4.3.2": "ecdsa-with-SHA256",
    "1.2.840.10045.4.3.3": "ecdsa-with-SHA384",
    "1.2.840.10045.4.3.4": "ecdsa-with-SHA512",
    "1.3.101.112": "Ed25519",
    "1.3.101.113": "Ed448",
}


@dataclass(frozen=True, slots=True)
class Certificate:
    """One certificate. ``names`` are lower-case A-labels and canonical IP addresses; None if they are not known."""

    certificate_id: str
    subject: str | None = None
    issuer: str | None = None
    subject_cn: str | None = None
    issuer_cn: str | None = None
    issuer_org: str | None = None
    not_before: datetime | None = None
    not_after: datetime | None = None
    key_type: str | None = None
    signature: str | None = None
    names: tuple[str, ...] | None = None
    der_bytes: int | None = None
    sct_count: int | None = None
    self_signed: bool | None = None
    chain: tuple[str, ...] | None = None
    problem: str | None = None


def certificate_from_der(der: bytes, chain: tuple[str, ...] | None = None) -> Certificate:
    """The fields of a certificate; a field that the library refuses is None, and ``problem`` says why."""
    certificate_id = hashlib.sha256(der).hexdigest()
    problems: list[str] = []

    def tried(what: str, read: Callable[[], _T]) -> _T | None:
        try:
            return read()
        except CERTIFICATE_ERRORS as error:
            problems.append(f"{what}: {error}".splitlines()[0])
            return None

    with warnings.catch_warnings():
        # The library warns of serial numbers, dates and lengths that the standard forbids; it is kept anyway.
        warnings.simplefilter("ignore")
        loaded = tried("certificate", lambda: x509.load_der_x509_certificate(der))
        if loaded is None:
            return Certificate(certificate_id, der_bytes=len(der), chain=chain, problem=problems[0])
        subject = tried("subject", lambda: loaded.subject)
        issuer = tried("issuer", lambda: loaded.issuer)
        names_in_order = tried("names", lambda: _alternative_names(loaded))
        if names_in_order is None:  # for whatever reason: the names themselves may be in order
            names_in_order = tried("names alone", lambda: alternative_names(loaded.tbs_certificate_bytes))
        names = None if names_in_order is None else _normalised(names_in_order, problems)
        return Certificate(
            certificate_id,
            subject=None if subject is None else subject.rfc4514_string(),
            issuer=None if issuer is None else issuer.rfc4514_string(),
            subject_cn=_attribute(subject, NameOID.COMMON_NAME),
            issuer_cn=_attribute(issuer, NameOID.COMMON_NAME),
            issuer_org=_attribute(issuer, NameOID.ORGANIZATION_NAME),
            not_before=tried("validity", lambda: loaded.not_valid_before_utc),
            not_after=tried("validity", lambda: loaded.not_valid_after_utc),
            key_type=tried("key", lambda: _key_type(loaded)),
            signature=_signature(loaded),
            names=names,
            der_bytes=len(der),
            sct_count=tried("timestamps", lambda: _sct_count(loaded)),
            self_signed=tried("signature", lambda: _self_signed(loaded)),
            chain=chain,
            problem="; ".join(dict.fromkeys(problems)) or None,
        )


class CertificateDetails(Protocol):
    """The facts on a certificate in a HAR without the certificate itself; times in seconds since 1970."""

    @property
    def subject(self) -> str | None: ...
    @property
    def issuer(self) -> str | None: ...
    @property
    def names(self) -> list[str] | None: ...
    @property
    def valid_from(self) -> float | None: ...
    @property
    def valid_to(self) -> float | None: ...


def certificate_from_details(details: CertificateDetails) -> Certificate:
    """A certificate from a HAR's TLS details; its id is a digest of them, because the DER is not known."""
    facts = [details.subject, details.issuer, details.valid_from, details.valid_to, details.names]
    digest = hashlib.sha256(json.dumps(facts).encode()).hexdigest()
    problems: list[str] = []
    return Certificate(
        f"fields-{digest}",
        subject_cn=details.subject or None,
        issuer_cn=details.issuer or None,
        not_before=_moment(details.valid_from),
        not_after=_moment(details.valid_to),
        names=None if details.names is None else _normalised(details.names, problems),
        problem="; ".join(problems) or None,
    )


def certificate_tables(certificates: Iterable[Certificate]) -> dict[str, pl.DataFrame]:
    """Rows of both tables, one for each certificate; of several chains the first in sort order."""
    ordered = sorted(certificates, key=lambda one: (one.chain is None, one.chain or ()), reverse=True)
    distinct = list({certificate.certificate_id: certificate for certificate in ordered}.values())
    certificate_names = [(certificate, name) for certificate in distinct for name in certificate.names or ()]
    distinguished = {certificate.certificate_id: (certificate.subject, certificate.issuer) for certificate in distinct}
    rows: dict[str, list[object]] = {
        "certificate_id": [certificate.certificate_id for certificate in distinct],
        "subject": [certificate.subject for certificate in distinct],
        "subject_cn": [certificate.subject_cn for certificate in distinct],
        "issuer_cn": [certificate.issuer_cn for certificate in distinct],
        "issuer_org": [certificate.issuer_org for certificate in distinct],
        "not_before": [_naive(certificate.not_before) for certificate in distinct],
        "not_after": [_naive(certificate.not_after) for certificate in distinct],
        "key_type": [certificate.key_type for certificate in distinct],
        "signature": [certificate.signature for certificate in distinct],
        "san_count": [None if certificate.names is None else len(certificate.names) for certificate in distinct],
        "der_bytes": [certificate.der_bytes for certificate in distinct],
        "sct_count": [certificate.sct_count for certificate in distinct],
        "self_signed": [certificate.self_signed for certificate in distinct],
        "chain_problem": [
            None if certificate.chain is None else chain_problem(certificate.chain, distinguished)
            for certificate in distinct
        ],
        "chain": [None if certificate.chain is None else list(certificate.chain) for certificate in distinct],
        "problem": [certificate.problem for certificate in distinct],
    }
    names: dict[str, list[object]] = {
        "certificate_id": [certificate.certificate_id for certificate, _ in certificate_names],
        "name": [name for _, name in certificate_names],
        "wildcard": [name.startswith("*.") for _, name in certificate_names],
    }
    return {
        "certificates": pl.DataFrame(rows, schema=TABLES["certificates"].polars_schema),
        "certificate_names": pl.DataFrame(names, schema=TABLES["certificate_names"].polars_schema),
    }


def normalise_name(name: str) -> str | None:
    """A SAN as a lower-case A-label with its wildcard label, or as a canonical IP address; None if it is neither."""
    text = name.strip()
    if text.startswith("*."):
        rest = normalise_host(text[2:])
        return None if rest is None else f"*.{rest}"
    return normalise_host(text)


def _normalised(names: Iterable[str], problems: list[str]) -> tuple[str, ...]:
    """Distinct names in their order; how many are not names is added to ``problems``."""
    raw_names = list(names)
    read = [normalise_name(name) for name in raw_names]
    if refused := read.count(None):
        problems.append(f"{refused} of {len(raw_names)} names are no host names")
    return tuple(dict.fromkeys(name for name in read if name is not None))


def _alternative_names(certificate: x509.Certificate) -> list[str]:
    try:
        extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    addresses = [str(address) for address in extension.get_values_for_type(x509.IPAddress)]
    return [*extension.get_values_for_type(x509.DNSName), *addresses]


def _signature(certificate: x509.Certificate) -> str:
    """The algorithm's name in RFC 8017, 5758 or 8410, or its object identifier."""
    identifier = certificate.signature_algorithm_oid.dotted_string
    return _SIGNATURES.get(identifier, identifier)


def _sct_count(certificate: x509.Certificate) -> int:
    try:
        extension = certificate.extensions.get_extension_for_class(x509.PrecertificateSignedCertificateTimestamps)
    except x509.ExtensionNotFound:
        return 0
    return len(extension.value)


def _self_signed(certificate: x509.Certificate) -> bool:
    if certificate.subject != certificate.issuer:
        return False
    try:
        certificate.verify_directly_issued_by(certificate)
    except InvalidSignature:
        return False
    return True


def _attribute(name: x509.Name | None, oid: ObjectIdentifier) -> str | None:
    values = [] if name is None else name.get_attributes_for_oid(oid)
    if not values:
        return None
    value = values[0].value
    return value if isinstance(value, str) else value.decode(errors="replace")


def _key_type(certificate: x509.Certificate) -> str:
    key = certificate.public_key()
    if isinstance(key, rsa.RSAPublicKey):
        return f"RSA-{key.key_size}"
    if isinstance(key, ec.EllipticCurvePublicKey):
        return {"secp256r1": "EC-P256", "secp384r1": "EC-P384", "secp521r1": "EC-P521"}.get(
            key.curve.name, f"EC-{key.curve.name}"
        )
    if isinstance(key, ed25519.Ed25519PublicKey):
        return "Ed25519"
    if isinstance(key, ed448.Ed448PublicKey):
        return "Ed448"
    if isinstance(key, dsa.DSAPublicKey):
        return f"DSA-{key.key_size}"
    return type(key).__name__.removeprefix("_").removesuffix("PublicKey")


def _moment(seconds: float | None) -> datetime | None:
    try:
        return None if seconds is None else datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    except (OverflowError, ValueError):
        return None


def _naive(moment: datetime | None) -> datetime | None:
    return None if moment is None else moment.replace(tzinfo=None)
