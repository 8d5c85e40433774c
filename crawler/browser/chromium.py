"""A headless Chromium: steered over its own DevTools, its NetLog read live.

Selenium starts it (:mod:`originset.crawler.browser.launch`); WebDriver BiDi stays off, which would cost every visit
half as much CPU again.
"""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
import threading
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self

import psutil

from originset.crawler.browser import launch
from originset.crawler.browser.connection_filter import filtered
from originset.crawler.browser.devtools import DevTools, DevToolsError, DevToolsLost, browser_endpoint, open_devtools
from originset.crawler.browser.engine import Sandbox, command_in, find_binary, flags, sandbox
from originset.crawler.browser.scratch import scratch_folder
from originset.crawler.machine import private_memory
from originset.crawler.netlog import reading as netlog
from originset.crawler.netlog.stream import Event, NetLogStream
from originset.crawler.settings import VisitSettings
from originset.data.errors import BrowserError

# What connecting to an address that is not public fails with, and nothing else does: it becomes
# net::ERR_NETWORK_ACCESS_DENIED.
_PRIVATE_ERRNO = errno.EACCES


class Chromium:
    """One running browser. :meth:`kill` may be called from any thread; everything else from one."""

    def __init__(self, settings: VisitSettings) -> None:
        self.settings = settings
        self._stack = ExitStack()
        self._browsers: list[psutil.Process] = []
        self._child: subprocess.Popen[Any] | None = None  # the driver, or the browser itself
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
        self.netlog = NetLogStream(folder / "netlog", netlog.EVENT_NAMES)
        stack.callback(self.netlog.close)
        stack.callback(self._end)
        address = self._launch(folder)
        if self._killed.is_set():  # while it was starting
            self.kill()
        stack.callback(self.kill)
        try:
            self.product, socket = browser_endpoint(address)
            self.devtools: DevTools = stack.enter_context(open_devtools(socket))
            self._open_barrier(address)
        except (DevToolsLost, DevToolsError) as error:
            raise BrowserError(self.settings.browser, str(error)) from error

    def _launch(self, folder: Path) -> str:
        """Start the browser; where its DevTools listen."""
        settings = self.settings
        binary = find_binary(settings.browser)
        self.sandbox: Sandbox = "none" if binary is None and os.geteuid() == 0 else sandbox()
        refusal = 0 if settings.allow_private else _PRIVATE_ERRNO
        within = (*command_in(self.sandbox), *filtered(settings.family, refusal))
        own = (f"--user-data-dir={folder / 'profile'}", f"--log-net-log={folder / 'netlog'}")
        words = (*self.flags, *settings.extra_flags, *own)
        if binary is not None and settings.browser == "headless-shell":  # which chromedriver does not find pages in
            return launch.directly(settings, binary, within, words, folder, self._remember_browser)
        return launch.by_selenium(settings, binary, within, words, folder, self._remember_driver)

    def _remember_browser(self, process: subprocess.Popen[Any]) -> None:
        self._child = process
        with contextlib.suppress(psutil.Error):
            self._browsers = [psutil.Process(process.pid)]

    def _remember_driver(self, process: subprocess.Popen[Any]) -> None:
        self._child = process
        with contextlib.suppress(psutil.Error):
            self._browsers = psutil.Process(process.pid).children()

    @property
    def flags(self) -> tuple[str, ...]:
        """What it is told at the start, settings' own and paths aside."""
        return flags(self.settings.browser, self.sandbox, self.settings.third_party_cookies)

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
        """End the browser with all its processes at once; whoever waits for it finds it lost.

        Always before the driver: a driver that ends first leaves the browser behind.
        """
        self._killed.set()
        for browser in self._browsers:
            with contextlib.suppress(psutil.Error):
                family = [browser, *browser.children(recursive=True)]
                for process in family:
                    with contextlib.suppress(psutil.Error):
                        process.kill()

    def _end(self) -> None:
        """End the browser, then the driver, and wait until both are gone."""
        self.kill()
        if self._child is not None:
            self._child.kill()
            self._child.communicate()  # waits, and closes the pipes that selenium opened
        psutil.wait_procs(self._browsers, timeout=5)

    def _open_barrier(self, address: str) -> None:
        """A page of the browser's own, outside every visit, whose requests mark places in the NetLog."""
        self._barrier_url = f"http://{address}/json/version"
        self.barrier_port = int(address.rpartition(":")[2])
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

        NetLog writes in batches and by no timer, so a request of our own pushes out what waits and says where it ends.

        Raises:
            DevToolsLost: the browser does not answer.
        """
        url = f"{self._barrier_url}?{uuid.uuid4().hex}"
        mark = self.netlog.expect(url)
        try:
            result = self.devtools.call(
                "Network.loadNetworkResource",
                self._barrier,
                timeout_s,
                frameId=self._barrier_frame,
                url=url,
                options={"disableCache": True, "includeCredentials": False},
            )["resource"]
            if stream := result.get("stream"):
                self.devtools.send("IO.close", self._barrier, handle=stream)
            if not mark.wait(timeout_s):
                raise DevToolsLost("the browser's NetLog does not go on")
        finally:
            self.netlog.forget(url)

    def take_events(self) -> list[Event]:
        """NetLog events since the last call."""
        return self.netlog.take()

    @contextmanager
    def deadline(self, seconds: float) -> Iterator[None]:
        """Kill the browser if the block takes longer: whatever waits for it then ends with DevToolsLost."""
        timer = threading.Timer(seconds, self.kill)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
