"""A NetLog file's text to its events, in order: whole or cut off, one event a line or in any other layout of JSON."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator

import msgspec

from originset.data.errors import InputError
from originset.data.netlog.events import UNEXPECTED, Constants, Event, Parser

_BEGINNING = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"constants"\s*:')
_BOM = b"\xef\xbb\xbf"
# Of a text that another program laid out, and which so has to be decoded as a whole: each event takes some 200 bytes.
_MAX_EVENTS_AT_ONCE = 4_000_000
# No recording lasts longer, and no browser counts further.
_MAX_RECORDING_MS = 1_000_000_000
_MAX_SOURCE = 1 << 31
# After the last event, on its line.
_LIST_ENDS = (b"}],", b"}]}")


class _Whole(msgspec.Struct):
    constants: msgspec.Raw
    events: list[msgspec.Raw]


def is_netlog(beginning: bytes) -> bool:
    """Whether a text begins like a NetLog."""
    return _BEGINNING.match(beginning) is not None


class NetLogFile:
    """The events of one file. ``names``: those of the events that are wanted; ``source``: the file's, for errors.

    ``cut_off`` tells, once all events were taken, whether the file ends before its end.

    Raises:
        InputError: its constants are damaged, or cut off.
    """

    def __init__(self, text: bytes, source: str, names: frozenset[str]) -> None:
        self._text = text.removeprefix(_BOM)
        self._parser = Parser(names)
        self.cut_off = True
        self._lines = io.BytesIO(self._text)
        self._parser.event(self._lines.readline())
        if self._parser.constants is None:
            self._lay_out(source)
        if self._parser.constants is None:
            raise InputError(
                source, "not-netlog", "a NetLog without the names of its events: damaged, or cut off there"
            )
        self.constants: Constants = self._parser.constants

    def _lay_out(self, source: str) -> None:
        """Bring JSON of another layout into the form that Chromium writes."""
        if self._text.count(b"{") > _MAX_EVENTS_AT_ONCE or self._text.count(b",") > 8 * _MAX_EVENTS_AT_ONCE:
            raise InputError(source, "too-large", "more events than can be read unless each has a line of its own")
        try:
            whole = msgspec.json.decode(self._text, type=_Whole)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            return
        self._parser.event(b'{"constants":' + bytes(whole.constants) + b",")
        self._lines = io.BytesIO(b"\n".join((b'"events": [', *map(_on_one_line, whole.events), b"]}")))

    def events(self) -> Iterator[Event]:
        """The events, in the file's order; those of impossible times and sources are left out."""
        first: int | None = None
        for raw_line in self._lines:
            line = raw_line.rstrip()
            if line.startswith((b"]", b'"polledData"')):
                self.cut_off = False
                return
            if line.endswith(_LIST_ENDS):
                self.cut_off = False
                line = line[:-2]
            try:
                event = self._parser.event(line)
            except UNEXPECTED:
                continue
            if event is None or not 0 <= event.source < _MAX_SOURCE:
                continue
            first = event.time if first is None else first
            if abs(event.time - first) < _MAX_RECORDING_MS:
                yield event

    @property
    def end(self) -> int:
        """The file's length in bytes, where it is lost from if it was cut off."""
        return len(self._text)


def _on_one_line(event: msgspec.Raw) -> bytes:
    return bytes(event).replace(b"\r", b" ").replace(b"\n", b" ")
