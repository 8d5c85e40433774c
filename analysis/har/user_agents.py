"""A browser's version by the User-Agent header that it sent: what HARs of DevTools and chrome-har have of it."""

from __future__ import annotations

import re

# In a string of JSON the quotes would be escaped, so this is a header of a request, or named like one.
_HEADER = re.compile(rb'"name"\s*:\s*"user-agent"\s*,\s*"value"\s*:\s*"((?:[^"\\]|\\.){1,1000})"', re.IGNORECASE)
# The first request's headers come before any answer's body.
_HEAD = 1 << 20
_VERSION_OF = {
    "chromium": re.compile(rb"\b(?:Headless)?Chrome/(\d{1,4}(?:\.\d{1,6}){0,3})(?![\d.])"),
    "firefox": re.compile(rb"\bFirefox/(\d{1,4}(?:\.\d{1,6}){0,3})(?![\d.])"),
}


def sent_version(text: bytes, browser: str | None) -> str | None:
    """The version of ``browser`` in the first User-Agent header of a HAR's text; None where it names none.

    Nothing else of the header is kept.
    """
    header = _HEADER.search(text, 0, _HEAD) if browser in _VERSION_OF else None
    version = None if header is None or browser is None else _VERSION_OF[browser].search(header[1])
    return None if version is None else version[1].decode()
