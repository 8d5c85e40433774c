"""What hosts are called everywhere in a study, as lower-case A-labels or canonical addresses; and what names cover."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Collection
from functools import lru_cache

import idna

_IPV4 = re.compile(r"(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!\Z)|\Z)){4}", re.ASCII)
# Host names as they are in use: with underscores, which host names should not have.
_HOST = re.compile(r"(?=.{1,253}\Z)[a-z0-9_](?:[a-z0-9_-]{0,62})(?:\.[a-z0-9_-]{1,63})*", re.ASCII)
# The last label of what the URL Standard parses as an IPv4 address, valid or not ("ends in a number").
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")


@lru_cache(maxsize=100_000)
def normalise_host(host: str) -> str | None:
    """The host as :func:`ascii_name` without a trailing dot, or as a canonical IP literal; None if it is neither."""
    name = ascii_name(host.strip())
    if name is None:
        return None
    name = name.removesuffix(".")
    if ":" in name or _NUMBER.fullmatch(name.rpartition(".")[2]):
        return canonical_ip(name)
    return name if _HOST.fullmatch(name) else None


def ascii_name(name: str) -> str | None:
    """A name in lower case, its labels beyond ASCII as A-labels (IDNA 2008 with UTS 46's mapping).

    None if a label has no such form. Labels are not validated otherwise.
    """
    if name.isascii():
        return name.lower()
    try:
        mapped = idna.uts46_remap(name, std3_rules=False, transitional=False)
        labels = [label if label.isascii() else idna.alabel(label).decode() for label in mapped.split(".")]
    except (idna.IDNAError, UnicodeError):
        return None
    return ".".join(labels).lower()


def covers(names: Collection[str], host: str) -> bool:
    """Whether a certificate's names cover the host, exactly or by one left-most wildcard label (RFC 9525 6.3)."""
    return host in names or f"*.{host.partition('.')[2]}" in names


def address_and_port(text: str, port: int) -> tuple[str, int] | None:
    """Address and port of ``ADDRESS``, ``ADDRESS:PORT`` or ``[IPV6]:PORT``; ``port`` is the default. None otherwise."""
    host, separator, digits = text.rpartition(":")
    if not separator or (":" in host and not text.startswith("[")):
        host, digits = text, str(port)
    try:
        address = canonical_ip(str(ipaddress.ip_address(host.strip("[]"))))
    except ValueError:
        return None
    if address is None:
        return None
    return (address, int(digits)) if is_port(digits) else None


def is_port(digits: str) -> bool:
    """Whether a text is a port's number, of which no more is read than a port may have."""
    return len(digits) <= 5 and digits.isascii() and digits.isdigit() and 0 < int(digits) < 1 << 16


@lru_cache(maxsize=100_000)
def canonical_ip(text: str) -> str | None:
    """An IP address in canonical text, without brackets, zone and port; None if the text is not an address.

    An IPv4-mapped IPv6 address becomes the IPv4 address, to which packets are sent.
    """
    if _IPV4.fullmatch(text):
        return text
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    text = text.partition("%")[0]
    if text.count(":") == 1:  # an IPv4 address with a port
        text = text.partition(":")[0]
    if ":" in text:  # the C library is ten times as fast, but writes some addresses with an IPv4 part
        try:
            written = socket.inet_ntop(socket.AF_INET6, socket.inet_pton(socket.AF_INET6, text))
        except (OSError, ValueError):
            return None
        if "." not in written:
            return written
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)
