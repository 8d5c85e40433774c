"""A NetLog's events: its lines decoded, whether they come from a running browser or from a file.

The form (net/log/file_net_log_observer.cc): one line with the constants (names and numbers of events),
``"events": [``, then one event a line. Only events of the names that are asked for are kept, their parameters
undecoded.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import msgspec

from originset.data.captures.capture import Features

# A line holds an address or a certificate chain; Chromium's addresses have up to 2 MB (url::kMaxURLChars).
_LONGEST_LINE = 8 << 20
_ENABLED, _DISABLED = (re.compile(rf"--{word}-features=(\S+)") for word in ("enable", "disable"))

#: What the handlers of events raise for values that Chromium does not write.
UNEXPECTED = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError, msgspec.MsgspecError)


class Event(msgspec.Struct, gc=False):
    """One event: ``time`` in ms of the browser's monotonic clock, as DevTools; ``phase`` 0 none, 1 begin, 2 end."""

    source: int
    source_type: str
    name: str
    phase: int
    time: int
    params: msgspec.Raw


class _Source(msgspec.Struct, gc=False):
    id: int
    type: int


class _Line(msgspec.Struct, gc=False):
    source: _Source
    time: str
    type: int
    phase: int = 0
    params: msgspec.Raw = msgspec.Raw(b"{}")


class _Client(msgspec.Struct):
    command_line: str | None = None
    version: str | None = None


class _Constants(msgspec.Struct, rename="camel"):
    log_event_types: dict[str, int]
    log_source_type: dict[str, int]
    net_error: dict[str, int]
    time_tick_offset: int
    load_flag: dict[str, int] = {}
    active_field_trial_groups: list[str] | None = None
    client_info: _Client | None = None


class _Head(msgspec.Struct):
    constants: _Constants


@dataclass(frozen=True, slots=True)
class Constants:
    """What a browser's NetLog means: the names of net errors by number, and what makes its times Unix ms.

    Load flags, 0 where the browser has none: ``without_credentials`` of requests that neither send nor keep cookies,
    ``main_frame`` of a page's document, which old versions (88 and 92, not 103) say by that alone.
    ``features`` are those that the browser was started with, and the field trials that it is in; ``version``: its own.
    """

    errors: dict[int, str]
    time_offset_ms: int
    without_credentials: int = 0
    main_frame: int = 0
    features: Features = field(default_factory=Features)
    version: str | None = None


_line_decoder = msgspec.json.Decoder(_Line)
_head_decoder = msgspec.json.Decoder(_Head)


class Parser:
    """Lines of a NetLog to events, for the names asked for. Cut-off lines and those without an event are skipped."""

    def __init__(self, names: frozenset[str]) -> None:
        self._names = names
        self._wanted: dict[int, str] = {}
        self._sources: dict[int, str] = {}
        self.constants: Constants | None = None

    def event(self, line: bytes) -> Event | None:
        """The event of a line; None where it holds none, or none that is wanted."""
        if self.constants is None:
            self._head(line)
            return None
        try:
            item = _line_decoder.decode(line.rstrip(b",\r\n "))
            name = self._wanted.get(item.type)
            if name is None:
                return None
            source_type = self._sources.get(item.source.type, "")
            # A Raw decoded in a struct is a view of the line: keep the bytes of the parameters alone.
            return Event(item.source.id, source_type, name, item.phase, int(item.time), item.params.copy())
        except (msgspec.DecodeError, ValueError, RecursionError):
            return None  # the opening line, the closing one, or the last one of a browser that was killed

    def _head(self, line: bytes) -> None:
        try:
            constants = _head_decoder.decode(line.rstrip(b",\r\n ") + b"}").constants
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return
        self._wanted = {number: name for name, number in constants.log_event_types.items() if name in self._names}
        self._sources = {number: name for name, number in constants.log_source_type.items()}
        errors = {number: f"net::{name}" for name, number in constants.net_error.items()}
        client, trials = constants.client_info, constants.active_field_trial_groups
        features = Features(field_trials=None if trials is None else sorted(trials))
        if client is not None and client.command_line is not None:
            features.enabled, features.disabled = (
                _switched(client.command_line, flag) for flag in (_ENABLED, _DISABLED)
            )
        self.constants = Constants(
            errors,
            constants.time_tick_offset,
            constants.load_flag.get("DO_NOT_SAVE_COOKIES", 0),
            constants.load_flag.get("MAIN_FRAME_DEPRECATED", 0),
            features,
            None if client is None else client.version,
        )


def _switched(command_line: str, flag: re.Pattern[str]) -> list[str]:
    """The features that a command line, with all that the system's start script adds, names behind a flag."""
    return sorted({feature for given in flag.findall(command_line) for feature in given.split(",") if feature})


class LineSplitter:
    """Cuts a stream into lines. One that is too long is passed over."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self._lost = False

    def add(self, chunk: bytes) -> list[bytes]:
        """The lines that end in a chunk."""
        first, *others = chunk.split(b"\n")
        self._extend(first)
        if not others:
            return []
        whole = [] if self._size > _LONGEST_LINE else [b"".join(self._parts)]
        self._parts, self._size = [], 0
        self._extend(others.pop())
        return whole + others

    def _extend(self, part: bytes) -> None:
        self._size += len(part)
        if self._size <= _LONGEST_LINE:
            self._parts.append(part)
        else:
            self._parts, self._lost = [], True

    def take_loss(self) -> bool:
        """Whether a line was passed over since the last call."""
        lost, self._lost = self._lost, False
        return lost


def dependency(values: dict[str, Any]) -> int | None:
    """The source that an event's parameters point at."""
    pointed = values.get("source_dependency")
    number = pointed.get("id") if isinstance(pointed, dict) else None
    return number if isinstance(number, int) else None


def text_value(values: dict[str, Any], name: str) -> str | None:
    """A parameter that is a text; None where there is none, or it is something else."""
    value = values.get(name)
    return value if isinstance(value, str) else None


def flag_value(values: dict[str, Any], name: str) -> bool | None:
    """A parameter that is true or false; None where there is none, or it is something else."""
    value = values.get(name)
    return value if isinstance(value, bool) else None


def parameters(event: Event) -> dict[str, Any]:
    """The decoded parameters of an event."""
    decoded: Any = msgspec.json.decode(event.params)
    return decoded if isinstance(decoded, dict) else {}
