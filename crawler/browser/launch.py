"""Starting a Chromium: by selenium through chromedriver, or, where chromedriver cannot, by itself.

Either way the kernel ends it when we end, its temporary files are in our folder, and its DevTools listen on loopback.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.remote.remote_connection import RemoteConnection

from originset.crawler.settings import VisitSettings
from originset.data.errors import BrowserError

Remember = Callable[[subprocess.Popen[Any]], None]

_START_S = 60.0
_LOOK_S = 0.01


def ends_with_us(program: str, within: tuple[str, ...] = ()) -> list[str]:
    """A way to start ``program`` that the kernel ends when its parent ends, however that comes about."""
    setpriv = shutil.which("setpriv")
    # Within first: a new user namespace would make the kernel forget whose end is ours.
    return [*within, *([] if setpriv is None else [setpriv, "--pdeathsig", "KILL", "--"]), program]


def by_selenium(  # noqa: PLR0917 - what a start needs
    settings: VisitSettings,
    binary: str | None,
    within: tuple[str, ...],
    flags: Sequence[str],
    folder: Path,
    remember: Remember,
) -> str:
    """The address of a new browser's DevTools. ``remember`` is told the driver's process, whose child the browser is.

    ``within`` is a command that starts another. Without ``binary`` or chromedriver, Selenium Manager finds them.

    Raises:
        BrowserError: it did not start.
    """
    options = webdriver.ChromeOptions()
    chromedriver = shutil.which("chromedriver")
    if binary is not None:
        options.binary_location = _script(ends_with_us(binary, within), folder / "chromium")
    for flag in flags:
        options.add_argument(flag)
    # chromedriver's own idea; a popup is a page that nobody asked for.
    options.add_experimental_option("excludeSwitches", ["disable-popup-blocking"])
    options.add_experimental_option(
        "prefs",
        {
            "profile.cookie_controls_mode": 0 if settings.third_party_cookies == "allowed" else 1,
            "search.suggest_enabled": False,
            "signin.allowed": False,
        },
    )
    service = Service(
        executable_path=None if chromedriver is None else _script(ends_with_us(chromedriver), folder / "chromedriver"),
        env=_environment(settings, folder),
        # Ctrl-C in a terminal goes to the whole process group; when browsers end is ours to say.
        popen_kw={"start_new_session": True},
    )
    try:
        driver = webdriver.Chrome(options=options, service=service)
    except (WebDriverException, OSError) as error:
        raise BrowserError(settings.browser, f"it did not start ({_reason(error)})") from error
    finally:
        if service.process is not None:
            # What is ended by us needs no shutdown of selenium's, which waits for whole seconds.
            process, service.process = service.process, None  # type: ignore[assignment]  # selenium tests for None
            remember(process)
    if isinstance(driver.command_executor, RemoteConnection):
        driver.command_executor.close()  # type: ignore[no-untyped-call]  # selenium has no annotation here
    return str(driver.capabilities["goog:chromeOptions"]["debuggerAddress"])


def directly(  # noqa: PLR0917 - what a start needs
    settings: VisitSettings,
    binary: str,
    within: tuple[str, ...],
    flags: Sequence[str],
    folder: Path,
    remember: Remember,
) -> str:
    """As :func:`by_selenium`, without a driver: ``remember`` is told the browser's own process.

    Raises:
        BrowserError: it did not start.
    """
    profile, words = folder / "profile", folder / "stderr.txt"
    command = [*ends_with_us(binary, within), *flags, "--remote-debugging-port=0", "about:blank"]
    with words.open("wb") as errors:
        try:
            process = subprocess.Popen(
                command,
                env=_environment(settings, folder),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
            )
        except OSError as error:
            raise BrowserError(settings.browser, f"it did not start ({error})") from error
    remember(process)
    deadline = time.monotonic() + _START_S
    # Two lines: the port that the system chose, and the path of the browser's own endpoint.
    told = profile / "DevToolsActivePort"
    while time.monotonic() < deadline and process.poll() is None:
        if told.exists() and len(lines := told.read_text(encoding="ascii").split("\n")) == 2:
            return f"127.0.0.1:{int(lines[0])}"
        time.sleep(_LOOK_S)
    last = (words.read_text(errors="replace").strip().splitlines() or ["no message"])[-1]
    raise BrowserError(settings.browser, f"it did not start ({last})")


def _environment(settings: VisitSettings, folder: Path) -> dict[str, str]:
    scratch = folder / "t"  # the browser's own left-overs go with the folder
    scratch.mkdir()
    return {**os.environ, "TMPDIR": str(scratch), **settings.environment}


def _script(words: list[str], place: Path) -> str:
    """A program that does what these words say; selenium takes no more than one."""
    if len(words) == 1:
        return words[0]
    place.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
    place.chmod(0o700)
    return str(place)


def _reason(error: BaseException) -> str:
    text = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return text.removeprefix("Message: ").partition(";")[0]
