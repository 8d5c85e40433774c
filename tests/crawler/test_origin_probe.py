"""ORIGIN frames as live servers send them."""

import ssl
from pathlib import Path

import pytest

from originset.crawler.origin_probe import read_origin_set
from originset.crawler.testbed import scenario_file
from originset.crawler.testbed.lab import Testbed
from originset.data.errors import ProbeError

pytestmark = pytest.mark.testbed

SETS = """
dns = "192.0.2.54"
[certificate.all]
names = ["*.sets.test"]
[host."empty.sets.test"]
addresses = ["104.20.0.1"]
certificate = "all"
origin_set = []
[host."many.sets.test"]
addresses = ["104.20.0.2"]
certificate = "all"
origin_set = ["https://b.test", "https://a.test:8443", "c.test", "https://b.test"]
"""


@pytest.fixture
def trust(testbed: Testbed) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=testbed.authority.root)


def test_the_set_is_read_back_as_it_was_given(testbed: Testbed, trust: ssl.SSLContext) -> None:
    host = testbed.scenario.hosts["www.gazette.example"]
    assert read_origin_set(host.addresses[0], 443, host.name, trust) == [
        "https://www.gazette.example",
        "https://media.gazette.example",
    ]
    # One name's frame is not another's, and none is not an empty one.
    assert read_origin_set("151.101.129.21", 443, "media.gazette.example", trust) is None


def test_order_ports_and_emptiness(testbed: Testbed, tmp_path: Path) -> None:
    with Testbed(scenario_file.parse(SETS), tmp_path / "sets") as other:
        trust = ssl.create_default_context(cafile=other.authority.root)
        assert read_origin_set("104.20.0.1", 443, "empty.sets.test", trust) == []
        assert read_origin_set("104.20.0.2", 443, "many.sets.test", trust) == [
            "https://b.test",
            "https://a.test:8443",
            "https://c.test",
            "https://b.test",
        ]


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("tags.adnet.test", "does not speak HTTP/2"),
        ("refused.test", "Connection refused"),
        ("expired.test", "certificate has expired"),
    ],
)
def test_why_a_server_could_not_be_asked(testbed: Testbed, trust: ssl.SSLContext, name: str, problem: str) -> None:
    address = testbed.scenario.hosts[name].addresses[0]
    with pytest.raises(ProbeError) as caught:
        read_origin_set(address, 443, name, trust)
    assert problem in caught.value.problem
    assert str(caught.value).startswith(f"{name} at {address} port 443: ")


def test_a_stranger_is_not_trusted(testbed: Testbed) -> None:
    with pytest.raises(ProbeError, match="certificate verify failed"):
        read_origin_set("151.101.65.20", 443, "www.gazette.example")
