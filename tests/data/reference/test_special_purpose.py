"""Which addresses and names are of the public internet: whom a stranger's page, recording or ORIGIN set may name."""

from __future__ import annotations

import ipaddress
import subprocess
import sys
import tomllib
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from originset.data.reference import special_purpose
from originset.data.reference.special_purpose import address_blocks, is_public, special_use_zone


@pytest.mark.promise("public-is-what-iana-says")
@pytest.mark.parametrize(
    "address",
    ["0.0.0.1", "10.0.0.1", "100.64.0.1", "127.0.0.1", "169.254.169.254", "172.16.0.1", "192.168.1.1",
     "192.0.0.1", "192.0.0.8", "192.0.0.170", "192.0.2.1", "192.88.99.1", "192.88.99.2", "198.18.0.1", "198.51.100.1",
     "203.0.113.1", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255",
     "::", "::1", "::10.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:192.0.0.8", "fe80::1", "fec0::1",
     "fd00::1", "ff02::1", "ff0e::1", "2001:db8::1", "2001:db8:ffff::1", "2002:7f00:1::", "2002:a00:1::",
     "2002:101:101::", "2001:0:a00:1::", "2001::1", "2001:2::1", "2001:10::1", "2001:1::4", "64:ff9b::a00:1",
     "64:ff9b::c000:8", "64:ff9b:1::1", "64:ff9b:1:ffff::1", "100::1", "100:0:0:1::1", "3fff::1", "3fff:fff::1",
     "4000::1", "5f00::1", "1::1"],
)  # fmt: skip
def test_what_is_not(address: str) -> None:
    assert not is_public(address)


@pytest.mark.promise("public-is-what-iana-says")
@pytest.mark.parametrize(
    "address",
    ["1.1.1.1", "104.20.7.1", "192.0.0.9", "192.0.0.10", "192.0.1.1", "192.31.196.1", "192.52.193.1", "192.88.98.1",
     "192.175.48.1", "223.255.255.254", "2606:4700::1111", "2620:4f:8000::1", "2a00:1450::1", "2001:200::1",
     "2001:1::1", "2001:1::3", "2001:4:112::1", "2001:20::1", "2003::1", "3fff:1000::1", "::ffff:1.1.1.1",
     "64:ff9b::101:101"],
)  # fmt: skip
def test_what_is(address: str) -> None:
    assert is_public(address)


@pytest.mark.promise("public-is-what-iana-says")
@given(st.ip_addresses(v=4))
def test_an_address_in_another_coat_is_itself(address: ipaddress.IPv4Address) -> None:
    mapped = ipaddress.IPv6Address(int(address) | 0xFFFF << 32)
    translated = ipaddress.IPv6Address(int(ipaddress.IPv6Address("64:ff9b::")) | int(address))
    assert {is_public(str(mapped)), is_public(str(translated))} == {is_public(str(address))}


@given(st.ip_addresses())
def test_every_address_is_in_a_block(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    blocks = [ipaddress.ip_network(block) for block in address_blocks()]
    assert any(address in block for block in blocks)
    is_public(str(address))


def test_no_address() -> None:
    with pytest.raises(ValueError, match="does not appear"):
        is_public("site.test")


@pytest.mark.promise("public-is-what-iana-says")
def test_the_list_says_of_when_it_is_and_whence() -> None:
    tables = tomllib.loads(Path(special_purpose.__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    assert date.fromisoformat(tables["dated"]) >= date(2025, 10, 9)
    assert any("iana-ipv4-special-registry" in source for source in tables["sources"])
    assert any("iana-ipv6-special-registry" in source for source in tables["sources"])
    named = [block for blocks in tables["addresses"].values() for block in blocks]
    assert len(named) == len(set(named))
    for block in named:
        assert str(ipaddress.ip_network(block)) == block


@pytest.mark.promise("public-is-what-iana-says")
@pytest.mark.parametrize(
    ("host", "zone"),
    [
        ("printer.corp", "corp"),
        ("nas.lan", "lan"),
        ("a.b.home", "home"),
        ("metadata.google.internal", "internal"),
        ("PRINTER.LOCAL.", "local"),
        ("x.home.arpa", "home.arpa"),
        ("home.arpa", "home.arpa"),
        ("hidden.onion", "onion"),
        ("www.shop.test", "test"),
        ("a.invalid", "invalid"),
        ("www.example", "example"),
        ("localhost", "localhost"),
        ("a.localhost", "localhost"),
        ("intranet", "intranet"),
        ("wpad", "wpad"),
        ("example.com", None),
        ("corp.example.com", None),
        ("lan.dev", None),
        ("local.host.name", None),
        ("arpa.home.net", None),
    ],
)
def test_names_of_no_public_server(host: str, zone: str | None) -> None:
    assert special_use_zone(host) == zone


def test_nothing_but_the_standard_library_is_imported() -> None:
    """The process that watches a browser's connections has nothing else."""
    script = f"import runpy; runpy.run_path({special_purpose.__file__!r})"
    subprocess.run([sys.executable, "-I", "-S", "-c", script], check=True)
