"""The testbed's DNS server: UDP and TCP, answers for the scenario's names and for no others, logs every query."""

from __future__ import annotations

import asyncio
import struct
import time
from itertools import pairwise
from typing import cast

import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdatatype
import dns.rrset

from originset.crawler.testbed.scenario import HttpsRecord, Scenario
from originset.crawler.testbed.server_logs import LoggedDnsQuery, ServerLog

_TTL_S = 300


class DnsServer:
    """Addresses in the scenario's order, HTTPS records, ``CNAME`` for aliases, NXDOMAIN for other names."""

    def __init__(self, scenario: Scenario, log: ServerLog) -> None:
        self._scenario = scenario
        self._log = log

    async def start(self, port: int = 53) -> None:
        """Listen on a port of the scenario's DNS address, for as long as the event loop runs."""
        loop = asyncio.get_running_loop()
        address = (self._scenario.dns_address, port)
        await loop.create_datagram_endpoint(lambda: _Datagrams(self), local_addr=address)
        await asyncio.start_server(self._stream, *address)

    async def _stream(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client: str = writer.get_extra_info("peername")[0]
        try:
            while True:
                (length,) = struct.unpack("!H", await reader.readexactly(2))
                answer = self.answer(await reader.readexactly(length), client, "tcp")
                if answer is None:
                    break
                writer.write(struct.pack("!H", len(answer)) + answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client has gone: nothing is owed
        finally:
            writer.close()

    def answer(self, wire: bytes, client: str, transport: str) -> bytes | None:
        """The reply's wire form to a query's; None for what is no query, which stays unanswered."""
        try:
            query = dns.message.from_wire(wire)
            question = query.question[0]
        except (dns.exception.DNSException, IndexError):
            return None
        if query.flags & dns.flags.QR:
            return None
        name = question.name.to_text(omit_final_dot=True).lower()
        reply = dns.message.make_response(query, recursion_available=True)
        records = self._records(name, question.rdtype)
        if records is None:
            reply.set_rcode(dns.rcode.NXDOMAIN)
        for owner, rtype, value in records or []:
            # dnspython shuffles within a record set: one set for each address keeps the order.
            owner_name = question.name if owner == name else dns.name.from_text(owner)
            reply.answer.append(dns.rrset.from_text(owner_name, _TTL_S, "IN", rtype, value))
        if not any(rrset.rdtype == question.rdtype for rrset in reply.answer):
            zone = question.name.split(min(2, len(question.name.labels)))[1]
            reply.authority.append(dns.rrset.from_text(zone, _TTL_S, "IN", "SOA", ". . 1 3600 600 86400 300"))
        self._log.write(
            LoggedDnsQuery(
                time=time.time(),
                name=name,
                rtype=dns.rdatatype.to_text(question.rdtype),
                client=client,
                transport=transport,
                rcode=dns.rcode.to_text(reply.rcode()),
            )
        )
        return reply.to_wire()

    def _records(self, name: str, rdtype: dns.rdatatype.RdataType) -> list[tuple[str, str, str]] | None:
        """(owner, type, value) of the answer; None if the name does not exist."""
        host = self._scenario.hosts.get(name)
        if host is None or host.unknown:
            return None
        rtype = dns.rdatatype.to_text(rdtype)
        names = (name, *self._scenario.aliases_of(name))
        records = [(alias, "CNAME", f"{target}.") for alias, target in pairwise(names)]
        host = self._scenario.hosts[names[-1]]
        family = {"A": ".", "AAAA": ":"}.get(rtype)
        if family is not None:
            records += [(host.name, rtype, address) for address in host.addresses if family in address]
        elif rtype == "HTTPS" and host.https_record is not None:
            records.append((host.name, rtype, _service(host.https_record)))
        return records


def _service(record: HttpsRecord) -> str:
    """The presentation form of RFC 9460 section 2.1: the host itself, with these parameters."""
    port = "" if record.port is None else f" port={record.port}"
    return f"1 . alpn={','.join(record.alpn)}{port}"


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, server: DnsServer) -> None:
        self._server = server
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)  # which asyncio's own does not inherit from

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        answer = self._server.answer(data, addr[0], "udp")
        if answer is not None and self._transport is not None:
            self._transport.sendto(answer, addr)
