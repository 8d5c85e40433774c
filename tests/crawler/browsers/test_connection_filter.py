"""Programs whose connections are looked at: what they reach, and that they end as they would without us."""

from __future__ import annotations

import errno
import signal
import socket
import struct
import subprocess
import sys
import time
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from originset.crawler.browsers import filtering_process
from originset.crawler.browsers.connection_filter import can_filter, filter_command
from originset.crawler.browsers.filtering_process import ConnectionPolicy
from originset.data.reference.special_purpose import is_public

pytestmark = pytest.mark.testbed

# Every call that names an address, for each of the addresses: the call, the address and what came of it.
_REACH = """
import ctypes, errno, socket, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
def sendmmsg(one, address):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    host = socket.inet_pton(family, address)
    name = struct.pack("=H", family) + struct.pack(">H", 443)
    name += bytes(4) + host + bytes(4) if ":" in address else host + bytes(8)
    name = ctypes.create_string_buffer(name, len(name))
    text = ctypes.create_string_buffer(b"x", 1)
    vector = ctypes.create_string_buffer(struct.pack("@QQ", ctypes.addressof(text), 1), 16)
    # The first message names nobody, so the second has to be looked at, too.
    bare = struct.pack("@QI4xQQQQi4xI4x", 0, 0, ctypes.addressof(vector), 1, 0, 0, 0, 0)
    full = struct.pack("@QI4xQQQQi4xI4x", ctypes.addressof(name), len(name), ctypes.addressof(vector), 1, 0, 0, 0, 0)
    if libc.sendmmsg(one.fileno(), bare + full, 2, 0) < 0 and ctypes.get_errno() != errno.EDESTADDRREQ:
        raise OSError(ctypes.get_errno(), "")
calls = {
    "connect": lambda one, address: one.connect((address, 443)),
    "sendto": lambda one, address: one.sendto(b"x", (address, 443)),
    "sendmsg": lambda one, address: one.sendmsg([b"x"], [], 0, (address, 443)),
    "sendmmsg": sendmmsg,
}
for address in sys.argv[1:]:
    for name, call in calls.items():
        with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM) as one:
            try:
                call(one, address)
            except OSError as error:
                print(name, address, errno.errorcode[error.errno])
"""
CALLS = ("connect", "sendto", "sendmsg", "sendmmsg")
REFUSED = errno.EACCES
# Nothing answers at any of them; what counts is whether the kernel is asked to send.
PUBLIC = ("104.20.7.1", "2606:4700::1", "::ffff:104.20.7.1")
PRIVATE = (
    "127.0.0.1",
    "10.0.0.1",
    "169.254.169.254",
    "192.0.0.8",
    "::1",
    "::ffff:127.0.0.1",
    "fd00::1",
    "0.0.0.0",  # noqa: S104 - an address to connect to
    "::",
)


def run(command: tuple[str, ...], *program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*command, *program], capture_output=True, text=True, check=False, timeout=60)


def reached(command: tuple[str, ...], *addresses: str) -> list[str]:
    """By a child of the program's: whatever it starts is looked at, too."""
    ended = run(command, "sh", "-c", 'python=$1; shift; "$python" -c "$@"', "sh", sys.executable, _REACH, *addresses)
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout.splitlines()


def test_the_other_family_has_no_routes() -> None:
    assert can_filter()
    addresses = ("192.0.2.99", "2001:db8::1", "127.0.0.1", "::ffff:192.0.2.99")
    for family, refused in (("4", ["2001:db8::1"]), ("6", ["192.0.2.99", "::ffff:192.0.2.99"])):
        expected = [f"{call} {address} ENETUNREACH" for address in refused for call in CALLS]
        assert reached(filter_command(family, 0), *addresses) == expected
    assert filter_command("both", 0) == filter_command(None, 0) == ()


@pytest.mark.promise("pages-stay-public")
def test_what_is_not_public_is_refused() -> None:
    expected = [f"{call} {address} EACCES" for address in PRIVATE for call in CALLS]
    assert reached(filter_command(None, REFUSED), *PRIVATE, *PUBLIC) == expected
    assert reached(filter_command("4", REFUSED), "10.0.0.1", "2606:4700::1", "104.20.7.1") == [
        *(f"{call} 10.0.0.1 EACCES" for call in CALLS),
        *(f"{call} 2606:4700::1 ENETUNREACH" for call in CALLS),
    ]


@pytest.mark.promise("pages-stay-public")
def test_this_machines_own_public_addresses_are_refused() -> None:
    own = {"104.20.7.1", "2606:4700::1"}
    expected = [f"{call} {address} EACCES" for address in sorted(own) for call in CALLS]
    assert reached(filter_command(None, REFUSED, own), *sorted(own), "104.20.7.2") == expected


@pytest.mark.promise("pages-stay-public")
def test_name_servers_stay_open_for_names_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    places = tmp_path / "resolv.conf"
    monkeypatch.setattr(filtering_process, "_RESOLV_CONF", places)
    policy = ConnectionPolicy("any", REFUSED)
    places.write_text("# ours\nnameserver 10.0.0.53\nnameserver fe80::1%eth0\nnameserver\nnameserver x\n")
    opened = [("10.0.0.53", 53), ("10.0.0.53", 80), ("fe80::1", 53), ("10.0.0.54", 53), ("127.0.0.1", 53)]
    assert [policy.refusal(packed(*place)) for place in opened] == [0, REFUSED, 0, REFUSED, REFUSED]
    places.write_text("nameserver 10.0.0.54\n")
    assert [policy.refusal(packed(*place)) for place in opened] == [REFUSED, REFUSED, REFUSED, 0, REFUSED]
    places.unlink()
    assert [policy.refusal(packed(*place)) for place in opened] == [REFUSED, REFUSED, REFUSED, REFUSED, 0]


@pytest.mark.promise("pages-stay-public")
def test_a_datagram_needs_no_family() -> None:
    """The kernel takes 0 for IPv4 there; in connect() it ends a connection."""
    address = bytes(2) + packed("10.0.0.1", 443)[2:]
    policy = ConnectionPolicy("any", REFUSED)
    assert (policy.refusal(address), policy.refusal(address, connecting=False)) == (0, REFUSED)


def test_a_program_ends_as_it_does() -> None:
    assert run(filter_command("4", 0), "sh", "-c", "exit 7").returncode == 7
    assert run(filter_command("4", 0), "sh", "-c", "kill -9 $$").returncode == 128 + signal.SIGKILL
    missing = run(filter_command("4", 0), "/no/such/program")
    assert (missing.returncode, missing.stderr) == (126, "/no/such/program: No such file or directory\n")


def test_a_program_ends_with_its_watcher() -> None:
    with subprocess.Popen([*filter_command("6", 0), "sleep", "60"]) as watcher:
        process = psutil.Process(watcher.pid)
        while not (children := process.children()) or children[0].name() != "sleep":
            time.sleep(0.01)
        watcher.kill()
    psutil.wait_procs(children, timeout=10)
    assert not children[0].is_running() or children[0].status() == psutil.STATUS_ZOMBIE


def test_a_program_does_not_outlive_a_parent_that_ended_first() -> None:
    """The kernel tells of a parent's end only who asked before."""
    # The shell is another parent than this process, as whoever takes in the children of a dead one is.
    done = run(("sh", "-c", '"$@"; echo "code $?"', "sh"), *filter_command("6", 0), "echo", "it runs")
    assert done.stdout == f"code {128 + signal.SIGKILL}\n"


def test_a_pipe_is_the_programs_alone() -> None:
    command = [*filter_command("6", 0), "sh", "-c", "exec >&-; exec sleep 60"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as watcher:
        assert watcher.stdout is not None
        assert watcher.stdout.read() == b"", "it ends where the program closes it"
        assert watcher.poll() is None
        watcher.kill()


def packed(text: str, port: int) -> bytes:
    """A socket address as the kernel is given it."""
    address = ip_address(text)
    head = struct.pack("=H", socket.AF_INET if address.version == 4 else socket.AF_INET6) + struct.pack(">H", port)
    return head + (address.packed + bytes(8) if address.version == 4 else bytes(4) + address.packed + bytes(4))


@given(st.ip_addresses(), st.integers(0, 65535))
def test_what_is_cut_off(address: IPv4Address | IPv6Address, port: int) -> None:
    given_to_kernel = packed(str(address), port)
    cuts = [ConnectionPolicy(family, 0).refusal(given_to_kernel) for family in ("4", "6", "any")]
    assert set(cuts) <= {0, errno.ENETUNREACH}
    # No address is cut off from both, and none that is far away from neither.
    host = getattr(address, "ipv4_mapped", None) or address
    near = host.is_loopback or host.is_unspecified or port == 53
    assert [cut != 0 for cut in cuts] == ([False] * 3 if near else [host.version != 4, host.version != 6, False])


@given(st.ip_addresses(), st.integers(0, 65535))
def test_what_is_refused(address: IPv4Address | IPv6Address, port: int) -> None:
    refused = ConnectionPolicy("any", REFUSED).refusal(packed(str(address), port))
    assert refused in {0, REFUSED}
    assert port == 53 or (refused == 0) == is_public(str(address))


@given(st.binary(max_size=30))
def test_what_is_no_address_is_let_through(text: bytes) -> None:
    policy = ConnectionPolicy("4", REFUSED)
    if not text.startswith((struct.pack("=H", socket.AF_INET), struct.pack("=H", socket.AF_INET6))):
        assert not policy.refusal(text)
    assert not policy.refusal(text[:7])
