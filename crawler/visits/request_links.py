"""How a visit's requests hang together: what carried them, what caused them, which document asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from originset.crawler.visits.devtools_events import Response
from originset.crawler.visits.page_log import Exchange
from originset.data.netlog.sockets import SentRequest
from originset.data.sanitising.url_redaction import redact_url


def connection_ids(exchanges: Sequence[Exchange], sent: Sequence[SentRequest]) -> dict[int, int]:
    """id(exchange) -> connection, of those that went over the network.

    From the response; else, for requests that failed once they were sent, from the NetLog by address, method, order.
    """
    networked = [exchange for exchange in exchanges if cache_kind(exchange) is None]
    found = {
        id(exchange): int(exchange.response.connection_id)
        for exchange in networked
        if exchange.response is not None and exchange.response.connection_id > 0
    }
    nameless = [
        exchange
        for exchange in networked
        if id(exchange) not in found and exchange.sent.request.url.startswith(("http", "ws"))
    ]
    if not nameless:
        return found
    spare = _UnnamedConnections(sent)
    for exchange in networked:
        if (number := found.get(id(exchange))) is not None:
            spare.use_up(exchange, number)
    for exchange in nameless:
        if (number := spare.take(exchange)) is not None:
            found[id(exchange)] = number
    return found


def credentials(
    exchanges: Sequence[Exchange], sent: Sequence[SentRequest], connections: Mapping[int, int]
) -> dict[int, str]:
    """id(exchange) -> include or omit: whether the browser was to send and to keep cookies with it.

    From the NetLog, where the network stack was given the request: by address and method; where these do not tell the
    mode, by the connection too, else in order. ``connections`` is that of :func:`connection_ids`.
    """
    found: dict[int, str] = {}
    asked: dict[tuple[str, str], list[SentRequest]] = {}
    for request in sent:
        if request.credentials is not None:
            asked.setdefault((request.url, request.method), []).append(request)
    for exchange in exchanges:
        candidates = asked.get((_wire_url(exchange), exchange.sent.request.method), [])
        number = connections.get(id(exchange))
        on_connection = [request for request in candidates if number is not None and request.socket == number]
        chosen = on_connection or candidates
        if not chosen or chosen[0].credentials is None:
            continue
        found[id(exchange)] = chosen[0].credentials
        if len({request.credentials for request in candidates}) > 1:
            candidates.remove(chosen[0])
    return found


class _UnnamedConnections:
    """Connections of sent requests that no response has named."""

    def __init__(self, sent: Sequence[SentRequest]) -> None:
        self._sockets: dict[tuple[str, str], list[int]] = {}
        for request in sent:
            if request.socket is not None:
                self._sockets.setdefault((request.url, request.method), []).append(request.socket)

    def _of(self, exchange: Exchange) -> list[int]:
        return self._sockets.get((_wire_url(exchange), exchange.sent.request.method), [])

    def use_up(self, exchange: Exchange, number: int) -> None:
        if number in (sockets := self._of(exchange)):
            sockets.remove(number)

    def take(self, exchange: Exchange) -> int | None:
        sockets = self._of(exchange)
        return sockets.pop(0) if sockets else None


def cache_kind(exchange: Exchange) -> str | None:
    """How a request was answered without the network; None if it was not."""
    if exchange.from_memory:
        return "memory"
    if exchange.response is None:
        return None
    kind = _response_cache_kind(exchange.response)
    # What fills the prefetch cache is marked as coming from it, but went over the network.
    return None if kind == "prefetch" and exchange.type == "Prefetch" else kind


def _response_cache_kind(response: Response) -> str | None:
    if response.from_service_worker:
        return "service_worker"
    if response.from_disk_cache:
        return "disk"
    if response.from_prefetch_cache:
        return "prefetch"
    return "internal" if "non-authoritative-reason" in {name.lower() for name in response.headers} else None


def _wire_url(exchange: Exchange) -> str:
    return exchange.sent.request.url.partition("#")[0]


class Initiators:
    """Which request caused which: the hop before, the one that DevTools names, the script or sheet, the document."""

    def __init__(self, exchanges: Iterable[Exchange]) -> None:
        self._by_id: dict[str, Exchange] = {}
        self._by_url: dict[str, Exchange] = {}
        for exchange in exchanges:
            self._by_id[exchange.sent.request_id] = exchange
            self._by_url.setdefault(_wire_url(exchange), exchange)

    def of(self, exchange: Exchange) -> Exchange | None:
        """The request that caused this one; None for the page's own and where it is not known."""
        if exchange.first_hop is not None:
            return exchange.first_hop
        sent = exchange.sent
        if sent.initiator.request_id and (cause := self._by_id.get(sent.initiator.request_id)) is not None:
            return cause
        for url in (initiator_url(exchange), sent.document_url):
            cause = self._by_url.get(url.partition("#")[0]) if url else None
            if cause is not None and cause is not exchange:
                return cause
        cause = self._by_id.get(sent.loader_id)
        return cause if cause is not exchange else None


def initiator_url(exchange: Exchange) -> str | None:
    """The address that DevTools names as the cause: the script on top of the stack, the sheet, the document."""
    initiator = exchange.sent.initiator
    if initiator.url:
        return initiator.url
    stack: Any = initiator.stack
    while isinstance(stack, dict):
        for call in stack.get("callFrames") or ():
            if isinstance(call, dict) and call.get("url"):
                return str(call["url"])
        stack = stack.get("parent")
    return None


class Frames:
    """The addresses of the documents in the page's frames."""

    def __init__(self, exchanges: Iterable[Exchange], parents: Mapping[str, str]) -> None:
        self._parents = parents
        self._urls = {
            exchange.sent.frame_id: exchange.sent.request.url
            for exchange in exchanges
            if exchange.sent.frame_id and exchange.type == "Document"
        }

    def asking(self, exchange: Exchange) -> str | None:
        """The document that asked: for a subframe's own document that of its parent."""
        sent = exchange.sent
        parent = self._parents.get(sent.frame_id or "")
        if exchange.type == "Document" and parent is not None:
            return self._urls.get(parent)
        if sent.document_url.startswith("about:"):
            return self._around(sent.frame_id)
        if sent.document_url.startswith("blob:"):
            return redact_url(sent.document_url).removeprefix("blob:") or None  # its origin; the rest names content
        return sent.document_url or None

    def _around(self, frame: str | None) -> str | None:
        """The nearest document with an address: one without (srcdoc, blank) belongs to the one that made it."""
        while frame is not None and (frame := self._parents.get(frame)) is not None:
            if (url := self._urls.get(frame)) is not None:
                return url
        return None
