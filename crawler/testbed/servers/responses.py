"""What the testbed's servers answer to a request, whatever HTTP version it came in."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from originset.crawler.testbed.scenario import Host, Resource, Scenario
from originset.crawler.testbed.server_logs import LoggedRequest, ServerLog
from originset.crawler.testbed.servers import page_bodies
from originset.data.http_status import MISDIRECTED_REQUEST
from originset.data.scenario.entries import Rough

Headers = list[tuple[str, str]]

UNANSWERED = 0  # the status of what is not answered
CONNECTION_DROPPED = -1  # the status of what ends the connection
ENDLESS_PAUSE_S = 0.02

_ROUGH_PAGES = {
    "hangs": "<!doctype html><title>hangs</title><script>while (true) {}</script>",
    "crashes": "<!doctype html><title>crash</title><script>for (const a = [];;) a.push(Array(9999).fill(1))</script>",
    "endless": "<!doctype html><title>endless</title>" + "<p>and on</p>" * 64,
}


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
    endless: bool = False  # the body again and again


class Answers:
    """Answers and logs requests."""

    def __init__(self, scenario: Scenario, log: ServerLog) -> None:
        self._scenario = scenario
        self.log = log
        # Never set. It holds the tasks that wait: nothing else would, once their clients have gone.
        self._answer_to_what_hangs = asyncio.Event()

    def is_websocket(self, authority: str, target: str) -> bool:
        """Whether there is a WebSocket at a URL."""
        resource = self._scenario.served.get((_host_of(authority), target.partition("?")[0]))
        return resource is not None and resource.kind == "websocket"

    async def answer(self, arrival: Arrival, method: str, target: str, headers: Mapping[str, str]) -> Answer:
        """The answer to one request, after its delay; never comes for what hangs.

        ``headers``: as ``joined`` gives them. ``arrival.protocol`` "websocket": the connection is to become one.
        """
        authority = headers.get(":authority", headers.get("host", ""))
        host = _host_of(authority)
        known = self._scenario.hosts.get(host)
        asked = self._scenario.served.get((host, target.partition("?")[0]))
        if wait_ms := (known.delay_ms if known else 0) + (asked.wait_ms if asked else 0):
            await asyncio.sleep(wait_ms / 1000)
        answer = self._answer(arrival, host, target.partition("?")[0], headers.get("origin"))
        self.log.write(
            LoggedRequest(
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
                cookies=_cookie_names(headers.get("cookie", "")),
            )
        )
        if answer.status == UNANSWERED:
            await self._answer_to_what_hangs.wait()
        return answer if method != "HEAD" else Answer(answer.status, answer.headers)

    def _answer(self, arrival: Arrival, name: str, path: str, origin: str | None) -> Answer:
        host = self._scenario.hosts.get(name)
        if host is None or self._is_misdirected(arrival, host):
            return _text(MISDIRECTED_REQUEST)
        if arrival.scheme == "http":
            return _text(301, ("location", f"https://{name}{path}"))
        if host.redirect is not None:
            return _text(301, ("location", host.redirect))
        if host.rough is not None:
            return _faulty_answer(host.rough)
        resource = self._scenario.served.get((name, path))
        fields = _host_headers(host)
        return _text(404, *fields) if resource is None else _content(resource, arrival.protocol, origin, fields)

    def _is_misdirected(self, arrival: Arrival, host: Host) -> bool:
        """RFC 9110 section 15.5.20: the request came to a server, or over a connection, that is not for its host.

        A server answers for the names that DNS gives its address, and for those that it promised by ORIGIN.
        """
        if arrival.scheme == "https" and host.own_connection and arrival.server_name != host.name:
            return True
        if arrival.server in host.addresses:
            return False
        first = self._scenario.hosts.get(arrival.server_name or "")
        return first is None or not first.answers_for(host.name)


def joined_fields(fields: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """A request's fields by their names, which are in lower case; a Cookie may come in crumbs (RFC 9113 8.2.3)."""
    headers: dict[str, str] = {}
    for raw_name, raw_value in fields:
        name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}; {value}" if name == "cookie" and name in headers else value
    return headers


def _host_of(authority: str) -> str:
    return authority.rsplit(":", 1)[0].lower()


def _cookie_names(field: str) -> list[str]:
    return [name for pair in field.split(";") if (name := pair.partition("=")[0].strip())]


def _host_headers(host: Host) -> Headers:
    """What a host says with every answer over TLS."""
    fields = [("set-cookie", f"{name}=1; Path=/; Secure; HttpOnly; SameSite=None") for name in host.cookies]
    if host.hsts:
        fields.append(("strict-transport-security", "max-age=86400"))
    if host.alt_svc is not None:
        fields.append(("alt-svc", host.alt_svc))
    return fields


def content_of(resource: Resource, host: Host) -> Answer:
    """What is answered over HTTP/2 to a request for a resource that no script of another origin makes."""
    return _content(resource, "h2", None, _host_headers(host))


def _content(resource: Resource, protocol: str, origin: str | None, fields: Headers) -> Answer:
    if protocol == "websocket" or resource.hangs:
        return Answer(UNANSWERED if resource.hangs else 101, [])
    if resource.status == 204:  # RFC 9110 section 8.6: without Content-Length
        return Answer(204, [("cache-control", "no-store"), *fields])
    body = page_bodies.resource_body(resource)
    headers = [
        *fields,
        ("content-type", body.media_type),
        ("content-length", str(len(body.content))),
        ("cache-control", "no-store" if resource.kind in ("page", "worker") else "public, max-age=3600"),
        ("timing-allow-origin", "*"),
    ]
    if origin is not None:
        headers += [
            ("access-control-allow-origin", origin),
            ("access-control-allow-credentials", "true"),
            ("vary", "origin"),
        ]
    if resource.kind == "link":
        headers.append(("content-disposition", "attachment"))
    return Answer(resource.status, headers, body.content)


def _faulty_answer(kind: Rough) -> Answer:
    if kind == "silent":
        return Answer(UNANSWERED, [])
    if kind == "drops":
        return Answer(CONNECTION_DROPPED, [])
    headers = [("content-type", "text/html; charset=utf-8"), ("cache-control", "no-store")]
    return Answer(200, headers, _ROUGH_PAGES[kind].encode(), endless=kind == "endless")


def _text(status: int, *headers: tuple[str, str]) -> Answer:
    body = f"{status}\n".encode()
    fields = [("content-type", "text/plain"), ("content-length", str(len(body))), ("cache-control", "no-store")]
    return Answer(status, [*fields, *headers], body)
