"""HAR 1.2 of what a visit recorded: one entry per request, redirects, failures and cached ones included.

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

from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import originset
from originset.crawler.visits.devtools_events import Response
from originset.crawler.visits.recorded_page import Phases, RecordedPage, RecordedRequest
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


def har_log(page: RecordedPage, browser: str, browser_version: str) -> dict[str, Any]:
    """The ``log`` object of a visit."""
    return {
        "version": "1.2",
        "creator": {"name": "originset", "version": originset.__version__},
        "browser": {"name": browser, "version": browser_version},
        "pages": [
            {
                "id": "page_1",
                "startedDateTime": rfc3339(page.started_at),
                "title": redact_url(page.url),
                "pageTimings": {
                    "onContentLoad": -1 if page.dom_content_loaded_ms is None else page.dom_content_loaded_ms,
                    "onLoad": -1 if page.load_ms is None else page.load_ms,
                },
            }
        ],
        "entries": [_entry(request) for request in page.requests],
    }


def _entry(request: RecordedRequest) -> dict[str, Any]:
    timings = _timings(request.phases)
    entry = {
        "pageref": "page_1",
        "startedDateTime": rfc3339(request.sent_at),
        "time": round(sum(value for name, value in timings.items() if value > 0 and name != "ssl"), 3),
        "request": _request(request),
        "response": _response(request),
        "cache": {},
        "timings": timings,
        "_resourceType": request.resource_type,
        **_cause(request),
    }
    if request.cache is None:
        entry.update(_network(request))
    elif not request.url.startswith("data:"):
        entry["_fromCache"] = request.cache
    return entry


def _cause(request: RecordedRequest) -> dict[str, Any]:
    initiator: dict[str, Any] = {"type": request.initiator_type}
    found: dict[str, Any] = {"_initiator": initiator}
    if request.initiator_url is not None:
        initiator["url"] = redact_url(request.initiator_url)
    if request.initiator is not None:
        found["_initiatorIndex"] = request.initiator
    if request.priority is not None:
        found["_priority"] = request.priority
    if request.credentials is not None:
        found["_credentials"] = request.credentials
    if request.frame_url is not None:
        found["_frameUrl"] = redact_url(request.frame_url)
    if request.frame:
        found["_frameId"] = request.frame
        found["_mainFrame"] = request.is_main_frame
    return found


def _network(request: RecordedRequest) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if request.connection is not None:
        found["connection"] = found["_connectionId"] = str(request.connection)
    if request.server is not None:
        found["serverIPAddress"], found["_remotePort"] = request.server
    if request.response is not None and request.response.security_details is not None:
        details = request.response.security_details
        found["_securityDetails"] = {name: details[name] for name in _SECURITY_FIELDS if name in details}
    return found


def _request(request: RecordedRequest) -> dict[str, Any]:
    url = redact_url(request.url)
    return {
        "method": request.method,
        "url": url,
        "httpVersion": (request.response.protocol if request.response else None) or "",
        "headers": redact_headers(request.request_headers),
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


def _response(request: RecordedRequest) -> dict[str, Any]:
    response = request.response or Response()
    location = next((value for name, value in response.headers.items() if name.lower() == "location"), "")
    rendered: dict[str, Any] = {
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
    if request.transferred_bytes is not None:
        rendered["_transferSize"] = request.transferred_bytes
    if request.error is not None:
        rendered["_error"] = request.error
    return rendered


def _media_type(text: str) -> str:
    """The type without parameters, which a server may write anything into."""
    return text.partition(";")[0].strip()[:_MAX_MEDIA_TYPE] or "x-unknown"


def _timings(phases: Phases) -> dict[str, float]:
    names = ("blocked", "dns", "connect", "ssl", "send", "wait", "receive")
    known = {name: getattr(phases, name) for name in names}
    return {name: -1.0 if value is None else round(value, 3) for name, value in known.items()}


def rfc3339(wall_time: float | None) -> str:
    """A Unix time in s as RFC 3339, UTC, microseconds; now where there is none."""
    moment = datetime.now(UTC) if not wall_time else datetime.fromtimestamp(wall_time, UTC)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
