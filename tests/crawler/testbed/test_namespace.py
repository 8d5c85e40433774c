"""Commands in namespaces of their own: what they see, what comes back, what is left."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import psutil
import pytest

from originset.crawler.testbed import namespace
from originset.data.errors import MissingDependency

RUN = "import sys; from originset.crawler.testbed.namespace import run_inside; sys.exit(run_inside(sys.argv[1:]))"


def eventually(condition: Callable[[], object], seconds: float = 20.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return bool(condition())


def processes_with(text: str) -> list[int]:
    return [
        process.pid
        for process in psutil.process_iter(["cmdline", "status"])
        if text in " ".join(process.info["cmdline"] or []) and process.info["status"] != psutil.STATUS_ZOMBIE
    ]


@pytest.mark.testbed
def test_inside_is_told_by_the_namespace_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    assert namespace.inside()
    monkeypatch.setenv("ORIGINSET_NAMESPACE", "net:[1]")
    assert not namespace.inside()


@pytest.mark.testbed
def test_every_interface_leads_nowhere_else() -> None:
    links = json.loads(subprocess.check_output(["ip", "-json", "link"]))
    # The peer of an interface in another namespace would be a number (link_index), not a name.
    assert {link["ifname"]: link.get("link") for link in links} == {
        "lo": None,
        "uplink": "nowhere",
        "nowhere": "uplink",
    }
    assert not any("link_netnsid" in link for link in links)


@pytest.mark.testbed
@pytest.mark.parametrize(
    ("command", "code"),
    [
        (["sh", "-c", "exit 7"], 7),
        (["sh", "-c", "kill -KILL $$"], 128 + signal.SIGKILL),
        (["/no/such/program"], 127),
        (
            [sys.executable, "-c", "from originset.crawler.testbed.namespace import inside; exit(int(inside()) + 40)"],
            41,
        ),
    ],
)
def test_the_exit_code_comes_back(command: list[str], code: int) -> None:
    assert namespace.run_inside(command) == code


@pytest.mark.testbed
def test_namespaces_do_not_see_one_another(tmp_path: Path) -> None:
    seen = tmp_path / "seen.json"
    namespace.run_inside(["sh", "-c", f"ip address add 203.0.113.7/32 dev lo; ip -json address > {seen}"])
    assert "203.0.113.7" in seen.read_text()
    assert "203.0.113.7" not in subprocess.check_output(["ip", "address"], text=True)


@pytest.mark.testbed
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_reaches_the_command_once(number: signal.Signals, tmp_path: Path) -> None:
    log = tmp_path / "signals"
    trap = """
        trap 'echo got >> "$0"' INT TERM
        echo ready > "$0"
        while test $(wc -l < "$0") -lt 2; do sleep 0.05; done
        sleep 0.3
        exit 5
    """
    outer = subprocess.Popen([sys.executable, "-c", RUN, "sh", "-c", trap, str(log)])
    assert eventually(lambda: log.exists() and log.read_text())
    outer.send_signal(number)
    assert outer.wait(20) == 5
    assert log.read_text().splitlines() == ["ready", "got"]


@pytest.mark.testbed
def test_nothing_outlives_a_killed_caller(tmp_path: Path) -> None:
    pause = f"100{os.getpid()}"
    # One that left its session and its parent, one that ignores what can be ignored.
    script = f"""
        (setsid sh -c 'sleep {pause}' &)
        trap '' INT TERM HUP
        touch {tmp_path}/up
        sleep {pause}
    """
    outer = subprocess.Popen([sys.executable, "-c", RUN, "sh", "-c", script])
    assert eventually((tmp_path / "up").exists)
    assert eventually(lambda: len(processes_with(f"sleep {pause}")) >= 2)
    outer.kill()
    outer.wait()
    assert eventually(lambda: not processes_with(pause))


@pytest.mark.testbed
@pytest.mark.skipif(not Path("/proc/self/uid_map").read_text().split()[2].startswith("4294967295"), reason="needs root")
def test_an_ordinary_user_may_too() -> None:
    run = partial(subprocess.run, user=65534, group=65534, extra_groups=[], cwd="/", capture_output=True, text=True)
    try:
        run([sys.executable, "-c", "import originset.crawler"], check=True)
    except (PermissionError, subprocess.CalledProcessError):
        pytest.skip(f"the user nobody may not read {sys.executable} or the packages")
    done = run([sys.executable, "-c", RUN, "sh", "-c", "id -u; ip -br link"], check=True)
    assert done.stdout.startswith("0\n")
    assert "uplink" in done.stdout


def test_a_missing_program_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingDependency) as caught:
        namespace.run_inside(["true"])
    assert str(caught.value) == "the program unshare is missing; run: apt-get install util-linux"


def test_a_missing_right_is_named_with_a_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    refusing = tmp_path / "unshare"
    refusing.write_text("#!/bin/sh\nexit 1\n")
    refusing.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(MissingDependency) as caught:
        namespace.run_inside(["true"])
    assert caught.value.what == "the right to make a network namespace"
    assert caught.value.command
    assert "\n" not in str(caught.value)
