"""Firefox over its own WebDriver BiDi, without geckodriver or a port: page loads in contexts without a past."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from websockets.exceptions import ConnectionClosed, WebSocketException
from websockets.frames import CloseCode
from websockets.sync.client import ClientConnection, unix_connect

from originset.crawler.browsers import firefox_socket
from originset.crawler.browsers.devtools import MAX_MESSAGE
from originset.crawler.browsers.engine import find_binary
from originset.crawler.browsers.launch import end_with_parent, last_message, stderr_file
from originset.crawler.browsers.scratch import scratch_folder
from originset.crawler.browsers.trust import trust_in_database
from originset.data.errors import BrowserError, MissingDependency

_START_S = 60.0
_POLL_S = 0.02
_SETTLE_PAUSE_S = 0.05

# What Firefox does by itself would show in the servers' logs beside the page's own requests.
_PREFERENCES: Mapping[str, bool | int | str] = {
    "app.normandy.enabled": False,
    "app.update.auto": False,
    "browser.aboutwelcome.enabled": False,
    "browser.safebrowsing.malware.enabled": False,
    "browser.safebrowsing.phishing.enabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "dom.push.connection.enabled": False,
    "extensions.getAddons.cache.enabled": False,
    "extensions.systemAddon.update.enabled": False,
    "media.gmp-manager.updateEnabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "network.trr.mode": 5,  # plain DNS, so that the DNS server sees it
    "services.settings.server": "data:,",
    "toolkit.telemetry.enabled": False,
}


@dataclass(frozen=True)
class LoadedResponse:
    """A response as Firefox reports it. It names neither addresses nor connections: those are in the servers' logs."""

    url: str
    status: int
    protocol: str
    from_cache: bool


class Firefox:
    """``with Firefox(root, environment=...) as firefox: firefox.load(url)``.

    ``root`` is a PEM file to trust besides the built-in ones, ``environment`` additional environment variables,
    ``preferences`` what is to differ from our defaults. The profile is temporary. Every load takes place in a new user
    context: no connection, cookie, cached answer or name of an earlier one is used.

    Raises ``MissingDependency`` without Firefox or where it is too old, ``BrowserError`` where it is lost or does not
    start.
    """

    _arguments: tuple[str, ...] = ()
    _events: tuple[str, ...] = ("network.responseCompleted",)
    _within: tuple[str, ...] = ()  # a command that starts another

    def __init__(
        self,
        root: Path | None = None,
        *,
        environment: Mapping[str, str] | None = None,
        preferences: Mapping[str, bool | int | str] | None = None,
    ) -> None:
        self._root = root
        self._environment = {**os.environ, **(environment or {})}
        self._preferences = {**_PREFERENCES, **firefox_socket.PREFERENCES, **(preferences or {})}
        self._stack = contextlib.ExitStack()
        self._connection: ClientConnection | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._number = 0
        self._version = ""
        self._responses: list[LoadedResponse] = []
        self._oversized = False  # a message was longer than MAX_MESSAGE, which ends the connection

    def __enter__(self) -> Self:
        binary = find_binary("firefox")
        with contextlib.ExitStack() as stack:
            profile = stack.enter_context(scratch_folder())
            self._write_profile(profile)
            self._start(binary, profile, stack)
            path = str(firefox_socket.bidi_socket(profile))
            self._connection = stack.enter_context(unix_connect(path, firefox_socket.URL, max_size=MAX_MESSAGE))
            session = self._call("session.new", {"capabilities": {}})
            self._version = str(session["capabilities"]["browserVersion"])
            self._subscribe()
            stack.callback(self._close)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def version(self) -> str:
        """The browser's version."""
        return self._version

    def load(
        self,
        url: str,
        timeout_s: float = 30.0,
        *,
        settled: Callable[[], bool] = lambda: True,
        patience_s: float = 0.0,
    ) -> list[LoadedResponse]:
        """Load a page in a new context until its load event, and what was received until then.

        With ``settled`` the page goes on until that is true, for at most ``patience_s`` after the load event.
        Raises ``BrowserError`` where Firefox shows an error page or the load event does not come in time.
        """
        self._responses = []
        user_context = self._call("browser.createUserContext", {})["userContext"]
        try:
            context = self._call("browsingContext.create", {"type": "tab", "userContext": user_context})["context"]
            self._call("browsingContext.navigate", {"context": context, "url": url, "wait": "complete"}, timeout_s)
            patience = time.monotonic() + patience_s
            while not settled() and time.monotonic() < patience:
                time.sleep(_SETTLE_PAUSE_S)
        finally:
            with contextlib.suppress(BrowserError):  # what went wrong before says more
                self._call("browser.removeUserContext", {"userContext": user_context})
        return list(self._responses)

    def _subscribe(self) -> None:
        try:
            self._call("session.subscribe", {"events": self._events})
        except BrowserError as error:
            if "event name" not in error.problem:
                raise
            raise MissingDependency(
                f"a Firefox newer than {self._version}", "apt-get update && apt-get install firefox-esr"
            ) from error

    def _write_profile(self, profile: Path) -> None:
        lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in self._preferences.items()]
        (profile / "user.js").write_text("".join(lines), encoding="utf-8")
        if self._root is not None:
            trust_in_database(profile, self._root)

    def _start(self, binary: str, profile: Path, stack: contextlib.ExitStack) -> None:
        """Start the browser; its BiDi then listens on a socket in its profile."""
        log = stderr_file(profile)
        with log.open("wb") as errors:
            process = subprocess.Popen(
                [
                    *end_with_parent(self._within),
                    binary,
                    *("--headless", "--no-remote", "-profile", str(profile), *firefox_socket.arguments(profile)),
                    *self._arguments,
                ],
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
            )
        stack.callback(_end_process_group, process)
        self._process = process
        deadline = time.monotonic() + _START_S
        firefox_socket.start_bidi(profile, deadline, lambda: process.poll() is None)
        while "WebDriver BiDi listening" not in log.read_text(errors="replace"):
            if process.poll() is not None or time.monotonic() > deadline:
                raise BrowserError("firefox", f"did not start: {last_message(profile)}")
            time.sleep(_POLL_S)

    def _call(self, method: str, params: Mapping[str, object], timeout_s: float = 30.0) -> dict[str, Any]:
        if self._connection is None:
            raise BrowserError("firefox", "is not running")
        self._number += 1
        deadline = time.monotonic() + timeout_s
        try:
            self._connection.send(json.dumps({"id": self._number, "method": method, "params": params}))
            while (message := self._receive(max(0.0, deadline - time.monotonic()))).get("id") != self._number:
                pass
        except TimeoutError as error:
            raise BrowserError("firefox", f"{method} took longer than {timeout_s:g} s") from error
        except (OSError, WebSocketException) as error:
            raise BrowserError("firefox", f"was lost during {method}: {error}") from error
        if message["type"] == "error":
            raise BrowserError("firefox", f"{method}: {message.get('message') or message.get('error')}")
        result: dict[str, Any] = message["result"]
        return result

    def _receive(self, timeout_s: float) -> dict[str, Any]:
        """The next message, which is an event or the answer to a call; events are heard.

        Raises ``TimeoutError`` where none comes, ``OSError`` or ``WebSocketException`` where Firefox is lost.
        """
        if self._connection is None:
            raise ConnectionError("is not running")
        try:
            text = str(self._connection.recv(timeout_s))
        except ConnectionClosed as error:
            self._oversized = error.sent is not None and error.sent.code == CloseCode.MESSAGE_TOO_BIG
            raise
        message: dict[str, Any] = json.loads(self._within_limits(text))
        if "method" in message:
            self._handle_event(message["method"], message["params"])
        return message

    def _within_limits(self, message: str) -> str:
        """A message as it is to be decoded."""
        return message

    def _handle_event(self, method: str, event: dict[str, Any]) -> None:
        if method != "network.responseCompleted":
            return
        response = event["response"]
        self._responses.append(
            LoadedResponse(response["url"], response["status"], response["protocol"], bool(response["fromCache"]))
        )

    def _close(self) -> None:
        with contextlib.suppress(BrowserError):  # it may close the connection before it answers
            self._call("browser.close", {}, 5.0)


def _end_process_group(process: subprocess.Popen[bytes]) -> None:
    """Wait until it has ended by itself; then end what is left of its process group, which it leads."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(5)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
