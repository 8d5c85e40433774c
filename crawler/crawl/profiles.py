"""Named sets of crawl settings, so that studies can say by one word how they were made.

``paper-2022`` is how "Respect the ORIGIN!" crawled, as far as it says: landing pages once, by a desktop browser that
shares connections across sites, nothing clicked.
"""

from __future__ import annotations

from collections.abc import Mapping

Setting = str | int | float

PROFILES: Mapping[str, Mapping[str, Setting]] = {
    "default": {
        "timeout": 30.0,
        "retries": 1,
        "device": "desktop",
        "consent": "leave",
        "third_party_cookies": "allowed",
        "internal": 0,
    },
    "paper-2022": {
        "timeout": 30.0,
        "retries": 0,
        "device": "desktop",
        "consent": "leave",
        "third_party_cookies": "allowed",
        "internal": 0,
        "repeats": 1,
    },
}
