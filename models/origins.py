"""Which texts are origins that a server may announce: strict, since what passes ends up in other people's configs."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable

import idna

# What Node documents as its limit. nghttp2 takes 2 bytes more, the largest frame that every client accepts (RFC 9113
# section 4.2).
MAX_PAYLOAD_BYTES = 16_382

_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
# What the URL standard's parser takes for an IPv4 address, such as 1.2.3.4, 127.1 or 0x7f.1: its "ends in a number".
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_ORIGIN = re.compile(r"https://([^/?#:@\[\]]+)(?::([1-9][0-9]{0,4}))?")
_HTTPS_PORT = 443


class NotAnOriginError(ValueError):
    """A text that is no origin to announce; ``reason`` says why, in words fit for a person."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


def serialize(host: str, port: int = _HTTPS_PORT) -> str:
    """The origin of an https host, as RFC 6454 section 6.2 writes it: ``https://host`` or ``https://host:port``.

    Raises:
        NotAnOriginError: ``host`` is not a lower-case host name of letters, digits and hyphens (A-labels for anything
            else, RFC 5890), or ``port`` is none.
    """
    check_host(host)
    if not 0 < port < 65536:
        raise NotAnOriginError(f"{port} is not a port")
    return f"https://{host}" if port == _HTTPS_PORT else f"https://{host}:{port}"


def parse(origin: str) -> tuple[str, int]:
    """Host and port of an origin in exactly the form that :func:`serialize` gives.

    Raises:
        NotAnOriginError: it is anything else, such as an address with a path, a wildcard or an IP literal.
    """
    if not origin.startswith("https://"):
        raise NotAnOriginError("only https origins can be announced")
    rest = origin.removeprefix("https://")
    if rest.startswith("["):
        raise NotAnOriginError("an IP address is not a host name")
    if any(c in rest for c in "/?#"):
        raise NotAnOriginError("an origin has no path")
    found = _ORIGIN.fullmatch(origin)
    if found is None:
        raise NotAnOriginError("it is more than scheme, host and port")
    host, port = found[1], int(found[2] or _HTTPS_PORT)
    if serialize(host, port) != origin:
        raise NotAnOriginError("an origin leaves out port 443")
    return host, port


def why_no_origin(host: str, port: int | None) -> str | None:
    """Why there is no origin to announce of a host, as :func:`serialize` has it; a port that is not known is 443."""
    try:
        serialize(host, _HTTPS_PORT if port is None else port)
    except NotAnOriginError as error:
        return error.reason
    return None


def why_no_name(host: str) -> str | None:
    """Why no public CA takes a host name into a certificate, in words fit for a person; None where one would."""
    single = None if "." in host else "a public CA signs no name of a single label"
    return why_no_origin(host, None) or single


def check_host(host: str) -> None:
    """Refuse what cannot be the host of an announced origin.

    Raises:
        NotAnOriginError: see :func:`serialize`.
    """
    if "*" in host:
        raise NotAnOriginError("a wildcard is not an origin")
    if _is_address(host):
        raise NotAnOriginError("an IP address is not a host name")
    if not 0 < len(host) <= 253:
        raise NotAnOriginError("a host name has 1 to 253 characters")
    labels = host.split(".")
    for label in labels:
        if len(label) > 63:
            raise NotAnOriginError("a label has at most 63 characters")
        if _LABEL.fullmatch(label) is None:
            raise NotAnOriginError("a host name has lower-case letters, digits and inner hyphens")
        if label.startswith("xn--") and not _is_a_label(label):
            raise NotAnOriginError("xn-- without a valid internationalised label behind it")
    if _NUMBER.fullmatch(labels[-1]):
        raise NotAnOriginError("an IP address is not a host name")


def payload_bytes(origins: Iterable[str]) -> int:
    """Size of an ORIGIN frame's payload: each origin has a length field of two bytes (RFC 8336 section 2.1)."""
    return sum(2 + len(origin) for origin in origins)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True


def _is_a_label(label: str) -> bool:
    try:
        return idna.alabel(idna.ulabel(label)) == label.encode()
    except (idna.IDNAError, UnicodeError):
        return False
