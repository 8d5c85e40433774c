"""The NetLog of a running browser, read from a named pipe by a thread: nothing is written to disk, nothing grows."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import msgspec

from originset.data.errors import BrowserError
from originset.data.netlog.events import Constants, Event, LineSplitter, Parser

_READ_BYTES = 1 << 18
# Of events that wait to be taken: parameters, and what an event itself needs.
_MOST_WAITING = 128 << 20
_EVENT_BYTES = 200


class _UrlParams(msgspec.Struct):
    url: str = ""


_url_decoder = msgspec.json.Decoder(_UrlParams)


class NetLogStream:
    """Reads one browser's NetLog; start it before the browser, which will not open a pipe that nobody reads."""

    def __init__(self, pipe: Path, names: frozenset[str]) -> None:
        os.mkfifo(pipe, 0o600)
        # Not blocking: opening must not wait for a browser that may never come.
        self._fd = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        # A writer of our own keeps the pipe from reporting its end before the browser has opened it.
        self._writer: int | None = os.open(pipe, os.O_WRONLY)
        os.set_blocking(self._fd, True)
        self._parser = Parser(names)
        self._lock = threading.Lock()
        self._events: list[Event] = []
        self._waiting = 0  # bytes
        self._lost = False
        self._marks: dict[str, threading.Event] = {}
        self._thread = threading.Thread(target=self._read, name=f"netlog-{pipe.parent.name}", daemon=True)
        self._thread.start()

    @property
    def constants(self) -> Constants:
        """The browser's constants.

        Raises:
            BrowserError: it has not written any.
        """
        if self._parser.constants is None:
            raise BrowserError("chromium", "it wrote no NetLog")
        return self._parser.constants

    def expect(self, url: str) -> threading.Event:
        """Is set once the request for ``url`` is in the log, and so everything that was logged before it."""
        mark = self._marks[url] = threading.Event()
        return mark

    def take(self) -> list[Event]:
        """The events since the last call."""
        with self._lock:
            events, self._events, self._waiting = self._events, [], 0
        return events

    def take_loss(self) -> bool:
        """Whether events were passed over since the last call: a line was too long, or too many waited to be taken."""
        with self._lock:
            lost, self._lost = self._lost, False
        return lost

    def close(self) -> None:
        """End the thread; call when the browser has ended. Without a writer left, reading ends at what was written."""
        if self._writer is not None:
            os.close(self._writer)
            self._writer = None
        self._thread.join(timeout=10)

    def _read(self) -> None:
        event_of = self._parser.event
        lines = LineSplitter()
        try:
            while chunk := os.read(self._fd, _READ_BYTES):
                events = [event for line in lines.add(chunk) if (event := event_of(line)) is not None]
                with self._lock:
                    self._lost |= lines.take_loss()
                    self._queue_events(events)
                if self._marks:
                    self._see_marks(events)
        finally:
            os.close(self._fd)

    def _queue_events(self, events: list[Event]) -> None:
        """Have events wait, unless too many do."""
        self._waiting += sum(len(event.params) + _EVENT_BYTES for event in events)
        if self._waiting <= _MOST_WAITING:
            self._events += events
        else:
            self._lost = True

    def _see_marks(self, events: list[Event]) -> None:
        for event in events:
            if event.name == "URL_REQUEST_START_JOB" and (mark := self._marks.get(_url(event.params))) is not None:
                mark.set()

    def forget(self, url: str) -> None:
        """No longer wait for ``url``."""
        self._marks.pop(url, None)


def _url(params: msgspec.Raw) -> str:
    try:
        return _url_decoder.decode(params).url
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return ""
