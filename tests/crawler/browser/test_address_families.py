"""Programs that are kept to one address family: what they reach, and that they end as they would without us."""

from __future__ import annotations

import signal
import socket
import struct
import subprocess
import sys
import time
from ipaddress import IPv4Address, IPv6Address

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from originset.crawler.browser.address_families import can_limit, is_cut_off, limited_to

pytestmark = pytest.mark.testbed

_REACH = """
import errno, socket, sys
for address in sys.argv[1:]:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    for call in ("connect", "sendto"):
        with socket.socket(family, socket.SOCK_DGRAM) as one:
            try:
                one.connect((address, 443)) if call == "connect" else one.sendto(b"x", (address, 443))
            except OSError as error:
                print(call, address, errno.errorcode[error.errno])
"""


def run(family: str, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*limited_to(family), *command], capture_output=True, text=True, check=False, timeout=60)


def test_the_other_family_has_no_routes() -> None:
    assert can_limit()
    addresses = ("192.0.2.99", "2001:db8::1", "127.0.0.1", "::ffff:192.0.2.99")
    for family, refused in (("4", ["2001:db8::1"]), ("6", ["192.0.2.99", "::ffff:192.0.2.99"])):
        # By a child of the program's: whatever it starts is looked at, too.
        ended = run(family, "sh", "-c", 'python=$1; shift; "$python" -c "$@"', "sh", sys.executable, _REACH, *addresses)
        expected = [f"{call} {address} ENETUNREACH" for address in refused for call in ("connect", "sendto")]
        assert (ended.returncode, ended.stdout.splitlines(), ended.stderr) == (0, expected, "")
    assert limited_to("both") == limited_to(None) == ()


def test_a_program_ends_as_it_does() -> None:
    assert run("4", "sh", "-c", "exit 7").returncode == 7
    assert run("4", "sh", "-c", "kill -9 $$").returncode == 128 + signal.SIGKILL
    missing = run("4", "/no/such/program")
    assert (missing.returncode, missing.stderr) == (126, "/no/such/program: No such file or directory\n")


def test_a_program_ends_with_its_watcher() -> None:
    with subprocess.Popen([*limited_to("6"), "sleep", "60"]) as watcher:
        process = psutil.Process(watcher.pid)
        while not (children := process.children()) or children[0].name() != "sleep":
            time.sleep(0.01)
        watcher.kill()
    psutil.wait_procs(children, timeout=10)
    assert not children[0].is_running() or children[0].status() == psutil.STATUS_ZOMBIE


def test_a_pipe_is_the_programs_alone() -> None:
    with subprocess.Popen([*limited_to("6"), "sh", "-c", "exec >&-; exec sleep 60"], stdout=subprocess.PIPE) as watcher:
        assert watcher.stdout is not None
        assert watcher.stdout.read() == b"", "it ends where the program closes it"
        assert watcher.poll() is None
        watcher.kill()


@given(st.ip_addresses(), st.integers(0, 65535))
def test_what_is_cut_off(address: IPv4Address | IPv6Address, port: int) -> None:
    packed, version = address.packed, address.version
    head = struct.pack("=H", socket.AF_INET if version == 4 else socket.AF_INET6) + struct.pack(">H", port)
    given_to_kernel = head + (packed + bytes(8) if version == 4 else bytes(4) + packed + bytes(4))
    for family in ("4", "6"):
        cut = is_cut_off(family, given_to_kernel)
        assert not cut or port != 53
        assert not cut or not address.is_loopback
    # No address is cut off from both, and none that is far away from neither.
    both = [is_cut_off(family, given_to_kernel) for family in ("4", "6")]
    near = address.is_loopback or address.is_unspecified or port == 53
    mapped = getattr(address, "ipv4_mapped", None)
    assert sum(both) == (0 if near or (mapped and (mapped.is_loopback or mapped.is_unspecified)) else 1)


@given(st.binary(max_size=30))
def test_what_is_no_address_is_let_through(text: bytes) -> None:
    if not text.startswith((struct.pack("=H", socket.AF_INET), struct.pack("=H", socket.AF_INET6))):
        assert not is_cut_off("4", text)
    assert not is_cut_off("6", text[:7])
