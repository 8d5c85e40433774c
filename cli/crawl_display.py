"""What a crawl says while it runs: a line for people on a terminal, a JSON line a visit for machines."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from typing import Self

import click
import msgspec
from rich.progress import BarColumn, TextColumn
from rich.text import Text

from originset.cli.common.minute_progress import MinuteProgress
from originset.data.captures.capture import Visit
from originset.data.sanitising.printable import printable, printable_json

_RECENT_S = 120.0
_ERRORS = 20

# Kinds of failure that are acronyms.
_WRITTEN = {"dns": "DNS", "tls": "TLS", "http": "HTTP"}


class VisitRate:
    """What came of the visits so far, and how many a minute there were of late. Not for several threads."""

    def __init__(self, now: float) -> None:
        self._ends: deque[float] = deque([now])
        self._errors: deque[str] = deque(maxlen=_ERRORS)
        self.statuses: Counter[str] = Counter()

    def add(self, visit: Visit, now: float) -> None:
        """One more visit ended."""
        self.statuses[visit.status] += 1
        if visit.error is not None:
            self._errors.append(visit.error)
        self._ends.append(now)
        while now - self._ends[0] > _RECENT_S and len(self._ends) > 2:
            self._ends.popleft()

    def per_minute(self, now: float) -> float:
        """Visits a minute of late."""
        return 60 * (len(self._ends) - 1) / max(now - self._ends[0], 1e-9)

    def line(self, left: int, now: float) -> str:
        """Visits made and failed, visits left, visits a minute, time left, recent failures."""
        rate = self.per_minute(now)
        parts = [f"{self.statuses.total()} visited ({self.statuses['failed']} failed)"]
        parts += [f"{left} left", f"{rate:.0f}/min"]
        if left and len(self._ends) > 1:
            parts.append(f"{_duration(60 * left / rate)} to go")
        if self._errors:
            errors = ", ".join(
                f"{count} {_WRITTEN.get(kind, kind)}" for kind, count in Counter(self._errors).most_common(3)
            )
            parts.append(printable(f"recent failures: {errors}"))
        return " · ".join(parts)


def _duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{seconds:.0f} s" if seconds < 90 else f"{minutes} min" if minutes < 90 else f"{minutes / 60:.1f} h"


class Display:
    """Shows a crawl; may be told from any thread. ``lines`` writes a JSON line a visit to stdout."""

    def __init__(self, *, lines: bool) -> None:
        self._lines = lines
        self._lock = threading.Lock()
        self._pace = VisitRate(time.monotonic())
        # The line has the numbers, and the only estimate.
        self._bar = MinuteProgress(TextColumn("{task.description}", markup=False), BarColumn(), counts=False)
        self._task = self._bar.add_task("crawl", total=None)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._bar.stop()

    def begin(self, total: int) -> None:
        """So many visits are to be made."""
        with self._lock:
            self._pace = VisitRate(time.monotonic())
            self._bar.update(self._task, total=total)

    def announce(self, line: str) -> None:
        """A line about the crawl as a whole."""
        # Above the progress display, where there is one.
        self._bar.console.print(Text(printable(f"crawl: {line}")), soft_wrap=True)

    def visited(self, visit: Visit, left: int) -> None:
        """A visit ended and ``left`` are left."""
        with self._lock:
            now = time.monotonic()
            self._pace.add(visit, now)
            made = sum(self._pace.statuses.values())
            self._bar.update(self._task, completed=made, total=made + left, description=self._pace.line(left, now))
            if self._lines:
                # Every field on every line: null is not known.
                fields = {name: getattr(visit, name) for name in visit.__struct_fields__}
                click.echo(printable_json(msgspec.json.encode(fields).decode()))
