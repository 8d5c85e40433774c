"""What a plan does in each browser over each protocol, and the HTTPS records without which part of it does nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import msgspec

from originset.data.reference.browser_rules import BROWSER_TITLES, browser_rules

_PROTOCOLS = {"h2": "HTTP/2", "h3": "HTTP/3"}
_SAVED = {
    ("chromium", "h2"): ("connections_saved_chromium", "connections_saved_chromium_h3"),
    ("chromium", "h3"): ("connections_saved_chromium_h3", "connections_saved_chromium_h3"),
    ("firefox", "h2"): ("connections_saved_firefox", "connections_saved_firefox"),
}

_CROSS_SITE = " Hosts of another site join only where third-party cookies are allowed, which is not its default."
_RECORDS = (
    " It finds HTTP/3 for a second host through the HTTPS record of the first: publish those of this plan; Alt-Svc on "
    "both does it from the second visit on."
)
# A time to live that lets an operator take a record back within the hour.
_TTL = 3600


class Advice(msgspec.Struct, frozen=True, kw_only=True):
    """One browser over one protocol.

    ``heeds_origin`` is by data/reference/browser_rules.toml. ``connections_saved``: by all additions, over the site's
    visits; ``connections_saved_one_address``: if besides all the names shared the server's address. None: not known.
    """

    browser: str
    version: str
    protocol: str
    heeds_origin: bool
    connections_saved: int | None
    connections_saved_one_address: int | None
    says: str


class HttpsRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A record (RFC 9460) to publish, as a line of a zone file; ``only_if``: what must be true before."""

    name: str
    line: str
    only_if: str


def advice(additions: Iterable[Mapping[str, Any]]) -> list[Advice]:
    """What ORIGIN frames do in each browser; ``additions``: rows of ``certificate_additions``."""
    rows = list(additions)
    given = []
    for browser, rules in browser_rules().items():
        for protocol in _PROTOCOLS:
            heeds = protocol in rules.origin_permits
            saved, shared = (_total(rows, column) for column in _SAVED.get((browser, protocol), (None, None)))
            given.append(
                Advice(
                    browser=browser,
                    version=rules.version,
                    protocol=protocol,
                    heeds_origin=heeds,
                    connections_saved=saved,
                    connections_saved_one_address=shared,
                    says=_support_sentence(
                        browser, protocol, heeds=heeds, restricts=protocol in rules.origin_restricts
                    ),
                )
            )
    return given


@cache
def acts_on_origin() -> str:
    """Which browsers act on ORIGIN frames and over which protocol, such as ``acted on by Firefox over HTTP/2``."""
    places = [
        f"{BROWSER_TITLES.get(browser, browser)} over "
        f"{' and '.join(_PROTOCOLS[one] for one in sorted(rules.origin_permits))}"
        for browser, rules in browser_rules().items()
        if rules.origin_permits
    ]
    return f"acted on by {', '.join(places) or 'no browser'}"


def https_records(protocols: Mapping[str, list[str]]) -> list[HttpsRecord]:
    """A record for each server that may be the first one asked; ``protocols``: those that each was seen over."""
    return [
        HttpsRecord(
            name=server,
            line=f'{server}. {_TTL} IN HTTPS 1 . alpn="h3,h2"',
            only_if="it answers over HTTP/3, as it was seen to"
            if "h3" in seen
            else "it answers over HTTP/3, which was not seen",
        )
        for server, seen in protocols.items()
    ]


def _support_sentence(browser: str, protocol: str, *, heeds: bool, restricts: bool) -> str:
    title, over = BROWSER_TITLES.get(browser, browser), _PROTOCOLS[protocol]
    if heeds:
        text = f"{title} acts on ORIGIN frames over {over}: the names need no common address."
    else:
        text = (
            f"{title} ignores ORIGIN frames over {over}: a name joins only if its DNS answers have the address that "
            "the connection leads to, so give the names one address."
        )
    if restricts:
        text += " What the set lacks stays off the connection, also where it shares it today."
    if browser == "chromium":
        text += _CROSS_SITE + (_RECORDS if heeds else "")
    return text


def _total(rows: list[Mapping[str, Any]], column: str | None) -> int | None:
    if column is None:
        return None
    values = [row[column] for row in rows]
    return None if None in values else sum(values)
