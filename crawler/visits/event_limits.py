"""How much a page may make its browser tell of it: what goes beyond is cut or passed over, and the visit is told so.

What a page puts into its addresses and scripts comes to us as events; without bounds it would fill our memory, which
many visits share, and not only its browser's.
"""

from __future__ import annotations

import re

import msgspec

# Requests of one visit, redirects included: the largest pages make some thousands.
MAX_REQUESTS = 10_000
# Bytes of events of one visit that are taken in, and of one event, data: URLs cut.
MAX_BYTES = 128 << 20
MAX_EVENT_BYTES = 8 << 20

# Shorter ones are left as they are: there is nothing to gain. Nor is there with ever more URLs in one event.
_LONG = 4 << 10
_MOST_URLS = 100
# A JSON string that is a data: URL (RFC 2397). Its media type is kept and its content is not. Possessive: what was
# matched is never tried in another way, and in valid JSON each string has its end, so that time grows with the length.
_PATTERN = r'"(data:[^",\\]{0,255}+)[^"\\]*+(?:\\.[^"\\]*+)*+"'
_IN_BYTES, _IN_TEXT = re.compile(_PATTERN.encode(), re.DOTALL), re.compile(_PATTERN, re.DOTALL)


def without_data_urls(event: msgspec.Raw) -> bytes | msgspec.Raw:
    """An event's JSON with each ``data:`` URL cut after its media type; other strings stay as they are."""
    return event if len(event) < _LONG else _IN_BYTES.sub(rb'"\1,"', bytes(event), _MOST_URLS)


def text_without_data_urls(event: str) -> str:
    """:func:`without_data_urls` of text."""
    return event if len(event) < _LONG or '"data:' not in event else _IN_TEXT.sub(r'"\1,"', event, _MOST_URLS)


class EventBudget:
    """What one visit may still take in. ``exceeded`` once something was passed over."""

    def __init__(self, most_requests: int = MAX_REQUESTS, most_bytes: int = MAX_BYTES) -> None:
        self._requests = most_requests
        self._bytes = most_bytes
        self.exceeded = False

    def take(self, size: int) -> bool:
        """Whether an event of so many bytes is taken in."""
        self._bytes -= size
        if self._bytes < 0 or size > MAX_EVENT_BYTES:
            self.exceeded = True
        return not self.exceeded

    def take_request(self) -> bool:
        """Whether one more request is."""
        self._requests -= 1
        if self._requests < 0:
            self.exceeded = True
        return not self.exceeded
