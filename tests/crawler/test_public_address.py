"""Whom a stranger's recording or ORIGIN set may have us contact."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from originset.crawler.public_address import is_public


@pytest.mark.parametrize(
    "address",
    ["0.0.0.1", "10.0.0.1", "100.64.0.1", "127.0.0.1", "169.254.169.254", "172.16.0.1", "192.168.1.1", "192.0.2.1",
     "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255",
     "::", "::1", "::10.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "fe80::1", "fec0::1", "fd00::1", "ff02::1",
     "ff0e::1", "2001:db8::1", "2002:7f00:1::", "2002:a00:1::", "2002:101:101::", "2001:0:a00:1::", "64:ff9b::a00:1",
     "64:ff9b:1::1"],
)  # fmt: skip
def test_what_is_not(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    "address",
    ["1.1.1.1", "104.20.7.1", "223.255.255.254", "2606:4700::1111", "2a00:1450::1", "::ffff:1.1.1.1",
     "64:ff9b::101:101"],
)  # fmt: skip
def test_what_is(address: str) -> None:
    assert is_public(address)


@given(st.ip_addresses(v=4))
def test_an_address_in_another_coat_is_itself(address: ipaddress.IPv4Address) -> None:
    mapped = ipaddress.IPv6Address(int(address) | 0xFFFF << 32)
    translated = ipaddress.IPv6Address(int(ipaddress.IPv6Address("64:ff9b::")) | int(address))
    assert {is_public(str(mapped)), is_public(str(translated))} == {is_public(str(address))}


def test_no_address() -> None:
    with pytest.raises(ValueError, match="does not appear"):
        is_public("site.test")
