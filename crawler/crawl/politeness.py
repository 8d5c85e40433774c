"""What a crawl owes to those whom it visits: their robots.txt, their wish to be left alone, time between visits."""

from __future__ import annotations

import http.client
import ipaddress
import socket
import urllib.error
import urllib.request
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from protego import Protego

from originset.crawler.crawl.frontier import RateLimit
from originset.crawler.downloads.public_connection import url_opener
from originset.crawler.settings import CrawlSettings
from originset.data.ledger.crawl_ledger import LedgerRow
from originset.data.reference.registrable_domains import registrable_domain

if TYPE_CHECKING:
    from originset.data.reference.snapshot import Reference

# The name that a robots.txt calls us by.
PRODUCT = "originset"

# For each step that waits for a server, and for all of them together, wherever redirects lead.
_TIMEOUT_S = 10.0
_ALL_S = 30.0
_LARGEST = 500 << 10  # RFC 9309 section 2.5
_NOTHING = "User-agent: *\nDisallow: /"
_MINUTE_S = 60.0
_MOST_RULES = 10_000


def site_of(host: str) -> str:
    """The registrable domain of a host; the host itself where it has none, as an IP address has."""
    return registrable_domain(host) or host


def host_of(row: LedgerRow) -> str:
    """The host that a visit asks first."""
    return urlsplit(url_of(row)).hostname or row.site


def url_of(row: LedgerRow) -> str:
    """What a visit opens first."""
    return row.address or f"https://{row.site}/"


def is_excluded(host: str, excluded: frozenset[str]) -> bool:
    """Whether a host, or a domain that it is below, is among those that do not want to be visited."""
    labels = host.split(".")
    return any(".".join(labels[start:]) in excluded for start in range(len(labels)))


class Politeness:
    """The rules of one crawl. May be used from several threads."""

    def __init__(self, settings: CrawlSettings) -> None:
        self._settings = settings
        # A site's visits come close to one another, or a fresh look does no harm.
        self._rules = lru_cache(maxsize=_MOST_RULES)(self._fetch)

    @cached_property
    def _reference(self) -> Reference:
        from originset.data.reference.snapshot import current_reference  # noqa: PLC0415 - few crawls need an AS

        return current_reference()

    def site(self, row: LedgerRow) -> str:
        """What may be visited by one browser at a time."""
        return site_of(host_of(row))

    def rate_limits(self, row: LedgerRow) -> tuple[RateLimit, ...]:
        """What bounds the visits to a row's servers. It asks the system's resolver, so only where a bound is set."""
        per_address, per_as = self._settings.per_address, self._settings.per_as
        if per_address is None and per_as is None:
            return ()
        addresses = _addresses(host_of(row))
        found: list[RateLimit] = []
        if per_address is not None:
            found += [RateLimit(address, _MINUTE_S / per_address) for address in addresses]
        if per_as is not None:
            import polars as pl  # noqa: PLC0415 - as the table

            known = self._reference.ip_to_as.origins(pl.Series(addresses, dtype=pl.String))["asn"]
            found += [RateLimit(number, _MINUTE_S / per_as) for number in known.drop_nulls().unique()]
        return tuple(found)

    def permits(self, url: str) -> bool:
        """Whether the site's robots.txt lets us have a URL; always, unless the crawl is to respect it.

        RFC 9309: the longest rule that fits decides, with wildcards, and ``Allow`` where two are as long; without a
        robots.txt everything is permitted, with a server that fails, or does not answer for it, nothing. One that is
        not reached at all is visited, so that its failure is recorded as what it is, and is asked again the next time.
        """
        if not self._settings.respect_robots:
            return True
        parts = urlsplit(url)
        try:
            rules = self._rules(f"{parts.scheme}://{parts.netloc}/robots.txt")
        except urllib.error.URLError:
            return True
        return rules.can_fetch(url, PRODUCT)

    def _fetch(self, url: str) -> Protego:
        """The rules of a server.

        Raises:
            urllib.error.URLError: it is not reached: no address, no connection, no trusted certificate.
        """
        contact = self._settings.visit.contact
        agent = PRODUCT if contact is None else f"{PRODUCT} ({contact})"
        request = urllib.request.Request(url, headers={"User-Agent": agent})  # noqa: S310 - http and https alone are sites
        opener = url_opener(allow_private=self._settings.visit.allow_private, seconds=_ALL_S)
        try:
            with opener.open(request, timeout=_TIMEOUT_S) as answer:
                return Protego.parse(answer.read(_LARGEST).decode("utf-8-sig", "replace"))
        except urllib.error.HTTPError as error:
            error.close()
            return Protego.parse("" if error.code < 500 else _NOTHING)
        except urllib.error.URLError:
            raise
        except (OSError, http.client.HTTPException, ValueError):
            return Protego.parse(_NOTHING)


def _addresses(host: str) -> list[str]:
    try:
        return [str(ipaddress.ip_address(host))]
    except ValueError:
        pass
    try:
        found = socket.getaddrinfo(host, 443, type=socket.SOCK_STREAM)
    except OSError:
        return []  # the visit will say so
    return sorted({str(address[0]) for *_, address in found})
