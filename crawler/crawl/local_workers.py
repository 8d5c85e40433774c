"""Visits made by browsers of this machine, as many at a time as the settings say."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

from originset.crawler.browsers.address_families import reachable_families
from originset.crawler.browsers.connection_filter import can_filter
from originset.crawler.browsers.engine import sandbox
from originset.crawler.crawl.browser_worker import Browsers, BrowserWorker
from originset.crawler.crawl.coordinator import Coordinator, VisitResult
from originset.crawler.crawl.network_check import NetworkCheck
from originset.crawler.settings import Family, VisitSettings
from originset.data.captures.capture import pack_capture
from originset.data.errors import StudyError, UsageError
from originset.data.ledger.crawl_ledger import LedgerRow

_POLL_S = 1.0
_FAMILIES = {"4": "IPv4 alone", "6": "IPv6 alone", "both": "IPv4 and IPv6", None: "neither IPv4 nor IPv6"}


def run_locally(coordinator: Coordinator) -> None:
    """Make all pending visits; end earlier if the crawl is stopped or the machine runs short of disk or memory."""
    settings = coordinator.settings
    browsers = Browsers(settings.visit)
    network = NetworkCheck(settings.known_good, allow_private=settings.visit.allow_private)

    def is_stopped() -> bool:
        return coordinator.stopped

    def work() -> None:
        browser_worker = BrowserWorker(settings, coordinator.seed, coordinator.politeness, browsers.start, is_stopped)
        coordinator.work(LocalWorker(browser_worker, network))

    # Internal pages are found during the crawl, so there may be work for more workers than there are visits now.
    count = settings.jobs if settings.internal else min(settings.jobs, coordinator.pending)
    threads = [threading.Thread(target=work, name=f"browser-worker-{number}") for number in range(1, count + 1)]
    coordinator.check_machine()
    for thread in threads:
        thread.start()
    looked = time.monotonic()
    while any(thread.is_alive() for thread in threads):
        if coordinator.stopped:
            browsers.kill()
        if time.monotonic() - looked >= _POLL_S:
            looked = time.monotonic()
            coordinator.check_machine()
        for thread in threads:
            thread.join(0.1)


class LocalWorker:
    """One browser of this machine."""

    batch_size = 1
    closed = disconnected = False
    machine = "this machine"

    def __init__(self, browser_worker: BrowserWorker, network: NetworkCheck) -> None:
        self._browser_worker = browser_worker
        self._network = network

    def visit(self, rows: list[LedgerRow]) -> Iterator[tuple[LedgerRow, VisitResult | None]]:
        """Raises ``BrowserError`` if no browser can be started."""
        for row in rows:
            yield row, visit_result(self._browser_worker, row, self._network)

    def wait_for_network(self, ended: Callable[[], bool]) -> None:
        self._network.wait(ended)

    def refuse(self, error: StudyError) -> None:
        """Raises ``error``: all browsers of this machine are the same."""
        raise error

    def close(self) -> None:
        self._browser_worker.close()


def visit_result(browser_worker: BrowserWorker, row: LedgerRow, network: NetworkCheck) -> VisitResult | None:
    """Visit a row's page once: the result, its capture packed; None if its robots.txt forbids it.

    Raises:
        BrowserError: no browser can be started.
    """
    began = time.monotonic()
    captured = browser_worker.visit(row)
    if captured is None:
        return None
    har_log, extension = captured
    return VisitResult(
        visit=extension.visit,
        offline=network.spoilt(extension.visit, began),
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
    reached = reachable_families()
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
