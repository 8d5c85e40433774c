"""Certificate signing requests (PKCS #10, RFC 2986) with the full list of names."""

from __future__ import annotations

import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa

from originset.cli.writers.name_list import Certificate, NameList
from originset.data.errors import InputError

Key = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey | ed448.Ed448PrivateKey
_KEYS = (rsa.RSAPrivateKey, ec.EllipticCurvePrivateKey, ed25519.Ed25519PrivateKey, ed448.Ed448PrivateKey)

# RFC 5280 appendix A.1: ub-common-name. A CA takes the names from the extension; the subject is for people.
_LONGEST_COMMON_NAME = 64


def render(chosen: NameList, key: Key) -> str:
    """The requests in PEM, signed by ``key``; remarks stand before the first, as RFC 7468 section 2 allows."""
    remarks = "".join(f"# {line}\n" for line in chosen.remarks())
    return remarks + "".join(_request(certificate, key) for certificate in chosen.certificates)


def new_key() -> ec.EllipticCurvePrivateKey:
    """A key on P-256, the one curve that every client and CA takes."""
    return ec.generate_private_key(ec.SECP256R1())


def key_text(key: Key) -> bytes:
    """The key as unencrypted PKCS #8 in PEM."""
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def read_key(path: Path) -> Key:
    """A private key in PEM, without a passphrase.

    Raises:
        InputError: there is none in the file, or one that signs no request.
    """
    try:
        key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except OSError as error:
        raise InputError(str(path), "unreadable", f"cannot be read ({error.strerror})") from error
    except TypeError as error:
        raise InputError(
            str(path), "encrypted", "holds a key with a passphrase, which is not asked for here"
        ) from error
    except (ValueError, UnsupportedAlgorithm) as error:
        raise InputError(str(path), "not-a-key", "holds no private key in PEM") from error
    if not isinstance(key, _KEYS):
        raise InputError(str(path), "not-a-key", "holds a key that signs no certificate request")
    return key


def _request(certificate: Certificate, key: Key) -> str:
    first = next((name for name in certificate.names if len(name) <= _LONGEST_COMMON_NAME), None)
    subject = [] if first is None else [x509.NameAttribute(x509.NameOID.COMMON_NAME, first)]
    names: list[x509.GeneralName] = [x509.DNSName(name) for name in certificate.names]
    names += [x509.IPAddress(ipaddress.ip_address(address)) for address in certificate.addresses]
    builder = x509.CertificateSigningRequestBuilder(x509.Name(subject)).add_extension(
        x509.SubjectAlternativeName(names), critical=first is None
    )
    edwards = isinstance(key, ed25519.Ed25519PrivateKey | ed448.Ed448PrivateKey)
    signed = builder.sign(key, None if edwards else hashes.SHA256())
    return signed.public_bytes(serialization.Encoding.PEM).decode()
