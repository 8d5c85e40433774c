"""Machines of a crawl that have no network for a while, and what is said of that."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

Announce = Callable[[str], None]


class Outages:
    """Tells once when a machine loses its network and once when it has it again, for all of its workers together."""

    def __init__(self, announce: Announce) -> None:
        self._announce = announce
        self._lock = threading.Lock()
        self._since: dict[str, float] = {}

    def note(self, machine: str, *, offline: bool) -> None:
        """A visit of this machine ended, and there was no network meanwhile, or there was."""
        with self._lock:
            if offline and machine not in self._since:
                self._since[machine] = time.monotonic()
                self._announce(f"{machine} has no network: visits that failed for that are queued again, and it waits")
            elif not offline and machine in self._since:
                seconds = time.monotonic() - self._since.pop(machine)
                self._announce(f"{machine} has a network again, after {seconds:.0f} s")
