"""``originset lab``: the command sees the lab and its terminal's keys, and nothing is left of it."""

import os
import pty
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from originset.cli.lab.run_command import command
from originset.cli.pages.commands_page import split_help

pytestmark = pytest.mark.testbed


def eventually(condition: Callable[[], object], seconds: float = 20.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and not condition():
        time.sleep(0.02)
    return bool(condition())


def outside() -> dict[str, str]:
    """The environment of a command that is to make a namespace of its own."""
    return {name: value for name, value in os.environ.items() if name != "ORIGINSET_NAMESPACE"}


def test_its_example() -> None:
    call = [sys.executable, "-m", *shlex.split(split_help(command)[1])]
    done = subprocess.run(call, capture_output=True, text=True, env=outside(), check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "www.site7.test" in done.stdout


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_it_leaves_nothing_when_it_is_killed(tmp_path: Path, number: signal.Signals) -> None:
    environment = {**outside(), "TMPDIR": str(tmp_path)}
    call = [sys.executable, "-m", "originset", "lab", "run", "small_internet", "--", "sh", "-c"]
    script = f"getent hosts shop.test > {tmp_path}/found; touch {tmp_path}/up; sleep 1000"
    outer = subprocess.Popen([*call, script], env=environment)
    assert eventually((tmp_path / "up").exists)
    assert "151.101.1.10" in (tmp_path / "found").read_text()
    outer.send_signal(number)
    outer.wait(20)
    mine = str(tmp_path)
    assert eventually(
        lambda: not any(mine in " ".join(one.info["cmdline"] or []) for one in psutil.process_iter(["cmdline"]))
    )
    if number != signal.SIGKILL:
        assert list(tmp_path.glob("originset-testbed-*")) == []


def test_errors_are_one_line(run, tmp_path: Path) -> None:
    (tmp_path / "wrong.toml").write_text("[host]\n'a.test' = 1\n")
    done = run("lab", "run", tmp_path / "wrong.toml", "--", "true")
    assert done.returncode == 2
    assert done.stderr == f'originset: error: {tmp_path}/wrong.toml: host."a.test": Expected `object`, got `int`\n'


# Asks the lab for a name once it is interrupted, and ends.
INTERRUPTED = """
import signal, socket, sys
def end(*_):
    print(socket.gethostbyname("shop.test"), flush=True)
    sys.exit(5)
signal.signal(signal.SIGINT, end)
print("ready", flush=True)
while True:
    signal.pause()
"""
COMMAND = ("lab", "run", "small_internet", "--", sys.executable, "-c", INTERRUPTED)


class Terminal:
    """``originset`` on a terminal of its own."""

    def __init__(self, *arguments: str) -> None:
        self.seen = ""
        environment = {**outside(), "SHELL": "/bin/bash", "PS1": "ready$ "}
        self._child, self._terminal = pty.fork()
        if self._child == 0:
            os.execve(sys.executable, [sys.executable, "-m", "originset", *arguments], environment)  # noqa: S606

    def type(self, keys: str, then: str) -> None:
        """Type these and read until what is shown after that matches ``then``."""
        self.seen = ""
        os.write(self._terminal, keys.encode())
        while re.search(then, self.seen) is None:
            self.seen += os.read(self._terminal, 1 << 16).decode()

    def exit_code(self) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(self._child, 0)[1])


def test_a_shell_has_job_control() -> None:
    terminal = Terminal("lab", "shell", "thirty_sites")
    terminal.type("", r"[$#] $")
    assert "job control" not in terminal.seen
    # It says so when it goes on: an interrupt before that would reach the shell. It starts no process: a shell whose
    # child is stopped between vfork and exec does not stop itself.
    script = 'trap "echo go; echo on" CONT; echo re; echo ady; while :; do read line; done'
    terminal.type(f"sh -c '{script}'\n", r"re\s+ady")
    terminal.type("\x1a", "Stopped")
    terminal.type("fg\n", r"go\s+on")
    terminal.type("\x03", r"[$#] $")
    terminal.type("echo code=$? $(wc -l < $ORIGINSET_TESTBED/sites.txt)\n", "code=130 30")
    terminal.type("getent hosts www.site30.test\n", r"\d+\.20\.1\s+www")
    os.write(terminal._terminal, b"exit 7\n")
    assert terminal.exit_code() == 7


def test_an_interrupt_reaches_the_command_and_not_the_lab() -> None:
    terminal = Terminal(*COMMAND)
    terminal.type("", "ready")
    terminal.type("\x1a\x03", "151.101.1.10")
    assert terminal.exit_code() == 5


def test_an_interrupt_without_a_terminal() -> None:
    call = [sys.executable, "-m", "originset", *COMMAND]
    outer = subprocess.Popen(call, env=outside(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    assert outer.stdout is not None
    with outer.stdout as said:
        assert said.readline() == "ready\n"
        outer.send_signal(signal.SIGINT)
        assert "151.101.1.10" in said.read()
    assert outer.wait(20) == 5


def test_no_such_command_or_scenario(run) -> None:
    done = run("lab", "run", "none.toml", "--", "true")
    assert done.returncode == 2
    assert "'none.toml' is no file, and none of thirty_sites, small_internet, captures, rough" in done.stderr
    call = [sys.executable, "-m", "originset", "lab", "run", "small_internet", "--", "/none/such"]
    done = subprocess.run(call, capture_output=True, text=True, env=outside(), check=False)
    assert done.stderr == "originset: error: /none/such cannot be run (No such file or directory)\n"
