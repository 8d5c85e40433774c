"""No other user of the machine steers a browser of ours: none listens on TCP, and no other user opens its files."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from other_user import as_another_user, descendants, listening_ports, obedient, openable

from originset.crawler.settings import BrowserName, VisitSettings
from originset.crawler.visits.visit_browsers import Browser, browser_for

pytestmark = pytest.mark.browser

BROWSERS: list[BrowserName] = ["chromium", "headless-shell", "firefox"]


@contextmanager
def running(name: BrowserName) -> Iterator[tuple[Browser, set[psutil.Process]]]:
    """A browser, and all processes that were started for it."""
    before = descendants()
    with browser_for(VisitSettings(browser=name)) as browser:
        started = descendants() - before
        assert len(started) > 2
        yield browser, started


def below(folder: Path) -> list[Path]:
    return [folder, *(Path(at, name) for at, folders, files in os.walk(folder) for name in (*folders, *files))]


@pytest.fixture(params=BROWSERS)
def name(request: pytest.FixtureRequest) -> BrowserName:
    browser: BrowserName = request.param
    return browser


@pytest.mark.promise("crawls-listen-nowhere")
def test_a_browser_listens_at_no_port(name: BrowserName) -> None:
    with running(name) as (_, processes):
        assert listening_ports(processes) == []


@pytest.mark.promise("browsers-obey-their-user")
def test_another_user_finds_nothing_that_obeys(name: BrowserName) -> None:
    with running(name) as (_, processes):
        ports = listening_ports([psutil.Process(), *processes])
        assert as_another_user(lambda: {port: what for port in ports if (what := obedient(port))}) == {}


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for profiles that others may enter, as they may /tmp."""
    folder = Path(tempfile.mkdtemp(prefix="private-"))
    folder.chmod(0o755)
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    yield folder
    shutil.rmtree(folder)


@pytest.mark.promise("browsers-obey-their-user")
def test_another_user_opens_no_file_or_socket_of_a_browser(name: BrowserName, root: Path) -> None:
    with running(name):
        paths = below(root)[1:]
        assert any(path.is_socket() or path.is_fifo() for path in paths)
        assert as_another_user(lambda: os.access(root, os.R_OK))
        assert as_another_user(lambda: openable(paths)) == []


@pytest.mark.promise("browsers-obey-their-user")
def test_another_user_reads_no_descriptor_of_a_browser(name: BrowserName) -> None:
    with running(name) as (_, processes):
        pids = [process.pid for process in processes if process.is_running()]

        def readable() -> list[int]:
            return [pid for pid in pids if os.access(f"/proc/{pid}/fd", os.R_OK)]

        assert as_another_user(readable) == []
