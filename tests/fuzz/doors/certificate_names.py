"""Certificates' names, out of DER, PEM and NetLogs; and what they cover, against the verifier of `cryptography`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from doors import Bound
from originset.analysis.certificates.alternative_names import alternative_names
from originset.analysis.certificates.certificate_rows import certificate_from_der, certificate_tables, normalise_name
from originset.data.host_names import covers, normalise_host
from originset.data.netlog.sockets import pem_to_der
from originset.models.servers.configuration_files import names_of_certificate

FOLDERS = ("analysis/certificates",)
LONGEST = 1 << 12
MEMORY = Bound(4 << 20, 500)
LINES = Bound(20_000, 100)

_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_NAMES = b"\x00"  # an input of names begins with it: a host, then the certificate's names, a line each


def read(data: bytes, *, whole: bool) -> None:
    """Of DER, PEM, and of names as lines."""
    if data.startswith(_NAMES):
        host, *names = data[1:].decode("latin-1").split("\n")
        compare_with_verifier(host, names[:20], whole=whole)
        return
    if data.startswith(b"-"):
        names_of_certificate(data)
        for der in pem_to_der(data.decode("latin-1")):
            certificate_from_der(der)
        return
    with contextlib.suppress(ValueError):
        alternative_names(data)
    certificate = certificate_from_der(data)
    if whole:
        certificate_tables([certificate])


def compare_with_verifier(host: str, names: list[str], *, whole: bool) -> None:
    """``covers`` of normalised names says what the verifier says, where both take the host and the names."""
    normalised = normalise_host(host)
    read_names = [normalise_name(name) for name in names]
    for name in read_names:
        assert name is None or normalise_name(name) == name, "normalising again changes nothing"
    if normalised is None or not whole or not normalised.isascii() or not names or None in read_names:
        return
    covered = covers([name for name in read_names if name is not None], normalised)
    if (verified := verifier_accepts(normalised, tuple(str(name) for name in read_names))) is not None:
        assert verified == covered, (normalised, read_names)


def verifier_accepts(host: str, names: tuple[str, ...]) -> bool | None:
    """What RFC 5280 and 9525 say by `cryptography`; None where it does not take the host or the names."""
    key, authority = _authority()
    try:
        leaf = _certificate("leaf", key, names, authority.subject)
        verifier = PolicyBuilder().store(Store([authority])).time(_NOW).build_server_verifier(x509.DNSName(host))
    except ValueError:
        return None
    try:
        verifier.verify(leaf, [])
    except VerificationError as error:
        # A pattern that the verifier takes for no name at all has it refuse the certificate, whatever the host.
        return False if "leaf certificate has no matching subjectAltName" in str(error) else None
    return True


@cache
def _authority() -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
    key = ec.derive_private_key(1 << 200, ec.SECP256R1())
    return key, _certificate("authority", key, (), None)


def _certificate(
    name: str, key: ec.EllipticCurvePrivateKey, names: tuple[str, ...], issuer: x509.Name | None
) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer or subject)
        .public_key(key.public_key())
        .serial_number(1000)
        .not_valid_before(_NOW - timedelta(days=1))
        .not_valid_after(_NOW + timedelta(days=30))
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()), critical=False)
    )
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(one) for one in names]), False)
        builder = builder.add_extension(x509.ExtendedKeyUsage([x509.ExtendedKeyUsageOID.SERVER_AUTH]), False)
    else:
        usage = dict.fromkeys(
            ("digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement",
             "encipher_only", "decipher_only"), False)  # fmt: skip
        builder = builder.add_extension(x509.KeyUsage(key_cert_sign=True, crl_sign=True, **usage), critical=True)
        builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    return builder.sign(key, hashes.SHA256())


def seeds() -> Iterator[bytes]:
    """Certificates with names, without, and with one that is none; and names as lines."""
    key, authority = _authority()
    yield authority.public_bytes(Encoding.DER)
    leaf = _certificate("leaf", key, ("a.test", "*.b.test", "xn--mnchen-3ya.test"), authority.subject)
    yield leaf.public_bytes(Encoding.DER)
    yield leaf.tbs_certificate_bytes
    yield leaf.public_bytes(Encoding.PEM)
    yield _NAMES + b"a.b.test\n*.b.test\na.test"
    yield _NAMES + b"192.0.2.1\n*.0.2.1"
    yield _NAMES + b"test\n*\n*.test"
    yield _NAMES + b"A.test.\na.TEST"


def bombs(size: int) -> Mapping[str, bytes]:
    """Lengths that point nowhere, nesting, names without end."""
    leaf = _certificate("leaf", _authority()[0], tuple(f"{n}.test" for n in range(size // 12)), _authority()[1].subject)
    return {
        "sequences": b"\x30\x80" * (size // 2),
        "lengths": b"\x30\x84\xff\xff\xff\xff" * (size // 6),
        "empty-values": b"\x30\x84" + (size).to_bytes(4) + b"\x05\x00" * (size // 2),
        "names": leaf.public_bytes(Encoding.DER),
        "names-alone": leaf.tbs_certificate_bytes,
        "beginnings": b"-----BEGIN CERTIFICATE-----" * (size // 27),
        "dashes": b"-" * size,
        "labels": _NAMES + b"a." * (size // 2) + b"\n" + b"*." * (size // 2),
        "long-label": _NAMES + b"\xe9" * size + b"\n*." + b"\xe9" * size,
        "addresses": _NAMES + b"1." * (size // 2) + b"\n" + b":" * size,
    }
