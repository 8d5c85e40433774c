"""Visits made by browsers of this machine, as many at a time as the settings say."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

from originset.crawler.browsers.address_families import families
from originset.crawler.browsers.connection_filter import can_filter
from originset.crawler.browsers.engine import sandbox
from originset.crawler.crawl.browser_worker import Browsers, Captured, Slot
from originset.crawler.crawl.coordinator import Book, Made
from originset.crawler.settings import Family, VisitSettings
from originset.data.captures.capture import pack_capture
from originset.data.errors import UsageError
from originset.data.ledger.crawl_ledger import Row

_LOOK_S = 1.0
_FAMILIES = {"4": "IPv4 alone", "6": "IPv6 alone", "both": "IPv4 and IPv6", None: "neither IPv4 nor IPv6"}


def run_locally(book: Book) -> None:
    """Make what is left to the end, or until told to stop, or until the machine runs short of something."""
    settings = book.settings
    browsers = Browsers(settings.visit)

    def work() -> None:
        book.work(LocalMaker(Slot(settings, book.seed, book.manners, browsers.start, lambda: book.stopped)))

    # Internal pages come up on the way, so there may be work for more slots than there are visits now.
    count = settings.jobs if settings.internal else min(settings.jobs, book.pending)
    threads = [threading.Thread(target=work, name=f"slot-{number}") for number in range(1, count + 1)]
    book.look_at_machine()
    for thread in threads:
        thread.start()
    looked = time.monotonic()
    while any(thread.is_alive() for thread in threads):
        if book.stopped:
            browsers.kill()
        if time.monotonic() - looked >= _LOOK_S:
            looked = time.monotonic()
            book.look_at_machine()
        for thread in threads:
            thread.join(0.1)


class LocalMaker:
    """One slot of this machine."""

    most = 1
    over = lost = False

    def __init__(self, slot: Slot) -> None:
        self._slot = slot

    def visit(self, rows: list[Row]) -> Iterator[tuple[Row, Made | None]]:
        """Raises ``BrowserError`` if no browser can be started."""
        for row in rows:
            captured = self._slot.visit(row)
            yield row, None if captured is None else packed(captured)

    def close(self) -> None:
        self._slot.close()


def packed(captured: Captured) -> Made:
    """A visit as it is handed on."""
    har_log, extension = captured
    return Made(
        visit=extension.visit,
        sandbox=sandbox(),
        features=extension.features,
        links=extension.links,
        capture=pack_capture(har_log, extension),
    )


def require_limits(visit: VisitSettings) -> None:
    """Whether browsers can be kept to the addresses that a visit's settings leave them.

    Raises:
        UsageError: they cannot.
    """
    _require_family(visit.family)
    if not visit.allow_private and not can_filter():
        raise UsageError(
            "this machine lets no browser be kept from addresses that are not public",
            "crawl with Linux 5.5 or newer, or with --allow-private where pages may reach this machine and its network",
        )


def _require_family(wanted: Family | None) -> None:
    """Whether visits can be kept to the address families that are wanted.

    Raises:
        UsageError: they cannot.
    """
    reached = families()
    if wanted is None or wanted == reached:
        return
    if reached != "both":
        raise UsageError(
            f"this machine reaches {_FAMILIES[reached]}, not {_FAMILIES[wanted]}",
            "run the crawl where that can be reached, or leave --family out",
        )
    if not can_filter():
        raise UsageError(
            f"this machine reaches IPv4 and IPv6, and its kernel lets no browser be kept to {_FAMILIES[wanted]}",
            f"run the crawl where {_FAMILIES[wanted]} can be reached, or leave --family out",
        )
