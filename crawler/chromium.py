"""A headless Chromium: started by selenium through chromedriver, steered over its own DevTools, its NetLog read live.

Selenium finds and starts it; WebDriver BiDi stays off, which would cost every visit half as much CPU again.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import subprocess
import tempfile
import threading
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self

import psutil
from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.remote.remote_connection import RemoteConnection

from originset.crawler import netlog
from originset.crawler.devtools import DevTools, DevToolsError, DevToolsLost, browser_endpoint, open_devtools
from originset.crawler.engine import Sandbox, command_in, find_binary, flags, sandbox
from originset.crawler.machine import private_memory
from originset.crawler.netlog_stream import Event, NetLogStream
from originset.crawler.settings import VisitSettings
from originset.data.errors import BrowserError

# sun_path of unix(7) holds 107 bytes, and Chromium's socket lies in a folder of its own within ours.
_LONGEST_ROOT = 107 - len("/originset-01234567/t/org.chromium.Chromium.scoped_dir.012345/SingletonSocket")


class Chromium:
    """One running browser. :meth:`kill` may be called from any thread; everything else from one."""

    def __init__(self, settings: VisitSettings) -> None:
        self.settings = settings
        self._stack = ExitStack()
        self._browsers: list[psutil.Process] = []
        self._driver_process: subprocess.Popen[Any] | None = None
        self._killed = threading.Event()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._start(stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    def _start(self, stack: ExitStack) -> None:
        folder = Path(
            stack.enter_context(
                tempfile.TemporaryDirectory(prefix="originset-", dir=_short_root(), ignore_cleanup_errors=True)
            )
        )
        self.netlog = NetLogStream(folder / "netlog", netlog.EVENT_NAMES)
        stack.callback(self.netlog.close)
        stack.callback(self._end)
        driver = self._driver(folder)
        if isinstance(driver.command_executor, RemoteConnection):
            stack.callback(driver.command_executor.close)
        stack.callback(self.kill)
        address = str(driver.capabilities["goog:chromeOptions"]["debuggerAddress"])
        try:
            self.product, socket = browser_endpoint(address)
            self.devtools: DevTools = stack.enter_context(open_devtools(socket))
            self._open_barrier(address)
        except (DevToolsLost, DevToolsError) as error:
            raise BrowserError(self.settings.browser, str(error)) from error

    def _driver(self, folder: Path) -> webdriver.Chrome:
        options = webdriver.ChromeOptions()
        binary, chromedriver = find_binary(self.settings.browser), shutil.which("chromedriver")
        self.sandbox: Sandbox = "none" if binary is None and os.geteuid() == 0 else sandbox()
        if binary is not None:
            options.binary_location = _ends_with_us(binary, folder / "chromium", command_in(self.sandbox))
        own = (f"--user-data-dir={folder / 'profile'}", f"--log-net-log={folder / 'netlog'}")
        for flag in (*self.flags, *self.settings.extra_flags, *own):
            options.add_argument(flag)
        # chromedriver's own idea; a popup is a page that nobody asked for.
        options.add_experimental_option("excludeSwitches", ["disable-popup-blocking"])
        cookie_controls = 0 if self.settings.third_party_cookies == "allowed" else 1
        options.add_experimental_option(
            "prefs",
            {
                "profile.cookie_controls_mode": cookie_controls,
                "search.suggest_enabled": False,
                "signin.allowed": False,
            },
        )
        scratch = folder / "t"  # the browser's own left-overs go with the folder
        scratch.mkdir()
        environment = {**os.environ, "TMPDIR": str(scratch), **self.settings.environment}
        service = Service(
            executable_path=None if chromedriver is None else _ends_with_us(chromedriver, folder / "chromedriver"),
            env=environment,
            # Ctrl-C in a terminal goes to the whole process group; when browsers end is ours to say.
            popen_kw={"start_new_session": True},
        )
        try:
            driver = webdriver.Chrome(options=options, service=service)
        except (WebDriverException, OSError) as error:
            raise BrowserError(self.settings.browser, f"it did not start ({_reason(error)})") from error
        finally:
            self._remember(service)
        if self._killed.is_set():  # while it was starting
            self.kill()
        return driver

    @property
    def flags(self) -> tuple[str, ...]:
        """What it is told at the start, settings' own and paths aside."""
        return flags(self.settings.browser, self.sandbox)

    def _remember(self, service: Service) -> None:
        process = service.process
        if process is None:
            return
        # What is ended by us needs no shutdown of selenium's, which waits for whole seconds.
        service.process = None  # type: ignore[assignment]  # selenium itself tests for None; only its annotation forgets
        self._driver_process = process
        with contextlib.suppress(psutil.Error):
            self._browsers = psutil.Process(process.pid).children()

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
        if self._driver_process is not None:
            self._driver_process.kill()
            self._driver_process.communicate()  # waits, and closes the pipes that selenium opened
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


def _ends_with_us(program: str, script: Path, within: tuple[str, ...] = ()) -> str:
    """A way to start ``program`` that the kernel ends when its parent ends, however that comes about.

    ``within`` is a command that starts another.
    """
    setpriv = shutil.which("setpriv")
    if setpriv is None and not within:
        return program
    # Within first: a new user namespace would make the kernel forget whose end is ours.
    words = [*within, *([] if setpriv is None else [setpriv, "--pdeathsig", "KILL", "--"]), program]
    script.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
    script.chmod(0o700)
    return str(script)


def _short_root() -> str | None:
    """Where temporary folders go: as the system says, unless Chromium's socket there would have too long a name."""
    return None if len(tempfile.gettempdir()) <= _LONGEST_ROOT else "/tmp"  # noqa: S108 - a folder of our own in it


def _reason(error: BaseException) -> str:
    text = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return text.removeprefix("Message: ").partition(";")[0]
