"""A program kept to one address family: the other looks to it as it does on a machine that has no routes of it.

``python address_families.py 4 PROGRAM ...``. A process beside it decides every connect() and every sendto() that names
an address, of the program and all its children (seccomp_unotify(2), Linux 5.5; no privilege is needed). The browser
finds out in its own way: without IPv6 it asks for no AAAA, without IPv4 it passes over the addresses that are of it.
Loopback and port 53 stay open in both families: DevTools and the resolver may be of the other one, and browsers open no
pages at that port.

It runs as a script of its own, without the package around it, so it may import nothing but the standard library.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import ipaddress
import os
import platform
import select
import signal
import socket
import struct
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import NoReturn

# Numbers of linux/audit.h and the system call tables: architecture, seccomp, connect, sendto.
_MACHINES = {"x86_64": (0xC000003E, 317, 42, 44), "aarch64": (0xC00000B7, 277, 203, 206)}

# linux/prctl.h, linux/seccomp.h
_SET_PDEATHSIG, _SET_NO_NEW_PRIVS = 1, 38
_SET_MODE_FILTER, _NEW_LISTENER = 1, 8
_ALLOW, _NOTIFY = 0x7FFF0000, 0x7FC00000
_RECEIVE, _SEND = 0xC0502100, 0xC0182101
_CONTINUE = 1
_NOTICE = struct.Struct("=QIIiIQ6Q")
_ANSWER = struct.Struct("=QqiI")

# Anybody's on the internet: nothing is sent to them.
_FAR = ((socket.AF_INET, "8.8.8.8"), (socket.AF_INET6, "2001:4860:4860::8888"))
_DNS = 53
_LONGEST_ADDRESS = 128


def families() -> str | None:
    """The address families in which this machine has a way to the internet: 4, 6 or both; None if neither.

    It asks the routing table what Chromium asks it before it decides whether to look up IPv6 addresses.
    """
    reached = []
    for family, address in _FAR:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect((address, 443))
            except OSError:
                continue
        reached.append("4" if family is socket.AF_INET else "6")
    return "both" if len(reached) == 2 else reached[0] if reached else None


@cache
def can_limit() -> bool:
    """Whether this machine lets a program be kept to one family."""
    return subprocess.run([*_command("4"), "true"], capture_output=True, check=False).returncode == 0


def limited_to(family: str | None) -> tuple[str, ...]:
    """The command that starts another one with ``4`` or ``6`` alone; empty where there is nothing to cut off."""
    return _command(family) if family in {"4", "6"} and families() != family else ()


def _command(family: str) -> tuple[str, ...]:
    return sys.executable, "-I", "-S", str(Path(__file__)), family


def is_cut_off(family: str, address: bytes) -> bool:
    """Whether a socket address, as the kernel is given it, is one that a program of ``family`` has no way to."""
    if len(address) < 8:
        return False
    kind, port = struct.unpack_from("=H", address)[0], struct.unpack_from(">H", address, 2)[0]
    host: ipaddress.IPv4Address | ipaddress.IPv6Address
    if kind == socket.AF_INET:
        host = ipaddress.IPv4Address(address[4:8])
    elif kind == socket.AF_INET6 and len(address) >= 24:
        host = ipaddress.IPv6Address(address[8:24])
        host = host.ipv4_mapped or host
    else:
        return False
    return str(host.version) != family and port != _DNS and not (host.is_loopback or host.is_unspecified)


def _filter(architecture: int, connect: int, sendto: int) -> bytes:
    """The classic BPF program that asks the listener about calls with an address, and permits all others."""

    def step(code: int, yes: int, no: int, value: int) -> bytes:
        return struct.pack("=HBBI", code, yes, no, value)

    load, equal, give = 0x20, 0x15, 0x06
    number, arch, address = 0, 4, 16 + 4 * 8  # offsets in struct seccomp_data; sendto's fifth argument, in two halves
    return b"".join(
        (
            step(load, 0, 0, arch),
            step(equal, 0, 7, architecture),
            step(load, 0, 0, number),
            step(equal, 6, 0, connect),
            step(equal, 0, 4, sendto),
            step(load, 0, 0, address),
            step(equal, 0, 3, 0),
            step(load, 0, 0, address + 4),
            step(equal, 0, 1, 0),
            step(give, 0, 0, _ALLOW),
            step(give, 0, 0, _NOTIFY),
        )
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def _limit(listener: socket.socket) -> None:
    """Have every further call of this process, and of what becomes of it, looked at by whoever gets the listener.

    Raises:
        OSError: the kernel does not do that, or not for us.
    """
    architecture, seccomp, connect, sendto = _MACHINES[platform.machine()]
    steps = _filter(architecture, connect, sendto)
    program = _Program(len(steps) // 8, ctypes.cast(ctypes.c_char_p(steps), ctypes.c_void_p))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    libc.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    notices = libc.syscall(seccomp, _SET_MODE_FILTER, _NEW_LISTENER, ctypes.byref(program))
    if notices < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    socket.send_fds(listener, [b"\0"], [notices])
    listener.close()
    os.close(notices)


def _become(command: list[str], listener: socket.socket) -> NoReturn:
    what = "address families cannot be limited"
    try:
        _limit(listener)
        what = command[0]
        os.execvp(command[0], command)  # noqa: S606 - that is what it is for
    except OSError as error:
        print(f"{what}: {error.strerror}", file=sys.stderr)  # noqa: T201 - a program of its own
    os._exit(126)


def _answer(family: str, notices: int, connect: int) -> None:
    """Decide one call."""
    notice = bytearray(_NOTICE.size)
    try:
        fcntl.ioctl(notices, _RECEIVE, notice)
        number, process, _, call, _, _, *arguments = _NOTICE.unpack(notice)
        place, length = arguments[1:3] if call == connect else arguments[4:6]
        refused = is_cut_off(family, _memory(process, place, min(length, _LONGEST_ADDRESS)))
        answer = _ANSWER.pack(number, 0, -errno.ENETUNREACH if refused else 0, 0 if refused else _CONTINUE)
        fcntl.ioctl(notices, _SEND, answer)
    except OSError as error:
        if error.errno not in {errno.ENOENT, errno.EINTR}:  # who asked is gone
            raise


def _memory(process: int, place: int, length: int) -> bytes:
    try:
        with open(f"/proc/{process}/mem", "rb", buffering=0) as memory:  # noqa: PTH123 - a seek and a read
            memory.seek(place)
            return memory.read(length)
    except (OSError, OverflowError):
        return b""  # a sandboxed process: it has no network; one that is gone; an address that is none


def _leave_pipes_to_the_program() -> None:
    """Who is at the other end of its input and output then learns when the program closes them, or ends."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1):
        os.dup2(nothing, descriptor)
    os.close(nothing)


def main(family: str, command: list[str]) -> int:
    """Run a command to its end; its exit code, as a shell gives it."""
    connect = _MACHINES[platform.machine()][2]
    ctypes.CDLL(None).prctl(_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        _become(command, theirs)
    theirs.close()
    _leave_pipes_to_the_program()
    _, received, _, _ = socket.recv_fds(ours, 1, 1)
    if received:
        events = select.poll()
        events.register(received[0], select.POLLIN)
        while not events.poll()[0][1] & select.POLLHUP:  # which says that nobody is left to ask
            _answer(family, received[0], connect)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
