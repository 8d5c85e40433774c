"""``originset dev testbed``: the command sees the testbed, and nothing is left of it."""

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from originset.cli.dev.testbed_command import command
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
    assert "shop.test" in done.stdout


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_it_leaves_nothing_when_it_is_killed(tmp_path: Path, number: signal.Signals) -> None:
    environment = {**outside(), "TMPDIR": str(tmp_path)}
    call = [sys.executable, "-m", "originset", "dev", "testbed", "--", "sh", "-c"]
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
    done = run("dev", "testbed", "--scenario", tmp_path / "wrong.toml", "true")
    assert done.returncode == 2
    assert done.stderr == f'originset: error: {tmp_path}/wrong.toml: host."a.test": Expected `object`, got `int`\n'
