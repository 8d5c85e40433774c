"""What a page's owner can change, and what each change brings: numbers from the models, and sentences on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from originset.data.quantity import quantity
from originset.data.reference.browser_rules import BROWSER_TITLES
from originset.queries.report.load_time_sentences import time_saved_phrase
from originset.queries.report.printable_text import between_numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class PageChange:
    """One change, or all of a page (``fix`` is None); pairs are the least and the most of what it saves.

    ``connections``: numbers of the connections that it is advised for. ``lookups``, ``handshake_bytes`` (certificates
    sent in the handshakes) and ``load_ms`` (of the load event, by the causal timeline) are None where not known.
    ``elsewhere``: connections saved in browsers that were not recorded.
    """

    fix: str | None = None
    connections: Sequence[int] = ()
    saved: tuple[int, int]
    lookups: int | None
    handshake_bytes: tuple[int, int] | None
    load_ms: tuple[float, float] | None
    elsewhere: Mapping[str, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Preconnect:
    """A connection that the document could have announced; times in ms from the page's first request."""

    host: str
    number: int | None
    opened_ms: float
    announced_ms: float
    handshake_ms: float
    saved_ms: float


def saved_sentence(change: PageChange, unknown_time: str | None, browser: str | None) -> str:
    """``2 connections, 1 lookup, 4,000 to 8,000 bytes of certificates, 90 to 120 ms``; what is not known is said.

    ``unknown_time``: why no load time is modelled. ``browser``: which recorded the page.
    """
    parts = [between_numbers(*change.saved, "connection")]
    lookups = change.lookups
    parts.append("lookups not known" if lookups is None else quantity(lookups, "lookup"))
    if change.handshake_bytes is None:
        parts.append("bytes: the file does not say")
    else:
        parts.append(f"{between_numbers(*change.handshake_bytes)} bytes of certificates in handshakes")
    if change.load_ms is not None:
        parts.append(time_saved_phrase(change.load_ms, browser))
    else:
        parts.append(f"ms: {unknown_time}" if unknown_time else "ms: the file does not say")
    for other, saved in change.elsewhere.items():
        parts.append(f"in {BROWSER_TITLES[other]} {between_numbers(*saved, 'connection')}")
    return "; ".join(parts)


def preconnect_sentence(hint: Preconnect) -> str:
    """What was seen, and what announcing the connection in the document would bring."""
    return (
        f"the connection to {hint.host} was opened at {hint.opened_ms:,.0f} ms, the document's answer began at "
        f"{hint.announced_ms:,.0f} ms, and the load event waited for what came over it: with a preconnect in the "
        f"document up to {hint.saved_ms:,.0f} ms less, by the paper's timeline, which the testbed has not tried"
    )
