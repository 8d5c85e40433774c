"""What a visit and a crawl can be told."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

ThirdPartyCookies = Literal["allowed", "blocked"]


@dataclass(frozen=True, slots=True)
class VisitSettings:
    """How a page is visited.

    ``timeout_s`` bounds a page load; what was seen until then is kept. A visit that takes ``grace_s`` more than that
    has a browser that hangs, which is killed. ``quiet_s`` is how long nothing may be in flight after the load event
    for a page to count as complete. ``environment`` is added to the browser's and the driver's, ``extra_flags`` to the
    browser's flags.
    """

    timeout_s: float = 30.0
    quiet_s: float = 0.5
    grace_s: float = 10.0
    third_party_cookies: ThirdPartyCookies = "allowed"
    environment: Mapping[str, str] = field(default_factory=dict)
    extra_flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CrawlSettings:
    """How a list is crawled: ``repeats`` visits of every site under the round's number, ``jobs`` at a time."""

    visit: VisitSettings = field(default_factory=VisitSettings)
    jobs: int = field(default_factory=lambda: max(1, (os.cpu_count() or 1) // 2))
    retries: int = 1
    vantage: str = "default"
    round_number: int = 1
    repeats: int = 1
    only_failed: bool = False
