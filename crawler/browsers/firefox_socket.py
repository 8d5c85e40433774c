"""WebDriver BiDi of a Firefox on a Unix socket in its profile, which nobody but its user can reach.

With ``--remote-debugging-port`` Firefox listens on TCP and obeys the first who comes. It has no switch for anything
else. But its DevTools server listens on a Unix socket where it is told to (``--start-debugger-server PATH``), and
evaluates scripts in the browser's own process. The one that we send starts Firefox's Remote Agent
(chrome://remote/content/components/RemoteAgent.sys.mjs) as the switch does, on a Unix socket in place of a port.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from originset.crawler.browsers.launch import last_message
from originset.data.errors import BrowserError

PREFERENCES: Mapping[str, bool | str] = {
    "devtools.chrome.enabled": True,
    "devtools.debugger.prompt-connection": False,
    "devtools.debugger.remote-enabled": True,
    # The Remote Agent sets these too (chrome://remote/content/shared/RecommendedPreferences.sys.mjs), but starts later
    # than what they keep from asking the network.
    "browser.region.network.url": "",
    "browser.topsites.contile.enabled": False,
    "extensions.update.enabled": False,
    "security.remote_settings.intermediates.enabled": False,
}
# Whom Firefox takes itself for. It heeds Host headers with this name only; nothing listens at this port.
URL = "ws://127.0.0.1:80/session"

_POLL_S = 0.02
_READ_BYTES = 1 << 16
_LONGEST_LENGTH = 20

# nsIServerSocket.initWithFilename makes the socket. httpd.sys.mjs is the HTTP server beneath BiDi; of its server socket
# it uses these two members, of the Remote Agent's command line these two methods.
_START = """
(() => {
  const { HttpServer } = ChromeUtils.importESModule("chrome://remote/content/server/httpd.sys.mjs");
  const { RemoteAgent } = ChromeUtils.importESModule("chrome://remote/content/components/RemoteAgent.sys.mjs");
  const port = 80;
  HttpServer.prototype._start = function (_, host) {
    const file = Cc["@mozilla.org/file/local;1"].createInstance(Ci.nsIFile);
    file.initWithPath(PATH);
    const socket = Cc["@mozilla.org/network/server-socket;1"].createInstance(Ci.nsIServerSocket);
    socket.initWithFilename(file, 0o600, 5);
    this._socket = { port, close: () => socket.close() };
    this._host = host;
    this._port = port;
    this._doQuit = this._socketClosed = false;
    this._identity._initialize(port, host, true, false);
    socket.asyncListen({
      onSocketAccepted: (_, transport) => this.onSocketAccepted(this._socket ?? { port }, transport),
      onStopListening: (_, status) => this.onStopListening({ port }, status),
    });
  };
  const commandLine = {
    handleFlag: () => false,
    handleFlagWithParam: name => (name === "remote-debugging-port" ? String(port) : null),
  };
  Services.obs.addObserver(RemoteAgent, "command-line-startup");
  RemoteAgent.observe(commandLine, "command-line-startup");
  RemoteAgent.observe(null, "final-ui-startup");
  // A session waits for what may have come before the agent listened for it.
  const ready = Services.wm.getMostRecentWindow("navigator:browser")?.gBrowserInit?.idleTasksFinished.promise;
  ready?.then(() => RemoteAgent.observe(null, "browser-idle-startup-tasks-finished")).catch(() => {});
  return "started";
})()
"""


def arguments(profile: Path) -> tuple[str, ...]:
    """What Firefox is started with so that :func:`start_bidi` reaches it."""
    return "--start-debugger-server", str(_devtools(profile))


def bidi_socket(profile: Path) -> Path:
    """Where BiDi listens after :func:`start_bidi`."""
    return profile / "bidi"


def start_bidi(profile: Path, deadline: float, is_running: Callable[[], bool]) -> None:
    """Have the Firefox of this profile start WebDriver BiDi. ``deadline`` is of ``time.monotonic``.

    Raises:
        BrowserError: it ended, does not answer in time, or is a version that cannot do so.
    """
    devtools = _devtools(profile)
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            while (refused := connection.connect_ex(str(devtools))) and is_running() and time.monotonic() < deadline:
                time.sleep(_POLL_S)
            if refused:
                raise BrowserError("firefox", f"did not start: {last_message(profile)}")
            _Debugger(connection, deadline).evaluate(_START.replace("PATH", json.dumps(str(bidi_socket(profile)))))
    except OSError as error:
        raise BrowserError("firefox", f"did not start: {error}") from error
    devtools.unlink(missing_ok=True)  # nobody needs it any more


def _devtools(profile: Path) -> Path:
    return profile / "devtools"


class _Debugger:
    """Firefox' Remote Debugging Protocol: JSON packets after their length and a colon, from and to actors."""

    def __init__(self, connection: socket.socket, deadline: float) -> None:
        self._connection = connection
        self._deadline = deadline
        self._read = b""

    def evaluate(self, script: str) -> None:
        """Run a script in the browser's own process. Raises ``BrowserError`` where it fails, ``OSError``."""
        descriptor = self._ask("root", "getProcess", "processDescriptor", id=0)["actor"]
        console = self._ask(descriptor, "getTarget", "process")["consoleActor"]
        self._send({"to": console, "type": "evaluateJSAsync", "text": script})
        while (answer := self._receive()).get("type") != "evaluationResult":
            _require_no_error(answer)
        if answer.get("hasException"):
            raise BrowserError("firefox", f"did not start BiDi: {answer.get('exceptionMessage')}")

    def _ask(self, actor: str, kind: str, wanted: str, **values: object) -> dict[str, Any]:
        self._send({"to": actor, "type": kind, **values})
        while wanted not in (answer := self._receive()):
            _require_no_error(answer)
        found: dict[str, Any] = answer[wanted]
        return found

    def _send(self, packet: Mapping[str, object]) -> None:
        text = json.dumps(packet).encode()
        self._connection.sendall(b"%d:%b" % (len(text), text))

    def _receive(self) -> dict[str, Any]:
        while b":" not in self._read[:_LONGEST_LENGTH]:
            self._read_more()
        length, _, self._read = self._read.partition(b":")
        while len(self._read) < int(length):
            self._read_more()
        packet: dict[str, Any] = json.loads(self._read[: int(length)])
        self._read = self._read[int(length) :]
        return packet

    def _read_more(self) -> None:
        self._connection.settimeout(max(_POLL_S, self._deadline - time.monotonic()))
        if not (read := self._connection.recv(_READ_BYTES)):
            raise ConnectionResetError("it closed its DevTools")
        self._read += read


def _require_no_error(packet: dict[str, Any]) -> None:
    if "error" in packet:
        raise BrowserError("firefox", f"its DevTools refuse: {packet.get('message') or packet['error']}")
