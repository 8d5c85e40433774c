"""A command in a session of its own, with a terminal of its own where this process has one.

So what a terminal sends at Ctrl-C reaches the command and nothing else, and a shell has job control.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import subprocess
import termios
import tty
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from originset.data.errors import TestbedError

_LOOK_S = 0.5  # how often the size of the window is compared, and whether the command has ended
_READ_BYTES = 1 << 16


def run_in_session(command: Sequence[str], environment: Mapping[str, str], *, job_control: bool) -> int:
    """Run a command and give its exit code, 128 + N if signal N ended it. SIGINT to this process is passed on to it.

    Standard streams that are terminals lead to the command's own; others are the command's as they are.
    ``job_control``: Ctrl-Z stops what runs there, which is for shells; else it is a character like others.

    Raises:
        TestbedError: there is no such command.
    """
    if os.isatty(0):
        code = _run_in_terminal(command, environment, job_control=job_control)
    else:
        process = _start(command, environment)
        with _interrupts_to(process):
            code = process.wait()
    return code if code >= 0 else 128 - code


def _run_in_terminal(command: Sequence[str], environment: Mapping[str, str], *, job_control: bool) -> int:
    ours, theirs = os.openpty()
    attributes = termios.tcgetattr(0)
    _prepare(theirs, attributes, job_control=job_control)
    shown = [theirs if os.isatty(stream) else None for stream in (1, 2)]
    process = _start(command, environment, (theirs, *shown), lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    os.close(theirs)
    tty.setraw(0)
    try:
        with _interrupts_to(process):
            _relay(ours, process)
            return process.wait()
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, attributes)
        os.close(ours)


def _prepare(terminal: int, attributes: list[Any], *, job_control: bool) -> None:
    *modes, characters = attributes
    if not job_control:
        characters = list(characters)
        characters[termios.VSUSP] = b"\0"  # nobody would continue what Ctrl-Z stopped
    termios.tcsetattr(terminal, termios.TCSANOW, [*modes, characters])
    termios.tcsetwinsize(terminal, termios.tcgetwinsize(0))


def _start(
    command: Sequence[str],
    environment: Mapping[str, str],
    streams: tuple[int | None, ...] = (None, None, None),
    before: Callable[[], object] | None = None,
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command,
            env=environment,
            stdin=streams[0],
            stdout=streams[1],
            stderr=streams[2],
            start_new_session=True,
            preexec_fn=before,  # noqa: PLW1509 - no other thread runs yet
        )
    except OSError as error:
        raise TestbedError(f"{command[0]} cannot be run ({error.strerror})") from error


def _relay(terminal: int, process: subprocess.Popen[bytes]) -> None:
    """Copy between this process's terminal and the command's until that ends."""
    shown = next((stream for stream in (1, 2) if os.isatty(stream)), 0)
    while True:
        ready, _, _ = select.select([0, terminal], [], [], _LOOK_S)
        if terminal in ready:
            try:
                written = os.read(terminal, _READ_BYTES)
            except OSError:  # nobody has it open any more
                return
            os.write(shown, written)
        elif process.poll() is not None:  # what it left in the background may have it open still
            return
        if 0 in ready:
            os.write(terminal, os.read(0, _READ_BYTES))
        if (size := termios.tcgetwinsize(0)) != termios.tcgetwinsize(terminal):
            termios.tcsetwinsize(terminal, size)


@contextmanager
def _interrupts_to(process: subprocess.Popen[bytes]) -> Iterator[None]:
    def interrupt(*_: object) -> None:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
