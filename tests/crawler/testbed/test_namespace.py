"""Commands in namespaces of their own: what they see, what comes back, what is left."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import msgspec
import psutil
import pytest

import originset.crawler
from originset.crawler.testbed import namespace
from originset.crawler.testbed.rules.rule_text import parse
from originset.data.errors import MissingDependency

ETH_P_ALL = 3  # linux/if_ether.h
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
    assert namespace.in_namespace()
    monkeypatch.setenv("ORIGINSET_NAMESPACE", "net:[1]")
    assert not namespace.in_namespace()


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


# Whatever a command may try: names, TCP, datagrams, also by address, and to everybody on the link.
TRIES = """
import contextlib, socket, sys
away = (socket.AF_INET, f"203.0.113.{sys.argv[2]}"), (socket.AF_INET6, f"2001:db8::{sys.argv[2]}")
for family, address in away:
    for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
        with contextlib.suppress(OSError), socket.socket(family, kind) as one:
            one.settimeout(0.3)
            one.connect((address, 53))
            one.send(b"MARK-" + sys.argv[1].encode())
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
    one.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    for address in ("255.255.255.255", "198.18.0.3"):
        with contextlib.suppress(OSError):
            one.sendto(b"MARK-" + sys.argv[1].encode(), (address, 53))
with contextlib.suppress(OSError):
    socket.getaddrinfo(f"mark-{sys.argv[1]}.example", 443)
print("tried")
"""


@pytest.mark.testbed
def test_not_one_packet_leaves_its_namespace() -> None:
    """Every interface of the namespace around it is listened to while a command tries to get out."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL)) as everything:
        everything.setblocking(False)

        def heard() -> bytes:
            packets = []
            while True:
                try:
                    packets.append(everything.recv(65_536))
                except BlockingIOError:
                    return b"".join(packets)

        subprocess.run([sys.executable, "-c", TRIES, "here", "77"], check=True, capture_output=True)
        control = heard()
        assert b"MARK-here" in control, "what is sent out here is heard"
        assert socket.inet_aton("203.0.113.77") in control
        tried = subprocess.run(
            [sys.executable, "-c", RUN, sys.executable, "-c", TRIES, "inside", "99"],
            check=True,
            capture_output=True,
            text=True,
        )
        assert tried.stdout == "tried\n"
        inner = heard()
    for sign in (b"inside", socket.inet_aton("203.0.113.99"), socket.inet_pton(socket.AF_INET6, "2001:db8::99")):
        assert sign not in inner


@pytest.mark.testbed
@pytest.mark.parametrize(
    ("command", "code"),
    [
        (["sh", "-c", "exit 7"], 7),
        (["sh", "-c", "kill -KILL $$"], 128 + signal.SIGKILL),
        (["/no/such/program"], 127),
        (
            [
                sys.executable,
                "-c",
                "from originset.crawler.testbed.namespace import in_namespace; exit(int(in_namespace()) + 40)",
            ],
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


@pytest.fixture
def nobody(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., subprocess.CompletedProcess[str]]]:
    """Runs a command of the user nobody, with a Python that may be read by everybody and finds our packages by path."""
    if not Path("/proc/self/uid_map").read_text().split()[2].startswith("4294967295"):
        pytest.skip("needs root, to become somebody else")
    with tempfile.TemporaryDirectory(prefix="originset-nobody-") as folder:
        Path(folder).chmod(0o777)
        root = Path(originset.crawler.__file__).resolve().parents[1]
        Path(folder, "originset").mkdir(mode=0o755)
        for package in ("_originset/__init__.py", "crawler", "data"):
            Path(folder, "originset", Path(package).name).symlink_to(root / package)
        site_packages = Path(msgspec.__file__).resolve().parents[1]
        environment = {"PATH": os.environ["PATH"], "HOME": folder, "PYTHONPATH": f"{folder}:{site_packages}"}
        run = partial(
            subprocess.run,
            user=65534,
            group=65534,
            extra_groups=[],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
        )

        def may(python: str) -> bool:
            try:
                return run([python, "-c", "import originset.crawler, msgspec"], check=False).returncode == 0
            except OSError:
                return False

        python = next((one for one in (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}") if may(one)), None)
        if python is None:
            pytest.skip(f"the user nobody may not read {sys.executable} or the packages")
        yield lambda *words: run([python if word == "python" else word for word in words], check=False)


@pytest.mark.testbed
def test_an_ordinary_user_may_too(nobody: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    done = nobody("python", "-c", RUN, "sh", "-c", "id -u; ip -br link")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("0\n")
    assert "uplink" in done.stdout


@pytest.mark.testbed
@pytest.mark.browser
def test_an_ordinary_user_observes_rules(nobody: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    rules = "originset.crawler.testbed.rules"
    done = nobody("python", "-m", rules, "origin-complete", "--loads", "1", "--out", ".")
    assert done.returncode == 0, done.stderr
    seen = parse("origin-complete", nobody("cat", "origin-complete.md").stdout)
    assert {(cell.browser, cell.cookies): cell.used for one in seen.observed for cell in one.cells} == {
        ("chromium", "allowed"): (2,),
        ("chromium", "blocked"): (2,),
        ("firefox", "allowed"): (1,),
        ("firefox", "blocked"): (1,),
    }


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
