"""A private certificate authority: a root, an intermediate, and leaf certificates for any DNS names."""

from __future__ import annotations

import datetime as dt
import ipaddress
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_DAY = dt.timedelta(days=1)


@dataclass(frozen=True)
class Issued:
    """PEM files: ``chain`` is what a server sends (leaf, intermediate), ``key`` the leaf's private key, unencrypted."""

    chain: Path
    key: Path


@dataclass(frozen=True)
class _Signer:
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey


class Authority:
    """Made anew for every folder, so that no key is worth stealing. ``root`` is the PEM file that clients trust."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._numbers = itertools.count(1)
        root = _sign("originset testbed root", None, path_length=1)
        self._intermediate = _sign("originset testbed intermediate", root, path_length=0)
        self.root = folder / "root.pem"
        self.root.write_bytes(_pem(root.certificate))

    def issue(self, names: Sequence[str], *, expired: bool = False) -> Issued:
        """A new leaf certificate for these DNS names and IP addresses, valid for 90 days.

        An expired one's 90 days ended yesterday.
        """
        end = _now() - _DAY if expired else _now() + 89 * _DAY
        leaf = _sign(names[0], self._intermediate, names=names, start=end - 90 * _DAY, end=end)
        number = next(self._numbers)
        issued = Issued(self._folder / f"leaf{number}.pem", self._folder / f"leaf{number}.key.pem")
        issued.chain.write_bytes(_pem(leaf.certificate) + _pem(self._intermediate.certificate))
        issued.key.touch(mode=0o600)
        issued.key.write_bytes(
            leaf.key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        return issued


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _sign(
    common_name: str,
    issuer: _Signer | None,
    *,
    path_length: int | None = None,
    names: Sequence[str] = (),
    start: dt.datetime | None = None,
    end: dt.datetime | None = None,
) -> _Signer:
    """A certificate and its key; with ``names`` a server's, else an authority's, self-signed without ``issuer``."""
    key = ec.generate_private_key(ec.SECP256R1())
    # A common name holds 64 characters (RFC 5280 appendix A); nothing reads it.
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name[:64])])
    signer = issuer.key if issuer else key
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.certificate.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start or _now() - _DAY)
        .not_valid_after(end or _now() + 365 * _DAY)
        .add_extension(x509.BasicConstraints(ca=not names, path_length=path_length), critical=True)
        .add_extension(_key_usage(authority=not names), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
    )
    if names:
        builder = builder.add_extension(
            x509.SubjectAlternativeName([_general_name(name) for name in names]), critical=False
        ).add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
    return _Signer(builder.sign(signer, hashes.SHA256()), key)


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _key_usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not authority,
        key_cert_sign=authority,
        crl_sign=authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
