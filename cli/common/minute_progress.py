"""A progress display for people on a terminal, and for logs: there it is a line a minute."""

from __future__ import annotations

import threading

from rich.console import Console
from rich.progress import Progress, ProgressColumn, Task
from rich.text import Text

from originset.data.sanitising.printable import printable

_INTERVAL_S = 60.0


class MinuteProgress(Progress):
    """Columns on stderr where that is a terminal, else a line a minute for each task that is not finished.

    ``counts``: whether such a line has what is done and of how much, or the task's description says it.
    """

    def __init__(self, *columns: str | ProgressColumn, counts: bool = True) -> None:
        self._counts = counts
        console = Console(stderr=True)
        shown = console.is_terminal
        # What refreshes by itself counts the items of track() only while it is shown.
        super().__init__(*columns, console=console, disable=not shown, auto_refresh=shown, transient=True)
        self._ended = threading.Event()
        self._writer: threading.Thread | None = None

    def start(self) -> None:
        """Begin to show it."""
        super().start()
        if self.disable and self._writer is None:
            self._ended.clear()
            self._writer = threading.Thread(target=self._write, name="progress", daemon=True)
            self._writer.start()

    def stop(self) -> None:
        """Show it no more."""
        super().stop()
        self._ended.set()
        if self._writer is not None:
            self._writer.join()
            self._writer = None

    def _write(self) -> None:
        while not self._ended.wait(_INTERVAL_S):
            for task in self.tasks:
                if not task.finished:
                    done = f": {_completed_of_total(task)}" if self._counts else ""
                    self.console.print(Text(printable(f"{task.description}{done}")), soft_wrap=True)


def _completed_of_total(task: Task) -> str:
    return f"{task.completed:,.0f} of {task.total:,.0f}" if task.total else f"{task.completed:,.0f}"
