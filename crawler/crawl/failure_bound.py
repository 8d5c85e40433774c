"""How many of a crawl's visits may fail before it stops."""

from __future__ import annotations

from collections.abc import Mapping

# Fewer visits say nothing of a list while it is under way.
FEWEST = 20


class FailureBound:
    """``percent`` of a crawl's visits may fail; any number of them if it is None."""

    def __init__(self, percent: float | None) -> None:
        self._percent = percent
        self._passed = False

    def update(self, made: Mapping[str, int]) -> None:
        """Look at the visits made so far, by status; once enough of them failed, the bound is passed for good."""
        if _visits(made) >= FEWEST and self.excess(made) is not None:
            self._passed = True

    def is_passed(self) -> bool:
        """Whether the crawl is to stop."""
        return self._passed

    def excess(self, made: Mapping[str, int]) -> str | None:
        """What is above the bound, in words; None if nothing is."""
        failed, count = made.get("failed", 0), _visits(made)
        if self._percent is None or not count or 100 * failed / count <= self._percent:
            return None
        return f"{failed} of {count} visits failed, more than {self._percent:g} %"


def _visits(made: Mapping[str, int]) -> int:
    return sum(count for status, count in made.items() if status != "skipped")
