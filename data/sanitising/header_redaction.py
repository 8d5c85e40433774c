"""What is kept of headers and reason phrases: what is known to hold no secret, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Mapping
from http import HTTPStatus

from originset.data.sanitising.url_redaction import REDACTED, holds_secret, redact_url

MAX_HEADER = 8 << 10
"""Characters of a header's value that are looked at and kept: what servers accept of a whole request's headers."""

_MAX_NAME = 100

# Headers of the protocol between server and browser. Others can have any content, so they are not kept.
_KEPT = frozenset(
    {
        ":authority",
        ":method",
        ":path",
        ":scheme",
        ":status",
        "accept",
        "accept-ch",
        "accept-encoding",
        "accept-language",
        "accept-ranges",
        "access-control-allow-credentials",
        "access-control-allow-headers",
        "access-control-allow-methods",
        "access-control-allow-origin",
        "access-control-expose-headers",
        "access-control-max-age",
        "access-control-request-headers",
        "access-control-request-method",
        "age",
        "allow",
        "alt-svc",
        "alt-used",
        "cache-control",
        "cf-cache-status",
        "connection",
        "content-encoding",
        "content-language",
        "content-length",
        "content-location",
        "content-range",
        "content-type",
        "critical-ch",
        "cross-origin-embedder-policy",
        "cross-origin-opener-policy",
        "cross-origin-resource-policy",
        "date",
        "dnt",
        "early-data",
        "expires",
        "host",
        "if-modified-since",
        "keep-alive",
        "last-modified",
        "link",
        "location",
        "origin",
        "origin-agent-cluster",
        "pragma",
        "priority",
        "proxy-status",
        "purpose",
        "range",
        "referer",
        "referrer-policy",
        "refresh",
        "retry-after",
        "save-data",
        "sec-ch-ua",
        "sec-ch-ua-mobile",
        "sec-ch-ua-platform",
        "sec-fetch-dest",
        "sec-fetch-mode",
        "sec-fetch-site",
        "sec-fetch-user",
        "sec-gpc",
        "sec-purpose",
        "sec-websocket-extensions",
        "sec-websocket-version",
        "server",
        "server-timing",
        "service-worker",
        "sourcemap",
        "strict-transport-security",
        "te",
        "timing-allow-origin",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "upgrade-insecure-requests",
        "user-agent",
        "vary",
        "via",
        "x-cache",
        "x-content-type-options",
        "x-dns-prefetch-control",
        "x-frame-options",
        "x-powered-by",
        "x-requested-with",
        "x-served-by",
        "x-sourcemap",
        "x-xss-protection",
    }
)
_URLS = frozenset({":path", "content-location", "location", "origin", "referer", "sourcemap", "x-sourcemap"})
_PHRASES = frozenset(status.phrase.lower() for status in HTTPStatus) | {"connection established"}


def redact_headers(headers: Mapping[str, str]) -> list[dict[str, str]]:
    """HAR's headers: those that are known to hold no secrets, URLs in them redacted, names in lower case.

    A value is cut to :data:`MAX_HEADER` characters; one that holds a secret all the same is ``REDACTED``.
    """
    redacted = []
    for raw_name, value in headers.items():
        name = raw_name[:_MAX_NAME].lower()
        if name in _KEPT:
            # Chromium joins values of repeated headers with line feeds.
            redacted += [{"name": name, "value": _redact_value(name, part)} for part in value[:MAX_HEADER].split("\n")]
    return redacted


def redact_reason(phrase: str) -> str:
    """A status line's reason phrase if it is registered, or else an empty text: a server can write anything there."""
    return phrase if len(phrase) < _MAX_NAME and phrase.lower() in _PHRASES else ""


def _redact_value(name: str, value: str) -> str:
    if name in _URLS:
        return redact_url(value)
    if name == "link":  # RFC 8288: <URL>; parameters
        parts = re.split(r"[<>]", value)
        parts[1::2] = [f"<{redact_url(part)}>" for part in parts[1::2]]
        parts[::2] = [REDACTED if holds_secret(part) else part for part in parts[::2]]
        return "".join(parts)
    if name == "refresh":  # seconds; url=URL
        wait, mark, target = value.partition("=")
        url = redact_url(target.strip("\"' "))
        return REDACTED if holds_secret(wait) else f"{wait}={url}" if mark else wait
    return REDACTED if holds_secret(value) else value
