"""DNS answers: a message's bytes as they come from a resolver, made the row of a lookup."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import dns.exception
import dns.flags
import dns.message
import dns.rrset

from doors import Bound
from originset.crawler.probe.resolver import RTYPES, _take
from originset.data.captures.capture import DnsQuery

FOLDERS = ("crawler/probe",)
LONGEST = 1 << 12
MEMORY = Bound(1 << 20, 2_000)
LINES = Bound(2_000, 20)

_HOST = "www.site.test"
_ALIASES = {"www.site.test.": "a.cdn.test.", "a.cdn.test.": "b.cdn.test."}


def read(data: bytes, *, whole: bool) -> None:
    """What dnspython refuses is a malformed answer; what it takes becomes a row, for each type that is asked for."""
    try:
        reply = dns.message.from_wire(data)
    except (dns.exception.DNSException, ValueError):
        return  # as query_names: MALFORMED
    for rtype in RTYPES:
        found = DnsQuery(lookup_id=1, host=_HOST, rtype=rtype, source="resolver", resolver="192.0.2.53")
        _take(found, reply, rtype)
        assert found.status
        assert len(found.cname_chain) <= len(reply.answer)
        assert whole or all(isinstance(answer, str) for answer in found.answers)


def seeds() -> Iterator[bytes]:
    """Addresses behind aliases, in another order, an HTTPS record, no such name, no data."""
    aliases = [dns.rrset.from_text(name, 60, "IN", "CNAME", target) for name, target in _ALIASES.items()]
    address = dns.rrset.from_text("b.cdn.test.", 30, "IN", "A", "192.0.2.1", "192.0.2.2")
    sixth = dns.rrset.from_text("b.cdn.test.", 30, "IN", "AAAA", "2001:db8::1")
    service = dns.rrset.from_text("www.site.test.", 5, "IN", "HTTPS", '1 . alpn="h3,h2" ipv4hint=192.0.2.1 port=8443')
    loop = dns.rrset.from_text("a.cdn.test.", 5, "IN", "CNAME", "www.site.test.")
    for answer in ([*aliases, address], [address, *aliases[::-1]], [sixth], [service], [aliases[0], loop], []):
        message = dns.message.make_response(dns.message.make_query(_HOST, "A"))
        message.answer = answer
        yield message.to_wire()
    message.set_rcode(3)
    message.flags |= dns.flags.TC
    yield message.to_wire()


def bombs(size: int) -> Mapping[str, bytes]:
    """Records of one kind, and names that point at one another (RFC 1035 section 4.1.4)."""
    header = bytes.fromhex("000081800001")
    question = b"\x03www\x04site\x04test\x00\x00\x01\x00\x01"
    address = bytes.fromhex("c00c00010001000000050004c0000201")
    alias = bytes.fromhex("c00c00050001000000050002c00c")

    def message(record: bytes, most: int = 65_535) -> bytes:
        count = min(most, size // len(record))
        return header + count.to_bytes(2) + b"\x00\x00\x00\x00" + question + record * count

    chain = b"".join(
        bytes([1, 97 + n % 26, 3, 97 + n // 26 % 26, 97 + n // 676 % 26, 97, 0]) + bytes.fromhex("0005000100000005")
        + b"\x00\x07" + bytes([1, 97 + (n + 1) % 26, 3, 97 + (n + 1) // 26 % 26, 97 + (n + 1) // 676 % 26, 97, 0])
        for n in range(size // 24)
    )  # fmt: skip
    pointers = b"".join((0xC00C + 2 * n).to_bytes(2) for n in range(min(size // 2, 8_000)))
    return {
        "addresses": message(address),
        "aliases": message(alias),
        "chain": header + min(65_535, size // 24).to_bytes(2) + b"\x00\x00\x00\x00" + question + chain,
        "pointers": header + b"\xff\xff\x00\x00\x00\x00" + pointers,
        "texts": message(bytes.fromhex("c00c001000010000000500ff") + b"\xfe" + b"a" * 254),
    }
