"""HAR 1.2 from a visit's DevTools events: one entry per request, redirects, failures and cached ones included.

Beyond HAR 1.2 an entry has, where known:

``connection``        text of Chromium's connection id, that of ``log._originset.connections``
``_resourceType``     as DevTools: document, stylesheet, image, script, font, fetch, xhr, ping, preflight, websocket, ...
``_priority``         as DevTools
``_initiator``        ``{type, url}``: what caused it
``_initiatorIndex``   index of the entry that caused it: the hop before in a redirect, the script, sheet or document
``_frameUrl``         address of the document that asked (of the parent for a subframe's own document)
``_frameId``          the frame; ``_mainFrame`` true where it is the page's own
``_fromCache``        memory, disk, prefetch, service_worker, or internal (a redirect that the browser made up, as for HSTS)
``_securityDetails``  DevTools' SecurityDetails without SCTs
``response._transferSize``  bytes as transferred, headers included
``response._error``   ``net::ERR_*`` of a failed request; without a response its status is 0
``_remotePort``       port of ``serverIPAddress``

Timings are ms; ``connect`` contains ``ssl``; -1 is "does not apply". No bodies, cookies, credentials or fragments.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import originset
from originset.crawler.netlog import SentRequest
from originset.crawler.page_log import Exchange, PageLog, Response, Timing
from originset.crawler.redaction import clean_headers, clean_url

_SECURITY_FIELDS = (
    "protocol",
    "keyExchange",
    "keyExchangeGroup",
    "cipher",
    "subjectName",
    "sanList",
    "issuer",
    "validFrom",
    "validTo",
    "encryptedClientHello",
)


def har_log(page: PageLog, sent: Sequence[SentRequest], browser_version: str, page_url: str) -> dict[str, Any]:
    """The ``log`` object of a visit.

    ``sent`` are the requests of its NetLog: they tell the connection of requests that failed after they were sent.
    """
    exchanges = ordered(page)
    connections = connection_ids(exchanges, sent)
    index = {id(exchange): number for number, exchange in enumerate(exchanges)}
    initiators = _Initiators(exchanges)
    frames = _frame_urls(exchanges)
    started = exchanges[0] if exchanges else None
    entries = [
        _entry(exchange, connections.get(id(exchange)), index, initiators, _frame_url(exchange, page, frames), page)
        for exchange in exchanges
    ]
    return {
        "version": "1.2",
        "creator": {"name": "originset", "version": originset.__version__},
        "browser": {"name": "Chromium", "version": browser_version},
        "pages": [
            {
                "id": "page_1",
                "startedDateTime": rfc3339(started.sent.wall_time) if started else rfc3339(None),
                "title": clean_url(page_url),
                "pageTimings": {
                    "onContentLoad": _since(started, page.dom_content_loaded),
                    "onLoad": _since(started, page.loaded),
                },
            }
        ],
        "entries": entries,
    }


def ordered(page: PageLog) -> list[Exchange]:
    """The visit's requests in order of start; Chromium's own pages are none."""
    kept = [exchange for exchange in page.exchanges if is_page_request(exchange.sent.request.url)]
    return sorted(kept, key=lambda exchange: exchange.sent.timestamp)


def is_page_request(url: str) -> bool:
    """Whether an address belongs to the page rather than to the browser itself."""
    return not url.startswith(("chrome:", "chrome-", "devtools:", "about:"))


def connection_ids(exchanges: Iterable[Exchange], sent: Sequence[SentRequest]) -> dict[int, int]:
    """id(exchange) -> connection. From the response; else from the NetLog, by address, method and order of start."""
    found: dict[int, int] = {}
    open_: list[Exchange] = []
    for exchange in exchanges:
        response = exchange.response
        if exchange.from_memory or (response is not None and from_cache(response) is not None):
            continue
        if response is not None and response.connection_id > 0:
            found[id(exchange)] = int(response.connection_id)
        elif exchange.sent.request.url.startswith(("http", "ws")):
            open_.append(exchange)
    if not open_:
        return found
    spare: dict[tuple[str, str], list[int]] = {}
    for request in sent:
        if request.socket is not None:
            spare.setdefault((request.url, request.method), []).append(request.socket)
    for exchange in exchanges:  # those that named their connection have used theirs up
        if (number := found.get(id(exchange))) is not None:
            candidates = spare.get((_wire_url(exchange), exchange.sent.request.method), [])
            if number in candidates:
                candidates.remove(number)
    for exchange in open_:
        if candidates := spare.get((_wire_url(exchange), exchange.sent.request.method), []):
            found[id(exchange)] = candidates.pop(0)
    return found


def from_cache(response: Response) -> str | None:
    """How a response came without the network; None if it came over it."""
    if response.from_service_worker:
        return "service_worker"
    if response.from_disk_cache:
        return "disk"
    if response.from_prefetch_cache:
        return "prefetch"
    return "internal" if "non-authoritative-reason" in {name.lower() for name in response.headers} else None


def _wire_url(exchange: Exchange) -> str:
    return exchange.sent.request.url.partition("#")[0]


def _entry(
    exchange: Exchange,
    connection: int | None,
    index: Mapping[int, int],
    initiators: _Initiators,
    frame_url: str | None,
    page: PageLog,
) -> dict[str, Any]:
    sent, response = exchange.sent, exchange.response
    cache = "memory" if exchange.from_memory else (from_cache(response) if response is not None else None)
    timings = _timings(exchange, cached=cache is not None)
    entry: dict[str, Any] = {
        "pageref": "page_1",
        "startedDateTime": rfc3339(sent.wall_time),
        "time": sum(value for name, value in timings.items() if value > 0 and name != "ssl"),
        "request": _request(exchange),
        "response": _response(exchange, cached=cache is not None),
        "cache": {},
        "timings": timings,
        "_resourceType": (exchange.type or "other").lower(),
        "_initiator": {"type": sent.initiator.type},
    }
    if (address := _initiator_url(exchange)) is not None:
        entry["_initiator"]["url"] = clean_url(address)
    if (cause := initiators.of(exchange)) is not None and index[id(cause)] < index[id(exchange)]:
        entry["_initiatorIndex"] = index[id(cause)]
    if sent.request.initial_priority is not None:
        entry["_priority"] = sent.request.initial_priority
    if frame_url is not None:
        entry["_frameUrl"] = clean_url(frame_url)
    if sent.frame_id:
        entry["_frameId"] = sent.frame_id
        entry["_mainFrame"] = sent.frame_id == page.main_frame
    if cache is not None:
        entry["_fromCache"] = cache
    elif response is not None and response.remote_ip_address:
        entry["serverIPAddress"] = response.remote_ip_address.strip("[]")
        if response.remote_port:
            entry["_remotePort"] = response.remote_port
    if connection is not None:
        entry["connection"] = str(connection)
    if response is not None and response.security_details is not None:
        details = response.security_details
        entry["_securityDetails"] = {name: details[name] for name in _SECURITY_FIELDS if name in details}
    return entry


def _request(exchange: Exchange) -> dict[str, Any]:
    request = exchange.sent.request
    url = clean_url(request.url)
    return {
        "method": request.method,
        "url": url,
        "httpVersion": (exchange.response.protocol if exchange.response else None) or "",
        "headers": clean_headers(request.headers),
        "queryString": [
            {"name": name, "value": value} for name, value in parse_qsl(_query(url), keep_blank_values=True)
        ],
        "cookies": [],
        "headersSize": -1,
        "bodySize": -1,
    }


def _query(url: str) -> str:
    try:
        return urlsplit(url).query
    except ValueError:
        return ""


def _response(exchange: Exchange, *, cached: bool) -> dict[str, Any]:
    response = exchange.response or Response()
    location = next((value for name, value in response.headers.items() if name.lower() == "location"), "")
    made: dict[str, Any] = {
        "status": response.status,
        "statusText": response.status_text,
        "httpVersion": response.protocol or "",
        "headers": clean_headers(response.headers),
        "cookies": [],
        "content": {"size": -1, "mimeType": response.mime_type or "x-unknown"},
        "redirectURL": clean_url(location),
        "headersSize": -1,
        "bodySize": -1,
    }
    if cached:
        made["_transferSize"] = 0
    elif exchange.finished_bytes is not None:
        made["_transferSize"] = int(exchange.finished_bytes)
    elif exchange.response is not None and exchange.error is not None:
        made["_transferSize"] = int(response.encoded_data_length)
    if exchange.error is not None:
        made["_error"] = exchange.error
    return made


def _timings(exchange: Exchange, *, cached: bool) -> dict[str, float]:
    started, ended = exchange.sent.timestamp, exchange.ended
    timing = exchange.response.timing if exchange.response is not None else None
    total = max(0.0, (ended - started) * 1000) if ended is not None else 0.0
    if timing is None or timing.send_start < 0 or cached:
        # Nothing is known of the phases: waiting, all of it, and not for a connection where it was answered.
        answered = exchange.response is not None
        return _phases(blocked=0 if answered else total, wait=total if answered else 0)
    return _network_phases(timing, started, ended)


def _network_phases(timing: Timing, started: float, ended: float | None) -> dict[str, float]:
    dns = timing.dns_end - timing.dns_start if timing.dns_start >= 0 else -1
    connect = timing.connect_end - timing.connect_start if timing.connect_start >= 0 else -1
    ssl = timing.ssl_end - timing.ssl_start if timing.ssl_start >= 0 else -1
    # Blocked is all of the way to sending that was neither: the queue before, and the gaps between the phases.
    before = (timing.request_time - started) * 1000 + timing.send_start
    blocked = max(0.0, before - max(dns, 0) - max(connect, 0))
    headers_end = max(timing.receive_headers_end, timing.send_end)
    received = (ended - timing.request_time) * 1000 - headers_end if ended is not None else 0
    return _phases(
        blocked=blocked,
        dns=dns,
        connect=connect,
        ssl=ssl,
        send=timing.send_end - timing.send_start,
        wait=headers_end - timing.send_end,
        receive=max(0.0, received),
    )


def _phases(
    blocked: float, dns: float = -1, connect: float = -1, ssl: float = -1, send: float = 0, wait: float = 0, receive: float = 0
) -> dict[str, float]:
    values = {"blocked": blocked, "dns": dns, "connect": connect, "ssl": ssl, "send": send, "wait": wait, "receive": receive}
    return {name: round(value, 3) for name, value in values.items()}


class _Initiators:
    """Which request caused which: the hop before, the request that DevTools names, the script or sheet, the document."""

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
        for url in (_initiator_url(exchange), sent.document_url):
            cause = self._by_url.get(url.partition("#")[0]) if url else None
            if cause is not None and cause is not exchange:
                return cause
        cause = self._by_id.get(sent.loader_id)
        return cause if cause is not exchange else None


def _initiator_url(exchange: Exchange) -> str | None:
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


def _frame_urls(exchanges: Iterable[Exchange]) -> dict[str, str]:
    """The address of each frame's document, the last one where it went on."""
    return {
        exchange.sent.frame_id: exchange.sent.request.url
        for exchange in exchanges
        if exchange.sent.frame_id and exchange.type == "Document"
    }


def _frame_url(exchange: Exchange, page: PageLog, frames: Mapping[str, str]) -> str | None:
    sent = exchange.sent
    if exchange.type == "Document" and sent.frame_id in page.parents:
        return frames.get(page.parents[sent.frame_id])
    return sent.document_url.removeprefix("blob:") or None


def _since(first: Exchange | None, time: float | None) -> float:
    return -1 if first is None or time is None else round((time - first.sent.timestamp) * 1000, 3)


def rfc3339(wall_time: float | None) -> str:
    """A Unix time in s as RFC 3339, UTC, microseconds; now where there is none."""
    moment = datetime.now(UTC) if not wall_time else datetime.fromtimestamp(wall_time, UTC)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
