"""The testbed's web servers: TLS (HTTP/2 and HTTP/1.1), QUIC and plain HTTP at every address of the scenario."""

from __future__ import annotations

import asyncio
import itertools
import ssl
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from weakref import WeakKeyDictionary

from originset.crawler.testbed.announced_origins import OriginAnnouncement
from originset.crawler.testbed.scenario import Host, Scenario
from originset.crawler.testbed.server_logs import ServerLog, TlsHandshake
from originset.crawler.testbed.servers.certificate_authority import Issued
from originset.crawler.testbed.servers.http1_server import serve_http1
from originset.crawler.testbed.servers.http2_server import serve_http2
from originset.crawler.testbed.servers.http3_server import H3Server
from originset.crawler.testbed.servers.latency_relay import OFFSET, Relay
from originset.crawler.testbed.servers.responses import Answers, Arrival


class WebServer:
    """All servers of a scenario. ``certificates`` by the names that the scenario gives them."""

    def __init__(self, scenario: Scenario, certificates: Mapping[str, Issued], log: ServerLog) -> None:
        self._scenario = scenario
        self._certificates = certificates
        self._log = log
        self._answers = Answers(scenario, log)
        self._numbers = itertools.count(1)
        self._h3 = H3Server(scenario, certificates, self._answers, self._numbers)
        self._contexts: dict[tuple[str, str], ssl.SSLContext] = {}
        self._server_names: WeakKeyDictionary[ssl.SSLObject | ssl.SSLSocket, str] = WeakKeyDictionary()

    async def start(self, relay: Relay | None = None) -> None:
        """Listen on 443 and 80 of every address but external, refusing and Node's hosts', while the event loop runs.

        With a relay it listens there, and we behind it.
        """
        offset = OFFSET if relay is not None else 0
        for address in self._scenario.addresses:
            host = next(host for host in self._scenario.hosts.values() if address in host.addresses)
            if host.refuses or host.external or host.implementation != "python":
                continue
            default = self._new_context(host)
            default.sni_callback = self._choose
            await asyncio.start_server(
                partial(self._serve, address), address, 443 + offset, ssl=default, ssl_handshake_timeout=60, backlog=256
            )
            await asyncio.start_server(partial(self._serve, address), address, 80 + offset)
            has_h3 = any(host.http3 and address in host.addresses for host in self._scenario.hosts.values())
            if has_h3:
                await self._h3.start(address, 443 + offset)
            if relay is not None:
                await relay.tcp(address, 443)
                await relay.tcp(address, 80)
                if has_h3:
                    await relay.udp(address, 443)

    def _choose(self, connection: ssl.SSLObject | ssl.SSLSocket, name: str | None, _context: ssl.SSLContext) -> None:
        """RFC 6066: the certificate by the name that the client asks for; the address's own where it is unknown."""
        if name is None:
            return
        self._server_names[connection] = name
        host = self._scenario.hosts.get(name)
        if host is not None and host.certificate is not None:
            connection.context = self._context(host)

    def _context(self, host: Host) -> ssl.SSLContext:
        key = (host.certificate or "", host.protocol)
        if key not in self._contexts:
            self._contexts[key] = self._new_context(host)
        return self._contexts[key]

    def _new_context(self, host: Host) -> ssl.SSLContext:
        issued = self._certificates[host.certificate or ""]
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(issued.chain, issued.key)
        context.set_alpn_protocols(["http/1.1"] if host.protocol == "http/1.1" else ["h2", "http/1.1"])
        return context

    async def _serve(self, address: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = writer.get_extra_info("peername")
        if peer is None:  # gone before we could look
            writer.close()
            return
        client, client_port = peer[:2]
        tls: ssl.SSLObject | None = writer.get_extra_info("ssl_object")
        alpn = tls.selected_alpn_protocol() if tls else None
        arrival = Arrival(
            connection=next(self._numbers),
            server=address,
            client_port=client_port,
            scheme="https" if tls else "http",
            protocol=alpn or "http/1.1",
            server_name=self._server_names.get(tls) if tls else None,
        )
        host = self._scenario.hosts.get(arrival.server_name or "")
        promise = OriginAnnouncement.of(host if alpn == "h2" else None)
        if tls is not None:
            self._log.write(
                TlsHandshake(
                    time=time.time(),
                    connection=arrival.connection,
                    server=address,
                    client=client,
                    client_port=client_port,
                    server_name=arrival.server_name,
                    alpn=alpn,
                    resumed=bool(tls.session_reused),
                    tls_version=tls.version() or "",
                    origins=None if promise.entries is None else list(promise.entries),
                )
            )
        try:
            if alpn == "h2":
                await serve_http2(reader, writer, arrival, self._answers, promise)
            else:
                await serve_http1(reader, writer, arrival, self._answers)
        except (ConnectionError, ssl.SSLError, TimeoutError):
            pass  # clients leave as they like
        finally:
            writer.close()


def certificate_folder(folder: Path, scenario: Scenario) -> dict[str, Issued]:
    """Where the lab keeps each certificate of a scenario."""
    return {name: Issued(folder / f"{name}.pem", folder / f"{name}.key.pem") for name in scenario.certificates}
