"""The testbed as a whole: what it leaves behind, how it refuses, two of them at once."""

import json
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from originset.crawler.testbed import scenario_file
from originset.crawler.testbed.testbed import Testbed
from originset.data.errors import TestbedError

pytestmark = pytest.mark.testbed

OTHER = """
dns = "192.0.2.55"
[certificate.other]
names = ["other.test"]
[host."other.test"]
addresses = ["104.21.0.1", "2606:4700::21:1"]
certificate = "other"
external = true
[site."other.test"]
loads = []
"""


def eventually(condition: Callable[[], object], seconds: float = 20.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and not condition():
        time.sleep(0.02)
    return bool(condition())


def local_addresses() -> set[str]:
    (loopback,) = json.loads(subprocess.check_output(["ip", "-json", "address", "show", "dev", "lo"]))
    return {one["local"] for one in loopback["addr_info"]}


def test_sites_and_environment(testbed: Testbed) -> None:
    assert testbed.sites[0] == "daily.test"
    home = Path(testbed.environment["HOME"])
    listed = subprocess.check_output(["certutil", "-d", f"sql:{home / '.pki/nssdb'}", "-L"], text=True)
    assert "originset " in listed
    assert "C,," in listed


def test_a_second_one_within_the_first_leaves_no_trace(testbed: Testbed, tmp_path: Path) -> None:
    addresses, resolver = local_addresses(), Path("/etc/resolv.conf").read_text()
    with Testbed(scenario_file.parse(OTHER), tmp_path / "other") as other:
        assert local_addresses() - addresses == {"192.0.2.55", "104.21.0.1", "2606:4700::21:1"}
        assert socket.gethostbyname("other.test") == "104.21.0.1"
        with pytest.raises(socket.gaierror):
            socket.gethostbyname("shop.test")
        assert [query.rtype for query in other.dns_queries()] == ["A"]
    assert local_addresses() == addresses
    assert Path("/etc/resolv.conf").read_text() == resolver
    assert socket.gethostbyname("shop.test") == "151.101.1.10"
    with pytest.raises(TestbedError, match="not running"):
        other.requests()


def test_somebody_elses_server_at_an_external_host(testbed: Testbed, tmp_path: Path) -> None:
    with Testbed(scenario_file.parse(OTHER), tmp_path / "other") as other:
        issued = other.certificate_of("other.test")
        server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server.load_cert_chain(issued.chain, issued.key)
        program = (
            "import socket, ssl, sys; c = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER); c.load_cert_chain(*sys.argv[1:]);"
            "s = socket.create_server(('104.21.0.1', 443)); print('up', flush=True); t, _ = s.accept();"
            "w = c.wrap_socket(t, server_side=True); w.sendall(b'mine'); w.close(); s.close()"
        )
        command = [sys.executable, "-c", program, str(issued.chain), str(issued.key)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "up\n"
            client = ssl.create_default_context(cafile=other.authority.root)
            with client.wrap_socket(socket.create_connection(("other.test", 443)), server_hostname="other.test") as tls:
                assert tls.recv(10) == b"mine"
        assert other.handshakes() == []


def test_leaving_a_host_to_others_keeps_the_rest() -> None:
    scenario = scenario_file.built_in().with_external("shop.test", "assets.shopcdn.test")
    assert [host.name for host in scenario.hosts.values() if host.external] == ["shop.test", "assets.shopcdn.test"]
    assert scenario.pages == scenario_file.built_in().pages


def test_it_does_not_come_up_twice_in_one_place(testbed: Testbed, tmp_path: Path) -> None:
    addresses = local_addresses()
    with (
        pytest.raises(TestbedError, match="another testbed in this namespace has"),
        Testbed(testbed.scenario, tmp_path / "again"),
    ):
        pytest.fail("two testbeds have the same addresses")
    assert local_addresses() == addresses
    assert socket.gethostbyname("shop.test") == "151.101.1.10"


def test_it_does_not_come_up_outside_a_namespace(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("ORIGINSET_NAMESPACE")
    with pytest.raises(TestbedError, match="needs a network namespace"), Testbed(scenario_file.built_in(), tmp_path):
        pytest.fail("it would change the machine's own addresses")


def test_it_overwrites_a_testbeds_folder_and_no_other(tmp_path: Path) -> None:
    for _ in range(2):
        with Testbed(scenario_file.parse(OTHER), tmp_path / "other"):
            pass
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("precious")
    with (
        pytest.raises(TestbedError, match="holds something else"),
        Testbed(scenario_file.parse(OTHER), tmp_path / "mine"),
    ):
        pytest.fail("it would remove what is there")
    assert (tmp_path / "mine" / "thesis.tex").read_text() == "precious"


def test_a_server_that_died_is_told(tmp_path: Path) -> None:
    with Testbed(scenario_file.parse(OTHER), tmp_path / "other") as other:
        assert other._servers is not None
        other._servers.kill()
        other._servers.wait()
        with pytest.raises(TestbedError, match="have ended"):
            other.handshakes()
