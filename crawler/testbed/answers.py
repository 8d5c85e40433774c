"""What the testbed's servers answer to a request, whatever HTTP version it came in."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from originset.crawler.testbed import pages
from originset.crawler.testbed.scenario import Host, Resource, Scenario
from originset.crawler.testbed.truth import Log, Request

Headers = list[tuple[str, str]]


@dataclass(frozen=True)
class Arrival:
    """The connection that a request came in on."""

    connection: int
    server: str
    client_port: int
    scheme: str
    protocol: str
    server_name: str | None


@dataclass(frozen=True)
class Answer:
    """Status, header fields in lower case, and body."""

    status: int
    headers: Headers
    body: bytes = b""


class Answers:
    """Answers and logs requests."""

    def __init__(self, scenario: Scenario, log: Log) -> None:
        self._scenario = scenario
        self._log = log

    async def answer(self, arrival: Arrival, method: str, authority: str, target: str, origin: str | None) -> Answer:
        """The answer to one request, after the host's delay. ``origin`` is the request's Origin header."""
        host = authority.rsplit(":", 1)[0].lower()
        known = self._scenario.hosts.get(host)
        if known is not None and known.delay_ms:
            await asyncio.sleep(known.delay_ms / 1000)
        answer = self._answer(arrival, host, target.partition("?")[0], origin)
        self._log.write(
            Request(
                time=time.time(),
                connection=arrival.connection,
                server=arrival.server,
                client_port=arrival.client_port,
                scheme=arrival.scheme,
                protocol=arrival.protocol,
                method=method,
                host=host,
                path=target,
                status=answer.status,
            )
        )
        return answer if method != "HEAD" else Answer(answer.status, answer.headers)

    def _answer(self, arrival: Arrival, name: str, path: str, origin: str | None) -> Answer:
        host = self._scenario.hosts.get(name)
        if host is None or self._misdirected(arrival, host):
            return _text(421)
        if arrival.scheme == "http":
            return _text(301, ("location", f"https://{name}{path}"))
        if host.redirect is not None:
            return _text(301, ("location", host.redirect))
        resource = self._scenario.served.get((name, path))
        if resource is None:
            return _text(404)
        return _content(resource, origin)

    def _misdirected(self, arrival: Arrival, host: Host) -> bool:
        """RFC 9110 section 15.5.20: the request came to a server, or over a connection, that is not for its host.

        A server answers for the names that DNS gives its address, and for those that it promised by ORIGIN.
        """
        if arrival.scheme == "https" and host.own_connection and arrival.server_name != host.name:
            return True
        if arrival.server in host.addresses:
            return False
        first = self._scenario.hosts.get(arrival.server_name or "")
        return first is None or f"https://{host.name}" not in (first.origin_set or ())


def _content(resource: Resource, origin: str | None) -> Answer:
    body = pages.body(resource)
    headers = [
        ("content-type", body.media_type),
        ("content-length", str(len(body.content))),
        ("cache-control", "no-store" if resource.kind == "page" else "public, max-age=3600"),
        ("timing-allow-origin", "*"),
    ]
    if origin is not None:
        headers += [
            ("access-control-allow-origin", origin),
            ("access-control-allow-credentials", "true"),
            ("vary", "origin"),
        ]
    return Answer(200, headers, body.content)


def _text(status: int, *headers: tuple[str, str]) -> Answer:
    body = f"{status}\n".encode()
    fields = [("content-type", "text/plain"), ("content-length", str(len(body))), ("cache-control", "no-store")]
    return Answer(status, [*fields, *headers], body)
