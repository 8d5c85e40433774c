"""Certificate chains that WebPageTest keeps as PEM, to certificates."""

from __future__ import annotations

import base64
import binascii
import hashlib

from originset.analysis.certificates.certificate_rows import Certificate, certificate_from_der

_BEGIN, _END = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"


def from_chain(pems: tuple[str, ...]) -> list[Certificate]:
    """The certificates of a chain in PEM, leaf first; empty if none of the texts is a certificate."""
    ders = [der for pem in pems if (der := _der(pem)) is not None]
    chain = tuple(hashlib.sha256(der).hexdigest() for der in ders)
    return [certificate_from_der(der, chain if number == 0 else None) for number, der in enumerate(ders)]


def _der(pem: str) -> bytes | None:
    body = pem.partition(_BEGIN)[2].partition(_END)[0]
    try:
        return base64.b64decode("".join(body.split()), validate=True) or None
    except (binascii.Error, ValueError):
        return None
