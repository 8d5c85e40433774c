"""The command prefix with which a browser runs under :mod:`originset.crawler.browsers.filtering_process`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

_PROGRAM = Path(__file__).with_name("filtering_process.py")
# A datagram's connect() sends nothing.
_PROBE = "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect(('127.0.0.1', 9))"


@cache
def can_filter() -> bool:
    """Whether the kernel lets us decide a program's connections and read their addresses from its memory."""
    probe = (sys.executable, "-I", "-S", "-c", _PROBE)
    return subprocess.run([*_command("4", 0), *probe], capture_output=True, check=False).returncode == 0


def filter_command(family: str | None, private: int, own: Iterable[str] = ()) -> tuple[str, ...]:
    """The words to put before a command that this process starts, so that its connections are filtered.

    Empty where nothing is refused. The kernel ends the command when this process ends.

    ``family``: ``4`` or ``6``, the only family that may be used; None or ``both`` for both. ``private``: the errno of a
    connection to an address that is not of the public internet; 0 if it may be made. ``own``: addresses of this
    machine, which are refused too: from here they reach servers that a firewall hides from others.
    """
    limited = family if family in {"4", "6"} else "any"
    return _command(limited, private, own) if private or limited != "any" else ()


def _command(family: str, private: int, own: Iterable[str] = ()) -> tuple[str, ...]:
    program = sys.executable, "-I", "-S", str(_PROGRAM)
    return *program, str(os.getpid()), family, str(private), ",".join(sorted(own))
