"""Origins that a server can announce. Validation is strict, because accepted texts end up in other people's configs."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable

import idna

# The limit that Node documents. nghttp2 allows 2 bytes more, the largest frame that every client accepts (RFC 9113
# section 4.2).
MAX_PAYLOAD_BYTES = 16_382

_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
# The last label of what the URL Standard parses as an IPv4 address ("ends in a number"): 1.2.3.4, 127.1 or 0x7f.1.
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_ORIGIN = re.compile(r"https://([^/?#:@\[\]]+)(?::([1-9][0-9]{0,4}))?")
_HTTPS_PORT = 443


class NotAnOriginError(ValueError):
    """A text that is not an origin that can be announced; ``reason`` says why, for users."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


def serialize(host: str, port: int = _HTTPS_PORT) -> str:
    """The origin of an https host, as RFC 6454 section 6.2 writes it: ``https://host`` or ``https://host:port``.

    Raises:
        NotAnOriginError: ``host`` is not a lower-case host name of letters, digits and hyphens (A-labels for anything
            else, RFC 5890), or ``port`` is not from 1 to 65535.
    """
    check_host(host)
    if not 0 < port < 65536:
        raise NotAnOriginError(f"{port} is not a port")
    return f"https://{host}" if port == _HTTPS_PORT else f"https://{host}:{port}"


def parse(origin: str) -> tuple[str, int]:
    """Host and port of an origin in exactly the form of :func:`serialize`.

    Raises:
        NotAnOriginError: it is anything else, such as a URL with a path, a wildcard or an IP literal.
    """
    if not origin.startswith("https://"):
        raise NotAnOriginError("only https origins can be announced")
    rest = origin.removeprefix("https://")
    if rest.startswith("["):
        raise NotAnOriginError("an IP address is not a host name")
    if any(c in rest for c in "/?#"):
        raise NotAnOriginError("an origin has no path")
    match = _ORIGIN.fullmatch(origin)
    if match is None:
        raise NotAnOriginError("it is more than scheme, host and port")
    host, port = match[1], int(match[2] or _HTTPS_PORT)
    if serialize(host, port) != origin:
        raise NotAnOriginError("an origin leaves out port 443")
    return host, port


def why_no_origin(host: str, port: int | None) -> str | None:
    """Why no origin of this host can be announced; None if it can. A port that is not known counts as 443."""
    try:
        serialize(host, _HTTPS_PORT if port is None else port)
    except NotAnOriginError as error:
        return error.reason
    return None


def why_no_name(host: str) -> str | None:
    """Why no public CA signs a certificate for a host name, for users; None if one would."""
    single_label = None if "." in host else "a public CA signs no name of a single label"
    return why_no_origin(host, None) or single_label


def check_host(host: str) -> None:
    """Check that a host can be in an announced origin.

    Raises:
        NotAnOriginError: it cannot; see :func:`serialize`.
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
