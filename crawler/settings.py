"""What a visit and a crawl can be told."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from originset.crawler.probe.resolver import Resolver

BrowserName = Literal["chromium", "headless-shell", "firefox"]
ThirdPartyCookies = Literal["allowed", "blocked"]
Device = Literal["desktop", "mobile"]
Family = Literal["4", "6", "both"]
Consent = Literal["leave", "accept"]


@dataclass(frozen=True, slots=True)
class VisitSettings:
    """How a page is visited, and with which ``browser``.

    ``timeout_s`` bounds a page load; what was seen until then is kept. A visit that takes ``grace_s`` more than that
    has a browser that hangs, which is killed. ``quiet_s`` is how long nothing may be in flight after the load event
    for a page to count as complete. ``contact`` is added to the user agent, for those who want to know who is there.
    ``family`` keeps the browser to addresses of IPv4 or IPv6; ``consent`` says what becomes of a banner that is known.
    ``most_memory`` bounds the bytes that the browser may have while it visits: one with more is ended, with the visit.
    ``allow_private`` lets the browser connect to addresses that are not public, which it is kept from otherwise.
    ``profile_per_visit``: a visit takes place in the profile of a browser of its own, in place of a context of a shared
    one: only there Chromium does what a page's hints ask for. ``environment`` is added to the browser's,
    ``extra_flags`` to its flags.
    """

    browser: BrowserName = "chromium"
    timeout_s: float = 30.0
    quiet_s: float = 0.5
    grace_s: float = 10.0
    third_party_cookies: ThirdPartyCookies = "allowed"
    device: Device = "desktop"
    contact: str | None = None
    family: Family | None = None
    consent: Consent = "leave"
    most_memory: int = 4 << 30
    allow_private: bool = False
    profile_per_visit: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)
    extra_flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Cluster:
    """A Dask scheduler's ``address``, and the PEM files by which we and the cluster know each other.

    A file that is not given is the one that Dask's own configuration names, if any.
    """

    address: str
    ca_file: str | None = None
    certificate: str | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True)
class CrawlSettings:
    """How a list is crawled: ``repeats`` visits of every site under the round's number, ``jobs`` at a time.

    ``as_round`` takes the vantage's round that has these settings, or one of its own, in place of ``round_number``.
    ``vantage_ip`` is the address from which the vantage is seen, where that is known.
    ``seed`` shuffles (default: the study's, else one made up), ``shard`` is (K, N): the K-th of N parts of the sites.
    ``internal`` links of each landing page are visited too. ``per_address`` and ``per_as`` bound the visits a minute to
    one address and to one AS. ``resolver`` is asked for each visit's names, too. A browser is replaced after
    ``browser_visits``, ``browser_s`` or with ``browser_memory`` bytes of its own. With less than ``least_disk`` or
    ``least_memory`` bytes left, the crawl stops.

    With a ``cluster`` its workers make the visits, in place of ``jobs``. ``captures`` is where captures are kept if not
    in the study's folder: another folder, or ``s3://BUCKET/PREFIX``. ``known_good`` are hosts and ports that answer
    whenever there is a network. The crawl stops once more than ``fail_above`` per cent of its visits have failed.
    """

    visit: VisitSettings = field(default_factory=VisitSettings)
    jobs: int = field(default_factory=lambda: max(1, (os.cpu_count() or 1) // 2))
    resolver: Resolver | None = None
    retries: int = 1
    vantage: str = "default"
    vantage_ip: str | None = None
    round_number: int = 1
    as_round: bool = False
    repeats: int = 1
    only_failed: bool = False
    seed: int | None = None
    shard: tuple[int, int] = (1, 1)
    internal: int = 0
    profile: str | None = None
    excluded: frozenset[str] = frozenset()
    respect_robots: bool = False
    per_address: float | None = None
    per_as: float | None = None
    browser_visits: int = 250
    browser_s: float = 3600.0
    browser_memory: int = 3 << 30
    least_disk: int = 512 << 20
    least_memory: int = 256 << 20
    cluster: Cluster | None = None
    captures: str | None = None
    known_good: tuple[tuple[str, int], ...] = ()
    fail_above: float | None = None
