"""Names of protocols as recorders spell them, to ``http/1.0``, ``http/1.1``, ``h2``, ``h3`` and ``other``."""

from __future__ import annotations

import re

import polars as pl

from originset.analysis.har.urls import map_distinct

_EXACT = {
    "http/0.9": "other",
    "0.9": "other",
    "http/1": "http/1.1",
    "http/1.0": "http/1.0",
    "1.0": "http/1.0",
    "http/1.1": "http/1.1",
    "1.1": "http/1.1",
    "h1": "http/1.1",
    "h2": "h2",
    "h2c": "h2",
    "2": "h2",
    "2.0": "h2",
    "http/2": "h2",
    "http/2.0": "h2",
    "http2": "h2",
    "h3": "h3",
    "3.0": "h3",
    "http/3": "h3",
    "http/3.0": "h3",
    "ws": "http/1.1",
    "websocket": "http/1.1",
    "data": "other",
    "blob": "other",
    "file": "other",
    "ftp": "other",
}
# `http/2+quic/46` and `quic/1+spdy/3` are Google's QUIC, which became HTTP/3 under that name in Chrome's logs.
_PATTERNS = (
    (re.compile(r"h3-\S+"), "h3"),
    (re.compile(r".*quic.*"), "h3"),
    (re.compile(r"spdy/.*"), "other"),
    (re.compile(r"h2-\d+"), "h2"),
    # WebPageTest keeps three characters from the place of the version in a status line: `HTTP/2 200` leaves `2 2`.
    (re.compile(r"2 \d"), "h2"),
    (re.compile(r"http/2[ +].*"), "h2"),
    (re.compile(r"http/1\.1 .*"), "http/1.1"),
)


def normalise_protocol(text: str) -> str | None:
    """The protocol that a recorder's spelling stands for.

    None where it does not tell: empty, ``unknown``, or header text cut at the wrong place (``me:``, ``us:``, ``od:``
    end pseudo-headers, which SPDY has as well as HTTP/2, so they do not tell which). Nor does ``spdy`` without a
    version: Chromium's DevTools write it for SPDY and for HTTP/2 where the response does not say what ALPN chose.
    """
    name = text.strip().lower()
    if exact := _EXACT.get(name):
        return exact
    return next((kind for pattern, kind in _PATTERNS if pattern.fullmatch(name)), None)


def normalise_protocols(column: pl.Series) -> pl.Series:
    """:func:`normalise_protocol` over a column, once per spelling."""
    return map_distinct(column, normalise_protocol)
