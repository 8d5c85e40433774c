"""A small synchronous client of the Chrome DevTools Protocol: two pipes, flat sessions, one thread.

A message is JSON that a NUL ends (content/browser/devtools/devtools_pipe_handler.cc). Nobody else can write to the
pipes, as they have no name and no address.

Events are handed to ``on_event`` while a call waits or :meth:`DevTools.pump` runs, in the order in which they came;
their parameters stay undecoded, because most are not looked at.
"""

from __future__ import annotations

import os
import re
import select
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from originset.data.errors import OriginsetError

_READ_BYTES = 1 << 18
_END = b"\0"

MAX_MESSAGE = 64 << 20
"""Bytes of one message. Those of real pages are a few MB; what a page makes its browser say may be of any length."""

EventHandler = Callable[[str | None, str, msgspec.Raw], None]


class DevToolsError(OriginsetError):
    """A command that the browser refused: ``method`` and its ``problem``."""

    def __init__(self, method: str, problem: str) -> None:
        self.method = method
        self.problem = problem
        super().__init__(f"{method}: {problem}")


class DevToolsLost(OriginsetError):
    """The connection ended or did not answer in time: the browser is gone or hangs."""


class DevToolsSilent(DevToolsLost):
    """No answer in time; others may still come."""


class DevToolsOversized(DevToolsLost):
    """The browser sent a message of more than :data:`MAX_MESSAGE` bytes."""


class _Error(msgspec.Struct):
    message: str = ""


class _Message(msgspec.Struct, rename="camel"):
    id: int | None = None
    method: str | None = None
    params: msgspec.Raw = msgspec.Raw(b"{}")
    session_id: str | None = None
    result: msgspec.Raw = msgspec.Raw(b"{}")
    error: _Error | None = None


_decoder = msgspec.json.Decoder(_Message)
_encoder = msgspec.json.Encoder()

# An escape in a JSON string: a pair of surrogates, one half of a pair (the group), or any other.
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u([dD][89a-fA-F][0-9a-fA-F]{2})|.)"
)


def without_lone_surrogates(text: bytes) -> bytes:
    """JSON in which each escape of half a surrogate pair is one of U+FFFD.

    JSON can hold halves of pairs (RFC 8259 section 8.2), and a page can have its browser send them: in a title, in the
    name of a function, in a header. No other encoding has them.
    """
    return _ESCAPE.sub(lambda found: found[0] if found[1] is None else rb"\ufffd", text)


class DevTools:
    """One connection to a browser: ``answers`` is the descriptor to read from, ``commands`` the one to write to.

    Not for more than one thread. Who gave the descriptors closes them.
    """

    def __init__(self, answers: int, commands: int) -> None:
        self._answers = answers
        self._commands = commands
        self._poll = select.poll()
        self._poll.register(answers, select.POLLIN)
        self._messages: deque[bytes] = deque()  # read, not yet handled
        self._unfinished: list[bytes] = []  # the parts of a message whose end has not come yet
        self._unfinished_bytes = 0
        self._next_id = 0
        self._results: dict[int, _Message | None] = {}  # calls that wait
        self.on_event: EventHandler | None = None

    def send(self, method: str, session: str | None = None, **params: Any) -> int:  # noqa: ANN401 - the protocol's JSON
        """Send a command without waiting; its answer is dropped.

        Raises:
            DevToolsLost: the connection is gone.
        """
        self._next_id += 1
        message: dict[str, Any] = {"id": self._next_id, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        rest = _encoder.encode(message) + _END
        try:
            while rest:
                rest = rest[os.write(self._commands, rest) :]
        except BrokenPipeError as error:
            raise DevToolsLost("the browser closed its DevTools connection") from error
        return self._next_id

    def call(
        self,
        method: str,
        session: str | None = None,
        timeout_s: float = 10.0,
        **params: Any,  # noqa: ANN401 - the protocol's JSON
    ) -> dict[str, Any]:
        """Send a command and wait for its result; events that come meanwhile are handled.

        Raises:
            DevToolsError: the browser refused it.
            DevToolsSilent: no answer within ``timeout_s``.
            DevToolsLost: the connection is gone.
        """
        deadline = time.monotonic() + timeout_s
        number = self.send(method, session, **params)
        self._results[number] = None
        try:
            while (message := self._results[number]) is None:
                if not self.pump(deadline - time.monotonic()):
                    raise DevToolsSilent(f"the browser did not answer {method} within {timeout_s:g} s")
        finally:
            del self._results[number]
        if message.error is not None:
            raise DevToolsError(method, message.error.message)
        with _refusing_unreadable():
            result: dict[str, Any] = msgspec.json.decode(message.result)
        return result

    def pump(self, timeout_s: float) -> bool:
        """Handle one message, waiting for it up to ``timeout_s``; False if none came.

        Raises:
            DevToolsLost: the connection is gone, or the message cannot be read.
            DevToolsOversized: a message is too long; the connection cannot be used again.
        """
        if not self._messages and not self._read(timeout_s):
            return False
        with _refusing_unreadable():
            message = _decoded_message(self._messages.popleft())
            if message.id is not None:
                if message.id in self._results:
                    self._results[message.id] = message
            elif message.method is not None and self.on_event is not None:
                self.on_event(message.session_id, message.method, message.params)
        return True

    def _read(self, timeout_s: float) -> bool:
        """Read until there is a message, for up to ``timeout_s``; whether there is one."""
        deadline = time.monotonic() + timeout_s
        while not self._messages:
            if not self._poll.poll(max(deadline - time.monotonic(), 0) * 1000):
                return False
            if not (read := os.read(self._answers, _READ_BYTES)):
                raise DevToolsLost("the browser closed its DevTools connection")
            self._take_bytes(read)
        return True

    def _take_bytes(self, read: bytes) -> None:
        first, *others = read.split(_END)
        self._unfinished.append(first)
        self._unfinished_bytes += len(first)
        if self._unfinished_bytes > MAX_MESSAGE:
            self._unfinished.clear()
            raise DevToolsOversized(f"the browser sent a DevTools message of more than {MAX_MESSAGE >> 20} MiB")
        if others:
            self._messages.append(b"".join(self._unfinished))
            self._messages += others[:-1]
            self._unfinished = [others[-1]]
            self._unfinished_bytes = len(others[-1])


def _decoded_message(text: bytes) -> _Message:
    try:
        return _decoder.decode(text)
    except msgspec.DecodeError:
        return _decoder.decode(without_lone_surrogates(text))


@contextmanager
def _refusing_unreadable() -> Iterator[None]:
    try:
        yield
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DevToolsLost(f"the browser sent a message that cannot be read ({error})") from error
