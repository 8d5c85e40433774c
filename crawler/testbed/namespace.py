"""Run a command in network, mount and process namespaces of its own, as root or as an ordinary user.

The namespaces hold nothing but loopback and a pair of virtual interfaces that lead to each other, so nothing that the
command does reaches the outside, and every process that it started ends with it: its first process is ours, and the
kernel ends a process namespace with its first process.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType

from originset.crawler.programs import require_programs, search_path
from originset.data.errors import MissingDependency, TestbedError

_MARK = "ORIGINSET_NAMESPACE"
_PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

# Both ends are in the namespace. The addresses are set aside for benchmarks (RFC 2544, RFC 5180). Chromium asks for
# AAAA only if it finds a route to a global IPv6 address, and browsers think themselves offline with loopback alone.
# Link-local addresses would turn up a second later, and a browser that sees addresses change drops its connections.
_NETWORK = """\
link set lo up
link add uplink type veth peer name nowhere
link set uplink addrgenmode none
link set nowhere addrgenmode none
addr add 198.18.0.1/30 dev uplink
addr add 2001:2::1/64 dev uplink nodad
link set nowhere up
link set uplink up
route add default dev uplink
route add ::/0 dev uplink
"""


def in_namespace() -> bool:
    """Whether this process is in a namespace that ``run_inside`` made."""
    return os.environ.get(_MARK) == _network_namespace()


def run_inside(argv: Sequence[str], env: Mapping[str, str] | None = None) -> int:
    """Run ``argv`` in new namespaces and give its exit code (128 + N if signal N ended it).

    ``env`` is its whole environment (default: ours). SIGINT, SIGTERM and SIGHUP that reach us meanwhile are passed on
    to it; if we are killed, it is killed too, with all that it started.

    Raises ``MissingDependency`` where a program is missing, or the right to make namespaces.
    """
    require_programs("unshare", "ip", "mount")
    unshare = _unshare_command()
    # The inner process reads signals to pass on from this pipe; its end means that we are gone.
    reading, writing = os.pipe()
    try:
        process = subprocess.Popen(
            [*unshare, sys.executable, "-m", __spec__.name, str(reading), *argv],
            env=dict(os.environ if env is None else env),
            pass_fds=(reading,),
            # Else a terminal's Ctrl-C would reach the command twice, from the terminal and from us.
            start_new_session=True,
        )
        os.close(reading)
        with _PassedOn(writing):
            code = process.wait()
    finally:
        os.close(writing)
    return code if code >= 0 else 128 - code


def _unshare_command() -> list[str]:
    tail = ["--fork", "--mount-proc", "--kill-child", "--"]
    ways = [["unshare", "-nmp", *tail], ["unshare", "-rnmp", *tail]]
    for way in ways if os.geteuid() == 0 else ways[1:]:
        if subprocess.run([*way, "true"], capture_output=True, check=False).returncode == 0:
            return way
    raise MissingDependency("the right to make a network namespace", _permission_command())


def _permission_command() -> str:
    if os.geteuid() == 0:  # a container that was given too little
        return "docker run --privileged ... (this container may not make namespaces)"
    for name, value in (
        ("kernel.apparmor_restrict_unprivileged_userns", "0"),
        ("kernel.unprivileged_userns_clone", "1"),
        ("user.max_user_namespaces", "10000"),
    ):
        path = Path("/proc/sys", *name.split("."))
        if path.exists() and (int(path.read_text()) == 0) != (value == "0"):
            return f"sudo sysctl -w {name}={value}"
    return f"sudo {sys.argv[0]} ... (as root)"


def _network_namespace() -> str:
    return str(Path("/proc/self/ns/net").readlink())


class _PassedOn:
    """While entered, write the numbers of received signals into a pipe instead of acting on them."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe
        self._before: dict[signal.Signals, Callable[[int, FrameType | None], object] | int | None] = {}

    def __enter__(self) -> None:
        if threading.current_thread() is threading.main_thread():  # Python allows handlers nowhere else
            for number in _PASSED_ON:
                self._before[number] = signal.signal(number, self._write)

    def _write(self, number: int, _frame: object) -> None:
        try:
            os.write(self._pipe, bytes([number]))
        except BrokenPipeError:  # it has just ended by itself
            return

    def __exit__(self, *_exception: object) -> None:
        for number, handler in self._before.items():
            if handler is not None:  # None: it was not set by Python, which so cannot set it again
                signal.signal(number, handler)


def _first_process(control: int, argv: Sequence[str]) -> int:
    """What runs as process 1 of the namespaces: network up, start the command, pass signals on, reap, end with it."""
    os.environ["PATH"] = search_path()
    network = subprocess.run(["ip", "-batch", "-"], input=_NETWORK, text=True, capture_output=True, check=False)
    if network.returncode != 0:
        raise TestbedError(f"the namespace's network did not come up: {network.stderr.strip()}")
    os.environ[_MARK] = _network_namespace()
    os.set_inheritable(control, False)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    for handled in (*_PASSED_ON, signal.SIGCHLD):
        # The wake-up pipe tells. Without a handler, process 1 of a namespace would ignore them.
        signal.signal(handled, lambda *_: None)
    try:
        command = subprocess.Popen(list(argv), restore_signals=True)
    except OSError as error:
        sys.stderr.write(f"{argv[0]}: {error.strerror}\n")
        return 127
    while True:
        ready, _, _ = select.select([control, woken], [], [])
        numbers = b"".join(os.read(pipe, 64) for pipe in ready)
        if control in ready and not numbers:
            return 128 + signal.SIGKILL  # the outer process is gone
        for number in numbers:
            if number != signal.SIGCHLD:
                os.kill(command.pid, number)  # not send_signal: it may reap, and we would wait for ever
        code = _reap(command.pid)
        if code is not None:
            return code if code >= 0 else 128 - code


def _reap(command: int) -> int | None:
    """Collect every ended process, orphans of the command included; the command's own exit code once it ended."""
    result: int | None = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return result
        if pid == 0:
            return result
        if pid == command:
            result = os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    try:
        sys.exit(_first_process(int(sys.argv[1]), sys.argv[2:]))
    except TestbedError as problem:
        sys.stderr.write(f"{problem}\n")
        sys.exit(problem.exit_code)
