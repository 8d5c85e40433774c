"""A small synchronous client of the Chrome DevTools Protocol: one websocket, flat sessions, one thread.

Events are handed to ``on_event`` while a call waits or :meth:`DevTools.pump` runs, in the order in which they came;
their parameters stay undecoded, because most are not looked at.
"""

from __future__ import annotations

import http.client
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from originset.data.errors import OriginsetError

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


class _Error(msgspec.Struct):
    message: str = ""


class _Message(msgspec.Struct, rename="camel"):
    id: int | None = None
    method: str | None = None
    params: msgspec.Raw = msgspec.Raw(b"{}")
    session_id: str | None = None
    result: msgspec.Raw = msgspec.Raw(b"{}")
    error: _Error | None = None


class _Version(msgspec.Struct):
    browser: str = msgspec.field(name="Browser")
    socket: str = msgspec.field(name="webSocketDebuggerUrl")


_decoder = msgspec.json.Decoder(_Message)
_encoder = msgspec.json.Encoder()


class DevTools:
    """One connection to a browser. Not for more than one thread."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
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
        try:
            self._socket.send(_encoder.encode(message), text=True)
        except ConnectionClosed as error:
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
        result: dict[str, Any] = msgspec.json.decode(message.result)
        return result

    def pump(self, timeout_s: float) -> bool:
        """Handle one message, waiting for it up to ``timeout_s``; False if none came.

        Raises:
            DevToolsLost: the connection is gone.
        """
        try:
            text = self._socket.recv(timeout=max(timeout_s, 0), decode=False)
        except TimeoutError:
            return False
        except ConnectionClosed as error:
            raise DevToolsLost("the browser closed its DevTools connection") from error
        message = _decoder.decode(text)
        if message.id is not None:
            if message.id in self._results:
                self._results[message.id] = message
        elif message.method is not None and self.on_event is not None:
            self.on_event(message.session_id, message.method, message.params)
        return True


def browser_endpoint(address: str, timeout_s: float = 10.0) -> tuple[str, str]:
    """(browser and version, websocket address) of a browser whose DevTools listen on ``host:port``.

    Raises:
        DevToolsLost: nothing that speaks DevTools answers there.
    """
    # Not urllib: its proxy settings from the environment do not concern a loopback address.
    connection = http.client.HTTPConnection(address, timeout=timeout_s)
    try:
        connection.request("GET", "/json/version")
        version = msgspec.json.decode(connection.getresponse().read(), type=_Version)
    except (OSError, http.client.HTTPException, msgspec.DecodeError) as error:
        raise DevToolsLost(f"no DevTools at {address} ({error})") from error
    finally:
        connection.close()
    return version.browser, version.socket


@contextmanager
def open_devtools(url: str) -> Iterator[DevTools]:
    """A client of the browser behind ``url``.

    No Origin header (Chromium refuses most), no size limit (a message holds what a page makes it hold), no compression,
    no proxy (it is this machine), no pings (a browser that hangs is found by deadlines).

    Raises:
        DevToolsLost: it cannot be reached.
    """
    try:
        socket = connect(url, max_size=None, compression=None, proxy=None, ping_interval=None, close_timeout=1)
    except (OSError, TimeoutError, ConnectionClosed) as error:
        raise DevToolsLost(f"no DevTools at {url} ({error})") from error
    with socket:
        yield DevTools(socket)
