"""HAR 1.2 from a visit's DevTools events: one entry per request, redirects, failures and cached ones included.

Beyond HAR 1.2 an entry has, where known:

``connection``        text of Chromium's connection id, that of ``log._originset.connections``; once more as
                      ``_connectionId``, which is what Chrome DevTools' importer reads
``_resourceType``     as DevTools: document, stylesheet, image, script, font, fetch, xhr, preflight, websocket, ...
``_priority``         as DevTools
``_initiator``        ``{type, url}``: what caused it
``_initiatorIndex``   index of the entry that caused it: the hop before, the script, sheet or document
``_frameUrl``         address of the document that asked (of the parent for a subframe's own document)
``_frameId``          the frame; ``_mainFrame`` true where it is the page's own
``_credentials``      include or omit: whether cookies were to be sent and kept (Fetch's credentials flag)
``_fromCache``        memory, disk, prefetch, service_worker, internal (a redirect that Chromium made up: HSTS)
``_securityDetails``  DevTools' SecurityDetails without SCTs
``response._transferSize``  bytes as transferred, headers included
``response._error``   ``net::ERR_*`` of a failed request; without a response its status is 0
``_remotePort``       port of ``serverIPAddress``

Timings are ms; ``connect`` contains ``ssl``; -1 is "does not apply". No bodies, cookies, credentials or fragments.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import originset
from originset.crawler.netlog.reading import VisitLog
from originset.crawler.visits.page_log import Exchange, PageLog, Response, Timing
from originset.crawler.visits.request_links import (
    Frames,
    Initiators,
    cache_kind,
    connection_ids,
    credentials,
    initiator_url,
)
from originset.data.sanitising.header_redaction import redact_headers, redact_reason
from originset.data.sanitising.url_redaction import redact_url

_MAX_MEDIA_TYPE = 255  # RFC 6838 section 4.2: 127 characters on either side of the slash

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


def har_log(
    page: PageLog, log: VisitLog, browser_version: str, page_url: str, *, browser: str = "Chromium"
) -> dict[str, Any]:
    """The ``log`` object of a visit. ``log`` is its NetLog, for what DevTools does not say of failed requests."""
    exchanges = ordered(page)
    started = exchanges[0] if exchanges else None
    return {
        "version": "1.2",
        "creator": {"name": "originset", "version": originset.__version__},
        "browser": {"name": browser, "version": browser_version},
        "pages": [
            {
                "id": "page_1",
                "startedDateTime": rfc3339(started.sent.wall_time if started else None),
                "title": redact_url(page_url),
                "pageTimings": {
                    "onContentLoad": _since(started, page.dom_content_loaded),
                    "onLoad": _since(started, page.loaded),
                },
            }
        ],
        "entries": _Entries(page, log, exchanges).all(),
    }


def ordered(page: PageLog) -> list[Exchange]:
    """The visit's requests in order of start; Chromium's own pages are none."""
    kept = [exchange for exchange in page.exchanges if is_page_request(exchange.sent.request.url)]
    return sorted(kept, key=lambda exchange: exchange.sent.timestamp)


def is_page_request(url: str) -> bool:
    """Whether an address belongs to the page rather than to the browser itself."""
    return not url.startswith(("chrome:", "chrome-", "devtools:", "about:"))


class _Entries:
    """Makes the entries, which name one another by index."""

    def __init__(self, page: PageLog, log: VisitLog, exchanges: Sequence[Exchange]) -> None:
        self._page = page
        self._sockets = log.sockets
        self._exchanges = exchanges
        self._index = {id(exchange): number for number, exchange in enumerate(exchanges)}
        self._connections = connection_ids(exchanges, log.requests)
        self._credentials = credentials(exchanges, log.requests, self._connections)
        self._initiators = Initiators(exchanges)
        self._frames = Frames(exchanges, page.parents)

    def all(self) -> list[dict[str, Any]]:
        """The entries, in order."""
        return [self._entry(exchange) for exchange in self._exchanges]

    def _entry(self, exchange: Exchange) -> dict[str, Any]:
        cache = cache_kind(exchange)
        if (
            cache is None
            and exchange.response
            and exchange.response.remote_ip_address
            and id(exchange) not in self._connections
        ):
            cache = "disk"  # written there by another request, under way at the same time, whose answer it shares
        timings = _timings(exchange, cached=cache is not None)
        entry = {
            "pageref": "page_1",
            "startedDateTime": rfc3339(exchange.sent.wall_time),
            "time": round(sum(value for name, value in timings.items() if value > 0 and name != "ssl"), 3),
            "request": _request(exchange),
            "response": _response(exchange, cached=cache is not None),
            "cache": {},
            "timings": timings,
            "_resourceType": (exchange.type or "other").lower(),
            **self._cause(exchange),
        }
        if cache is None:
            entry.update(self._network(exchange))
        elif not exchange.sent.request.url.startswith("data:"):
            entry["_fromCache"] = cache
        return entry

    def _cause(self, exchange: Exchange) -> dict[str, Any]:
        sent = exchange.sent
        initiator: dict[str, Any] = {"type": sent.initiator.type}
        found: dict[str, Any] = {"_initiator": initiator}
        if (address := initiator_url(exchange)) is not None:
            initiator["url"] = redact_url(address)
        cause = self._initiators.of(exchange)
        if cause is not None and self._index[id(cause)] < self._index[id(exchange)]:
            found["_initiatorIndex"] = self._index[id(cause)]
        if sent.request.initial_priority is not None:
            found["_priority"] = sent.request.initial_priority
        if (mode := self._credentials.get(id(exchange))) is not None:
            found["_credentials"] = mode
        if (asking := self._frames.asking(exchange)) is not None:
            found["_frameUrl"] = redact_url(asking)
        if sent.frame_id:
            found["_frameId"] = sent.frame_id
            found["_mainFrame"] = sent.frame_id == self._page.main_frame
        return found

    def _network(self, exchange: Exchange) -> dict[str, Any]:
        found: dict[str, Any] = {}
        response = exchange.response
        number = self._connections.get(id(exchange))
        socket = self._sockets.get(number) if number is not None else None
        if number is not None:
            found["connection"] = found["_connectionId"] = str(number)
        if response is not None and response.remote_ip_address:
            found["serverIPAddress"], found["_remotePort"] = (
                response.remote_ip_address.strip("[]"),
                response.remote_port,
            )
        elif socket is not None and socket.remote is not None:
            found["serverIPAddress"], found["_remotePort"] = socket.remote
        if response is not None and response.security_details is not None:
            details = response.security_details
            found["_securityDetails"] = {name: details[name] for name in _SECURITY_FIELDS if name in details}
        return found


def _request(exchange: Exchange) -> dict[str, Any]:
    request = exchange.sent.request
    url = redact_url(request.url)
    return {
        "method": request.method,
        "url": url,
        "httpVersion": (exchange.response.protocol if exchange.response else None) or "",
        "headers": redact_headers(request.headers),
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
        "statusText": redact_reason(response.status_text),
        "httpVersion": response.protocol or "",
        "headers": redact_headers(response.headers),
        "cookies": [],
        "content": {"size": -1, "mimeType": _media_type(response.mime_type)},
        "redirectURL": redact_url(location),
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


def _media_type(text: str) -> str:
    """The type without parameters, which a server may write anything into."""
    return text.partition(";")[0].strip()[:_MAX_MEDIA_TYPE] or "x-unknown"


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


def _phases(**known: float) -> dict[str, float]:
    """All phases; those that must be there are 0, the others -1, where they are not known."""
    phases = {"blocked": 0.0, "dns": -1.0, "connect": -1.0, "ssl": -1.0, "send": 0.0, "wait": 0.0, "receive": 0.0}
    return {name: round(value, 3) for name, value in (phases | known).items()}


def _since(first: Exchange | None, time: float | None) -> float:
    return -1 if first is None or time is None else round((time - first.sent.timestamp) * 1000, 3)


def rfc3339(wall_time: float | None) -> str:
    """A Unix time in s as RFC 3339, UTC, microseconds; now where there is none."""
    moment = datetime.now(UTC) if not wall_time else datetime.fromtimestamp(wall_time, UTC)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
