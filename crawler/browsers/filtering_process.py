"""A program that runs another one and decides each of its connections before the kernel makes it.

``python filtering_process.py PARENT FAMILY ERRNO OWN PROGRAM ...``. It decides every connect(), and every
sendto(), sendmsg() and sendmmsg() with an address, of the program and all its children (seccomp_unotify(2),
Linux 5.5; no privilege is needed).

PARENT: the process that starts it. When that ends, the kernel ends it and the program.

FAMILY ``4`` or ``6``: connections of the other family fail as on a machine without routes for it (ENETUNREACH).
Loopback and port 53 stay open in both families. ``any``: both may be used.

ERRNO: the error of a connection to an address that is not of the public internet; 0 if all may be connected to. The
name servers of resolv.conf stay open at port 53, where browsers open no pages. The decision is about the address that
the kernel is given, so neither a redirect nor a name whose answer has changed gets past it. OWN: addresses of this
machine that are refused too.

It runs as a script of its own, without the package around it, so it may import nothing but the standard library.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import importlib.util
import os
import platform
import select
import signal
import socket
import struct
import sys
from dataclasses import dataclass
from functools import cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import Any, NoReturn

Host = IPv4Address | IPv6Address


@dataclass(frozen=True)
class _SystemCalls:
    """Numbers of linux/audit.h and of the system call tables."""

    architecture: int
    seccomp: int
    connect: int
    sendto: int
    sendmsg: int
    sendmmsg: int


_SYSTEM_CALLS = {
    "x86_64": _SystemCalls(0xC000003E, 317, 42, 44, 46, 307),
    "aarch64": _SystemCalls(0xC00000B7, 277, 203, 206, 211, 269),
}

# linux/prctl.h, linux/seccomp.h
_SET_PDEATHSIG, _SET_NO_NEW_PRIVS = 1, 38
_SET_MODE_FILTER = 1
_SPEC_ALLOW, _NEW_LISTENER = 4, 8  # without the first, older kernels slow the whole program down
_ALLOW, _NOTIFY = 0x7FFF0000, 0x7FC00000
_RECEIVE, _SEND = 0xC0502100, 0xC0182101
_CONTINUE = 1
_NOTICE = struct.Struct("=QIIiIQ6Q")
_ANSWER = struct.Struct("=QqiI")

_DNS = 53
_LONGEST_ADDRESS = 128
_NAME_AND_LENGTH = struct.Struct("=QI")  # how struct msghdr begins
_MMSGHDR_BYTES = 64
_MAX_MESSAGES = 1024  # UIO_MAXIOV: of one sendmmsg()
# What browsers' channels between their own processes send with; those make thousands of calls, and name no address.
_CHANNEL_FLAGS = socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL

_RESOLV_CONF = Path("/etc/resolv.conf")
_SPECIAL_PURPOSE = Path(__file__).parents[2] / "data" / "reference" / "special_purpose.py"


@dataclass(frozen=True)
class ConnectionPolicy:
    """What is refused: see the module."""

    family: str
    private: int
    own: frozenset[Host] = frozenset()

    def refusal(self, address: bytes, *, connecting: bool = True) -> int:
        """The errno for a socket address as the kernel is given it; 0 where it may be used."""
        place = _endpoint(address, connecting=connecting)
        if place is None:
            return 0
        host, port = place
        is_near = host.is_loopback or host.is_unspecified
        if str(host.version) != self.family != "any" and port != _DNS and not is_near:
            return errno.ENETUNREACH
        if (
            self.private
            and (host in self.own or not _special_purpose().is_public_address(host))
            and not (port == _DNS and host in _name_servers())
        ):
            return self.private
        return 0


def _endpoint(address: bytes, *, connecting: bool) -> tuple[Host, int] | None:
    """Host and port of a socket address; None if it is of another kind, such as a path."""
    if len(address) < 8:
        return None
    kind, port = struct.unpack_from("=H", address)[0], struct.unpack_from(">H", address, 2)[0]
    # Without a family, a datagram goes to IPv4 all the same, and connect() ends a connection.
    if kind == socket.AF_INET or (kind == socket.AF_UNSPEC and not connecting):
        return IPv4Address(address[4:8]), port
    if kind == socket.AF_INET6 and len(address) >= 24:
        host = IPv6Address(address[8:24])
        return host.ipv4_mapped or host, port
    return None


@cache
def _special_purpose() -> Any:  # noqa: ANN401 - a module
    """data/reference/special_purpose.py, without the package around it."""
    spec = importlib.util.spec_from_file_location("special_purpose", _SPECIAL_PURPOSE)
    assert spec is not None and spec.loader is not None  # noqa: S101, PT018 - it is a file of ours
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _name_servers() -> set[Host]:
    """Those of resolv.conf(5) as it is now: machines move from one network to another."""
    found: set[Host] = set()
    text = _RESOLV_CONF.read_bytes().decode(errors="replace") if _RESOLV_CONF.exists() else ""
    for words in map(str.split, text.splitlines()):
        if words[:1] == ["nameserver"] and len(words) > 1:
            try:
                found.add(ip_address(words[1].partition("%")[0]))
            except ValueError:
                continue
    # Without any, the C library and Chromium ask this machine.
    return found or {IPv4Address("127.0.0.1"), IPv6Address("::1")}


def _filter_program(calls: _SystemCalls) -> bytes:
    """The classic BPF program that asks the listener about calls with an address, and permits all others."""

    def step(code: int, yes: int, no: int, value: int) -> bytes:
        return struct.pack("=HBBI", code, yes, no, value)

    load, equal, any_bit, give = 0x20, 0x15, 0x45, 0x06
    number, arch, arguments = 0, 4, 16  # offsets in struct seccomp_data; arguments are of 8 bytes
    return b"".join(
        (
            step(load, 0, 0, arch),
            step(equal, 0, 11, calls.architecture),  # to allow
            step(load, 0, 0, number),
            step(equal, 10, 0, calls.connect),  # to notify
            step(equal, 9, 0, calls.sendmmsg),
            step(equal, 0, 4, calls.sendto),  # to sendmsg
            step(load, 0, 0, arguments + 4 * 8),  # its address, in two halves
            step(equal, 0, 6, 0),
            step(load, 0, 0, arguments + 4 * 8 + 4),
            step(equal, 3, 4, 0),
            step(equal, 0, 2, calls.sendmsg),
            step(load, 0, 0, arguments + 2 * 8),  # its flags
            step(any_bit, 0, 1, _CHANNEL_FLAGS),
            step(give, 0, 0, _ALLOW),
            step(give, 0, 0, _NOTIFY),
        )
    )


class _BpfProgram(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def _install_filter(listener: socket.socket) -> None:
    """Have every further call of this process, and of what becomes of it, looked at by whoever gets the listener.

    Raises:
        OSError: the kernel does not do that, or not for us.
    """
    calls = _SYSTEM_CALLS[platform.machine()]
    steps = _filter_program(calls)
    program = _BpfProgram(len(steps) // 8, ctypes.cast(ctypes.c_char_p(steps), ctypes.c_void_p))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    notices = libc.syscall(calls.seccomp, _SET_MODE_FILTER, _NEW_LISTENER | _SPEC_ALLOW, ctypes.byref(program))
    if notices < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    # With a channel's flag: nobody answers yet for calls that are looked at.
    descriptor = (socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("=i", notices))
    listener.sendmsg([b"\0"], [descriptor], socket.MSG_NOSIGNAL)
    listener.close()
    os.close(notices)


def _end_with(parent: int) -> None:
    """Have the kernel end this process when its parent ends; end now if the parent ended before that was asked."""
    ctypes.CDLL(None).prctl(_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(128 + signal.SIGKILL)


def _run_program(command: list[str], listener: socket.socket, parent: int) -> NoReturn:
    _end_with(parent)
    what = "connections cannot be looked at"
    try:
        _install_filter(listener)
        what = command[0]
        os.execvp(command[0], command)  # noqa: S606 - that is what it is for
    except OSError as error:
        print(f"{what}: {error.strerror}", file=sys.stderr)  # noqa: T201 - a program of its own
    os._exit(126)


def _decide_call(policy: ConnectionPolicy, notices: int, calls: _SystemCalls) -> None:
    """Decide one call."""
    notice = bytearray(_NOTICE.size)
    try:
        fcntl.ioctl(notices, _RECEIVE, notice)
        number, process, _, call, _, _, *arguments = _NOTICE.unpack(notice)
        refused = _errno_of_call(policy, calls, process, call, arguments)
        fcntl.ioctl(notices, _SEND, _ANSWER.pack(number, 0, -refused, 0 if refused else _CONTINUE))
    except OSError as error:
        if error.errno not in {errno.ENOENT, errno.EINTR}:  # who asked is gone
            raise


def _errno_of_call(policy: ConnectionPolicy, calls: _SystemCalls, process: int, call: int, arguments: list[int]) -> int:
    """The errno of a call; 0 for one that may be made."""
    try:
        for place, length in _address_places(calls, process, call, arguments):
            address = _read_memory(process, place, min(length, _LONGEST_ADDRESS))
            if refused := policy.refusal(address, connecting=call == calls.connect):
                return refused
    except (OSError, OverflowError, struct.error):
        return errno.EFAULT  # what cannot be read cannot be judged
    return 0


def _address_places(calls: _SystemCalls, process: int, call: int, arguments: list[int]) -> list[tuple[int, int]]:
    """Where the addresses of a call are in the memory of its process, and how long they are."""
    if call == calls.connect:
        return [(arguments[1], arguments[2])]
    if call == calls.sendto:
        return [(arguments[4], arguments[5])]
    count = 1 if call == calls.sendmsg else min(arguments[2] & 0xFFFFFFFF, _MAX_MESSAGES)
    heads = _read_memory(process, arguments[1], count * _MMSGHDR_BYTES if count > 1 else _NAME_AND_LENGTH.size)
    found = [_NAME_AND_LENGTH.unpack_from(heads, start * _MMSGHDR_BYTES) for start in range(count)]
    return [(place, length) for place, length in found if place]


def _read_memory(process: int, place: int, length: int) -> bytes:
    with open(f"/proc/{process}/mem", "rb", buffering=0) as memory:  # noqa: PTH123 - a seek and a read
        memory.seek(place)
        return memory.read(length)


def _leave_pipes_to_the_program() -> None:
    """Who is at the other end of its input and output then learns when the program closes them, or ends."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1):
        os.dup2(nothing, descriptor)
    os.close(nothing)


def main(parent: int, policy: ConnectionPolicy, command: list[str]) -> int:
    """Run a command to its end; its exit code, as a shell gives it."""
    _end_with(parent)
    calls = _SYSTEM_CALLS[platform.machine()]
    ours, theirs = socket.socketpair()
    this = os.getpid()
    child = os.fork()
    if child == 0:
        _run_program(command, theirs, this)
    theirs.close()
    _leave_pipes_to_the_program()
    _, received, _, _ = socket.recv_fds(ours, 1, 1)
    if received:
        events = select.poll()
        events.register(received[0], select.POLLIN)
        while not events.poll()[0][1] & select.POLLHUP:  # which says that nobody is left to ask
            _decide_call(policy, received[0], calls)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    own_addresses = frozenset(ip_address(text) for text in sys.argv[4].split(",") if text)
    sys.exit(main(int(sys.argv[1]), ConnectionPolicy(sys.argv[2], int(sys.argv[3]), own_addresses), sys.argv[5:]))
