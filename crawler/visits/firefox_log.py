"""WebDriver BiDi's events of a page load in Firefox, collected in the structs of DevTools' events.

BiDi names no IP addresses, connections or certificates. Its times of lookups and connects are kept only where they are
complete: those of a name that was looked up ahead of time are not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from originset.crawler.visits.devtools_events import Initiator, Request, RequestWillBeSent, ResourceTiming, Response
from originset.crawler.visits.page_log import Exchange, PageLog

# Fetch's destinations (fetch.spec.whatwg.org) by DevTools' names, which captures have.
_DESTINATIONS = {
    "audio": "Media",
    "document": "Document",
    "embed": "Document",
    "font": "Font",
    "frame": "Document",
    "iframe": "Document",
    "image": "Image",
    "json": "Fetch",
    "manifest": "Manifest",
    "object": "Document",
    "script": "Script",
    "serviceworker": "Script",
    "sharedworker": "Script",
    "style": "Stylesheet",
    "track": "TextTrack",
    "video": "Media",
    "worker": "Script",
    "xslt": "Stylesheet",
}
_INITIATORS = {"fetch": "Fetch", "xmlhttprequest": "XHR", "beacon": "Ping"}
# What DevTools calls the causes that BiDi names.
_INITIATOR_TYPES = {"css": "parser", "img": "parser", "link": "parser", "script": "parser", "fetch": "script"}

# An error of NSS within one of Firefox.
_NSS_ERROR = re.compile(r"NS_ERROR_GENERATE_FAILURE\(\w+, (\w+)\)")


class FirefoxLog:
    """Collects BiDi events of one visit into ``page``, whose main frame is ``context``. Times are Unix seconds."""

    def __init__(self, context: str) -> None:
        self.page = PageLog(context)
        self.activity = 0
        self.dialog = False
        self._latest: dict[str, Exchange] = {}
        self._open: set[str] = set()
        self._documents: dict[str, str] = {}  # context -> address of its document

    @property
    def in_flight(self) -> int:
        """Requests that nothing has answered yet."""
        return len(self._open)

    def add(self, method: str, event: dict[str, Any]) -> None:
        """Take in one event; unknown ones are passed over."""
        if (handler := _HANDLERS.get(method)) is not None:
            handler(self, event)

    def request_sent(self, event: dict[str, Any]) -> None:
        """A request goes out, or the next hop of a redirect."""
        if not self.page.budget.take_request():
            return
        request, context = event["request"], event["context"]
        number, url = str(request["request"]), str(request["url"])
        before = self._latest.get(number)
        kind = _INITIATORS.get(str(request.get("initiatorType"))) or _DESTINATIONS.get(
            str(request.get("destination")), "Other"
        )
        started = float(request["timings"]["requestTime"] or event["timestamp"]) / 1000
        sent = RequestWillBeSent(
            request_id=number,
            request=Request(url, str(request["method"]), _headers(request["headers"])),
            timestamp=started,
            wall_time=started,
            # As DevTools: the request for a document and what it loads have one number.
            loader_id=number if event.get("navigation") else "",
            document_url="" if kind == "Document" else self._documents.get(context or "", ""),
            initiator=Initiator(_INITIATOR_TYPES.get(str(request.get("initiatorType")), "other")),
            type=kind,
            frame_id=context,
        )
        exchange = Exchange(sent, before if before is not None and event.get("redirectCount") else None)
        self.page.exchanges.append(exchange)
        self._latest[number] = exchange
        self.activity += 1
        if not url.startswith(("data:", "blob:")):
            self._open.add(number)

    def response_started(self, event: dict[str, Any]) -> None:
        """Response headers arrive."""
        self.activity += 1
        number = str(event["request"]["request"])
        self._open.discard(number)
        if (exchange := self._latest.get(number)) is None:
            return
        if exchange.type == "Document" and event["context"]:
            self._documents[event["context"]] = exchange.sent.request.url
        exchange.sent.request.headers = _headers(event["request"]["headers"])
        exchange.response = _response(event)

    def response_completed(self, event: dict[str, Any]) -> None:
        """The response is complete."""
        self.response_started(event)
        if (exchange := self._latest.get(str(event["request"]["request"]))) is not None:
            ended = float(event["request"]["timings"]["responseEnd"] or event["timestamp"]) / 1000
            exchange.ended = max(ended, exchange.sent.timestamp)
            exchange.finished_bytes = float(event["response"]["bytesReceived"] or 0)

    def fetch_failed(self, event: dict[str, Any]) -> None:
        """A request fails, is cancelled or is blocked."""
        self.activity += 1
        number = str(event["request"]["request"])
        self._open.discard(number)
        if (exchange := self._latest.get(number)) is not None and exchange.ended is None:
            exchange.ended = max(float(event["timestamp"]) / 1000, exchange.sent.timestamp)
            error = str(event.get("errorText") or "failed")
            within = _NSS_ERROR.fullmatch(error)
            exchange.error = within[1] if within else error

    def page_loaded(self, event: dict[str, Any]) -> None:
        """The page's load event fires."""
        if self._is_page(event):
            self.page.loaded = float(event["timestamp"]) / 1000

    def dom_content_loaded(self, event: dict[str, Any]) -> None:
        """The page's document is parsed."""
        if self._is_page(event):
            self.page.dom_content_loaded = float(event["timestamp"]) / 1000

    def navigation_started(self, event: dict[str, Any]) -> None:
        """The page navigates elsewhere, and so is loading again."""
        if self._is_page(event):
            self.page.loaded = self.page.dom_content_loaded = None

    def context_created(self, event: dict[str, Any]) -> None:
        """A frame is attached to its parent."""
        if event.get("parent"):
            self.page.parents[event["context"]] = event["parent"]

    def download_begins(self, _event: dict[str, Any]) -> None:
        """The URL is a download, not a page."""
        self.page.download = True

    def prompt_opened(self, _event: dict[str, Any]) -> None:
        """The page opens a dialog, and waits for its answer."""
        self.dialog = True

    def _is_page(self, event: dict[str, Any]) -> bool:
        return bool(event["context"] == self.page.main_frame and event["url"] != "about:blank")


def _response(event: dict[str, Any]) -> Response:
    response = event["response"]
    return Response(
        url=str(response["url"]),
        status=int(response["status"]),
        status_text=str(response["statusText"]),
        headers=_headers(response["headers"]),
        mime_type=str(response["mimeType"]).partition(";")[0],
        from_disk_cache=bool(response["fromCache"]),
        encoded_data_length=float(response["bytesReceived"] or 0),
        timing=None if response["protocol"] in {"data", "blob"} else _timing(event["request"]["timings"]),
        protocol=str(response["protocol"]),
    )


def _timing(said: dict[str, float]) -> ResourceTiming | None:
    """Phases as DevTools gives them: ms from the request's start, -1 where a phase did not happen or is not known."""
    start, sent, first = (float(said[name] or 0) for name in ("requestTime", "requestStart", "responseStart"))
    if not start or not sent or not first:
        return None

    def since(name: str) -> float:
        return float(said[name]) - start

    connected = 0 < said["connectStart"] <= said["connectEnd"] <= sent
    secured = connected and said["connectStart"] <= said["tlsStart"] <= said["tlsEnd"] <= said["connectEnd"]
    return ResourceTiming(
        request_time=start / 1000,
        connect_start=since("connectStart") if connected else -1,
        connect_end=since("connectEnd") if connected else -1,
        ssl_start=since("tlsStart") if secured else -1,
        ssl_end=since("tlsEnd") if secured else -1,
        send_start=since("requestStart"),
        send_end=since("requestStart"),
        receive_headers_end=since("responseStart"),
    )


def _headers(said: Iterable[dict[str, Any]]) -> dict[str, str]:
    """Header fields by name; those that come several times joined as DevTools does."""
    found: dict[str, str] = {}
    for field in said:
        name, value = str(field["name"]), str(field["value"].get("value", ""))
        found[name] = f"{found[name]}\n{value}" if name in found else value
    return found


_HANDLERS = {
    "network.beforeRequestSent": FirefoxLog.request_sent,
    "network.responseStarted": FirefoxLog.response_started,
    "network.responseCompleted": FirefoxLog.response_completed,
    "network.fetchError": FirefoxLog.fetch_failed,
    "browsingContext.load": FirefoxLog.page_loaded,
    "browsingContext.domContentLoaded": FirefoxLog.dom_content_loaded,
    "browsingContext.navigationStarted": FirefoxLog.navigation_started,
    "browsingContext.contextCreated": FirefoxLog.context_created,
    "browsingContext.downloadWillBegin": FirefoxLog.download_begins,
    "browsingContext.userPromptOpened": FirefoxLog.prompt_opened,
}

EVENTS = tuple(_HANDLERS)
