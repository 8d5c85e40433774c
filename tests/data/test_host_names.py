"""Names and addresses of hosts: rules that hold for any text, and what recorders write."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from originset.data.host_names import address_and_port, canonical_ip, covers, normalise_host


@given(st.text())
def test_a_host_is_normalised_once_and_for_all(text):
    host = normalise_host(text)
    if host is not None:
        assert normalise_host(host) == host
        assert host.isascii()
        assert not set(host) & set("/?#@[]%\\ '\"<>\x00")
        assert host == host.lower()


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("WWW.Example.COM.", "www.example.com"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("BÜCHER.example", "xn--bcher-kva.example"),
        ("_dmarc.ex_ample.com", "_dmarc.ex_ample.com"),
        ("192.0.2.1", "192.0.2.1"),
        ("999.0.2.1", None),
        ("2001:DB8::0:1", "2001:db8::1"),
        ("${host}", None),
        ("a..b", None),
        ("", None),
        ("x" * 64 + ".com", None),
        ("example.com..", None),
        ("a_b.bücher.example", "a_b.xn--bcher-kva.example"),
        ("bücher。example", "xn--bcher-kva.example"),
        ("xn--a.example", "xn--a.example"),
        ("☃\N{COMBINING GRAVE ACCENT}\N{ZERO WIDTH JOINER}.example", None),
        ("foo-.example.com", "foo-.example.com"),
        ("a.example.1", None),
        ("1.2.3.4.", "1.2.3.4"),
        ("127.0.0.0x1", None),
        ("[fe80::1%eth0]", "fe80::1"),
        ("::FFFF:192.0.2.1", "192.0.2.1"),
    ],
)
def test_hosts(text, host):
    assert normalise_host(text) == host


# Few bits are set, so that there are zeros to leave out.
masks = [0, 1, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFFFFFF, 0xFFFF << 112, 0xFFFF0000FFFF << 48, 0xFFFF << 64 | 0xFFFF]
sparse = st.builds(
    lambda number, mask: ipaddress.IPv6Address(number & mask), st.integers(0, 2**128 - 1), st.sampled_from(masks)
)


@given(st.one_of(st.ip_addresses(), sparse), st.sampled_from(["{}", "[{}]", " {} ", "{}%eth0", "[{}%25en1]"]))
def test_addresses_in_any_dress_are_canonical(address, dress):
    mapped = getattr(address, "ipv4_mapped", None)
    bare = ipaddress.ip_address(int(address)) if address.version == 4 else ipaddress.IPv6Address(int(address))
    assert canonical_ip(dress.format(bare)) == str(mapped or bare)


@pytest.mark.parametrize("text", ["", "1.1.1.1000", "example.com", "1.2.3", "[", "::g", "1.2.3.4, 5.6.7.8", "(null)"])
def test_what_is_no_address_is_none(text):
    assert canonical_ip(text) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("192.0.2.1", ("192.0.2.1", 53)),
        ("192.0.2.1:65535", ("192.0.2.1", 65_535)),
        ("2001:db8::1", ("2001:db8::1", 53)),
        ("[2001:db8::1]:1", ("2001:db8::1", 1)),
        *((text, None) for text in ("192.0.2.1:0", "192.0.2.1:65536", "192.0.2.1:000053", "192.0.2.1:\u0661")),
        *((text, None) for text in ("192.0.2.1:x", "192.0.2.1:", "a.test:53", "a.test", "")),
    ],
)
def test_an_address_and_its_port(text: str, expected: tuple[str, int] | None):
    assert address_and_port(text, 53) == expected


def test_addresses_with_ports_and_mapped_ones():
    assert canonical_ip("192.0.2.1:443") == "192.0.2.1"
    assert canonical_ip("::ffff:192.0.2.1") == "192.0.2.1"
    assert canonical_ip("[2001:db8::1]:443") == "2001:db8::1"


def test_a_name_covers_by_one_label() -> None:
    names = ("a.test", "*.b.test")
    hosts = {"a.test": True, "x.b.test": True, "b.test": False, "x.y.b.test": False, "x.a.test": False}
    assert {host: covers(names, host) for host in hosts} == hosts
