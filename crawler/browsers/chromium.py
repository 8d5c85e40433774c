"""A headless Chromium: steered over its own DevTools, its NetLog read live.

Neither listens anywhere: DevTools speak over pipes (:mod:`originset.crawler.browsers.launch`), and the NetLog comes
through another. WebDriver BiDi stays off, which would cost every visit half as much CPU again.
"""

from __future__ import annotations

import contextlib
import errno
import subprocess
import threading
import time
import uuid
from contextlib import ExitStack
from pathlib import Path
from typing import Self

import psutil

from originset.crawler.browsers import launch
from originset.crawler.browsers.connection_filter import filter_command
from originset.crawler.browsers.devtools import DevTools, DevToolsError, DevToolsLost
from originset.crawler.browsers.engine import Sandbox, browser_flags, find_binary, sandbox, sandbox_command
from originset.crawler.browsers.scratch import scratch_folder
from originset.crawler.browsers.watchdog import Deadline, kill_process_tree
from originset.crawler.machine import own_addresses, private_memory
from originset.crawler.netlog.stream import NetLogStream
from originset.crawler.settings import VisitSettings
from originset.data.errors import BrowserError
from originset.data.netlog import visit_log
from originset.data.netlog.events import Event

_START_S = 60.0
_NOWHERE = "http://127.0.0.1:1/"
_MARK_PATIENCE_S = 0.1
# What connecting to an address that is not public fails with, and nothing else does: it becomes
# net::ERR_NETWORK_ACCESS_DENIED.
_PRIVATE_ERRNO = errno.EACCES


class Chromium:
    """One running browser. :meth:`kill` may be called from any thread; everything else from one."""

    def __init__(self, settings: VisitSettings) -> None:
        self.settings = settings
        self._stack = ExitStack()
        self._browsers: list[psutil.Process] = []
        self._process: subprocess.Popen[bytes] | None = None
        self._killed = threading.Event()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._start(stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    def _start(self, stack: ExitStack) -> None:
        folder = stack.enter_context(scratch_folder())
        self.netlog = NetLogStream(folder / "netlog", visit_log.EVENT_NAMES)
        stack.callback(self.netlog.close)
        answers, commands = self._launch(folder, stack)
        if self._killed.is_set():  # while it was starting
            self.kill()
        self.devtools = DevTools(answers, commands)
        try:
            self.product = str(self.devtools.call("Browser.getVersion", timeout_s=_START_S)["product"])
            self._open_barrier()
        except DevToolsLost as error:
            raise BrowserError(self.settings.browser, f"it did not start ({launch.last_message(folder)})") from error
        except DevToolsError as error:
            raise BrowserError(self.settings.browser, str(error)) from error

    def _launch(self, folder: Path, stack: ExitStack) -> tuple[int, int]:
        """Start the browser; the descriptors of its DevTools, to read from and to write to, open until it ends."""
        settings = self.settings
        binary = find_binary(settings.browser)
        self.sandbox: Sandbox = sandbox()
        refusal = 0 if settings.allow_private else _PRIVATE_ERRNO
        filtering = filter_command(settings.family, refusal, own_addresses())
        within = (*sandbox_command(self.sandbox), *launch.end_with_parent(filtering))
        words = (*self.flags, *settings.extra_flags, f"--log-net-log={folder / 'netlog'}")
        process = launch.start_with_pipes(settings, binary, within, words, folder)
        if process.stdin is None or process.stdout is None:
            raise BrowserError(settings.browser, "it has no pipes")
        self._process = process
        stack.enter_context(process.stdin)
        stack.enter_context(process.stdout)
        stack.callback(self._end_process)
        with contextlib.suppress(psutil.Error):
            self._browsers = [psutil.Process(process.pid)]
        return process.stdout.fileno(), process.stdin.fileno()

    @property
    def flags(self) -> tuple[str, ...]:
        """What it is told at the start, settings' own and paths aside."""
        return browser_flags(self.settings.browser, self.sandbox, self.settings.third_party_cookies)

    @property
    def version(self) -> str:
        """The browser's version: digits and dots."""
        return self.product.rpartition("/")[2]

    @property
    def killed(self) -> bool:
        """Somebody has ended this browser."""
        return self._killed.is_set()

    def private_memory(self) -> int:
        """Bytes that the browser's processes have for themselves."""
        return private_memory(self._browsers)

    @property
    def pids(self) -> list[int]:
        """The processes that all others of the browser are below."""
        return [process.pid for process in self._browsers]

    def kill(self) -> None:
        """End the browser with all its processes at once; whoever waits for it finds it lost."""
        self._killed.set()
        for browser in self._browsers:
            kill_process_tree(browser)

    def _end_process(self) -> None:
        """End the browser, and wait until it is gone."""
        self.kill()
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _open_barrier(self) -> None:
        """A page of the browser's own, outside every visit, whose requests mark places in the NetLog."""
        target = self.devtools.call("Target.createTarget", url="about:blank")["targetId"]
        self._barrier = self.devtools.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        # Workers that pages share are no page's children: they have to be met at the door.
        shared = [{"type": "shared_worker"}]
        self.devtools.call(
            "Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=True, flatten=True, filter=shared
        )
        self._barrier_frame = self.devtools.call("Page.getFrameTree", self._barrier)["frameTree"]["frame"]["id"]

    def settle(self, timeout_s: float = 10.0) -> None:
        """Wait until everything that the browser logged so far has been read.

        NetLog writes in batches and by no timer, so requests of our own push out what waits and say where it ends.
        They go to a port that Chromium connects to for nobody (net/base/port_util.cc), so they open no socket.

        Raises:
            DevToolsLost: the browser does not answer.
        """
        url = f"{_NOWHERE}?{uuid.uuid4().hex}"
        mark = self.netlog.expect(url)
        deadline = time.monotonic() + timeout_s
        try:
            while True:
                self.devtools.call(
                    "Network.loadNetworkResource",
                    self._barrier,
                    timeout_s,
                    frameId=self._barrier_frame,
                    url=url,
                    options={"disableCache": True, "includeCredentials": False},
                )
                if mark.wait(_MARK_PATIENCE_S):
                    return
                if time.monotonic() > deadline:
                    raise DevToolsLost("the browser's NetLog does not go on")
        finally:
            self.netlog.forget(url)

    def take_events(self) -> list[Event]:
        """NetLog events since the last call."""
        return self.netlog.take()

    def deadline(self, seconds: float) -> Deadline:
        """To be entered: kills the browser if the block takes longer. Who waits for it then finds it lost."""
        return Deadline(self.pids, seconds, self.kill)
