"""Deadlines hold while the interpreter does nothing else, and end what they are for."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import pytest
from interpreter_hold import ends_while_held

from originset.crawler.browsers import watchdog
from originset.crawler.browsers.chromium import Chromium
from originset.crawler.browsers.watchdog import Deadline
from originset.crawler.settings import VisitSettings

SLEEP = "import time; time.sleep(600)"


@contextmanager
def family() -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A process, and its child's number."""
    code = f"import subprocess, sys; p = subprocess.Popen([sys.executable, '-c', {SLEEP!r}]); print(p.pid); p.wait()"
    with subprocess.Popen([sys.executable, "-uc", code], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        child = psutil.Process(int(process.stdout.readline()))
        try:
            yield process, child.pid
        finally:
            process.kill()
            if child.is_running():
                child.kill()


@pytest.mark.promise("deadlines-hold")
def test_a_deadline_holds_while_the_interpreter_is_held() -> None:
    ended = threading.Event()
    with family() as (process, child):
        with Deadline([process.pid], 1.0, ended.set) as deadline:
            assert ends_while_held(child)
            assert process.wait() == -signal.SIGKILL
            assert deadline.passed
            assert not ended.is_set()
        assert ended.is_set()


def test_deadlines_are_each_their_own() -> None:
    ended = threading.Event()
    with family() as (one, _), family() as (other, child):
        with Deadline([other.pid], 600.0, ended.set) as later:
            with Deadline([one.pid], 0.5, lambda: None):
                assert one.wait() == -signal.SIGKILL
            assert not later.passed
        with Deadline([one.pid], 600.0, ended.set):
            assert other.poll() is None
            assert psutil.Process(child).is_running()
    assert not ended.is_set()


def test_a_block_that_ends_in_time_ends_nothing() -> None:
    with family() as (one, _), family() as (other, _):
        with Deadline([one.pid], 1.0, lambda: None):
            pass
        with Deadline([other.pid], 2.0, lambda: None):  # longer than the first would have been
            other.wait()
        assert one.poll() is None


def test_a_watchdog_that_was_killed_is_started_again() -> None:
    with family() as (process, _):
        with Deadline([process.pid], 600.0, lambda: None):
            assert watchdog._WATCHDOG._process is not None
            os.kill(watchdog._WATCHDOG._process.pid, signal.SIGKILL)
            watchdog._WATCHDOG._process.wait()
        with Deadline([process.pid], 0.5, lambda: None):
            assert process.wait() == -signal.SIGKILL


def test_it_ends_with_us_and_takes_along_what_it_was_told_of() -> None:
    code = (
        "import os, sys; from originset.crawler.browsers import watchdog;"
        "watchdog.Deadline([int(sys.argv[1])], 600, print).__enter__();"
        "print(watchdog._WATCHDOG._process.pid, flush=True); input()"
    )
    with family() as (process, _):
        command = [sys.executable, "-c", code, str(process.pid)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
            assert other.stdout is not None
            beside = psutil.Process(int(other.stdout.readline()))
            assert process.poll() is None
            other.kill()
        assert process.wait() == -signal.SIGKILL
        gone, _ = psutil.wait_procs([beside], timeout=60)
        assert gone == [beside]


@pytest.mark.promise("deadlines-hold")
@pytest.mark.browser
def test_a_browser_is_gone_at_its_deadline() -> None:
    with Chromium(VisitSettings()) as chromium:
        (root,) = chromium.pids
        processes = [root, *(one.pid for one in psutil.Process(root).children(recursive=True))]
        assert len(processes) > 3
        with chromium.deadline(1.0):
            assert all(map(ends_while_held, processes))
        assert chromium.killed


def test_the_hold_is_one() -> None:
    """No other thread comes to anything meanwhile: otherwise the tests above would show nothing."""
    process = subprocess.Popen([sys.executable, "-c", SLEEP])
    timer = threading.Timer(0.2, process.kill)
    timer.start()
    try:
        assert not ends_while_held(process.pid, patience_s=2)
    finally:
        timer.join()
        process.wait()
