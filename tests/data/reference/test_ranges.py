"""Flattened prefixes against one comparison at a time, and against pyasn on whole tables."""

import gzip
import ipaddress
import os
import random
import socket
import struct

import polars as pl
import pyasn
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from originset.data.reference.address_text import parse
from originset.data.reference.ip_to_as import IpToAs
from originset.data.reference.ranges import NO_PREFIX, Prefixes

FULL = os.environ.get("ORIGINSET_SOAK") == "full"


def longest(networks, address):
    """The position of the longest prefix, the later of two equals; one comparison at a time."""
    holding = [
        (network.prefixlen, position)
        for position, network in enumerate(networks)
        if network.version == address.version and address in network
    ]
    return max(holding)[1] if holding else NO_PREFIX


# Few bits vary, at both ends of both spaces, so that prefixes nest, touch and repeat.
v4_numbers = st.one_of(st.integers(0, 31), st.integers(2**32 - 32, 2**32 - 1), st.integers(0, 2**32 - 1))
v6_numbers = st.one_of(
    st.integers(0, 31),
    st.integers(2**128 - 32, 2**128 - 1),
    st.integers(2**64 - 4, 2**64 + 4),
    st.integers(0, 2**128 - 1),
)
v4_networks = st.tuples(v4_numbers, st.one_of(st.integers(27, 32), st.integers(0, 32)))
v6_networks = st.tuples(v6_numbers, st.one_of(st.integers(123, 128), st.integers(58, 68), st.integers(0, 128)))


@settings(max_examples=300, deadline=None)
@given(
    v4=st.lists(v4_networks, max_size=12),
    v6=st.lists(v6_networks, max_size=12),
    near=st.lists(st.one_of(v4_numbers.map(ipaddress.IPv4Address), v6_numbers.map(ipaddress.IPv6Address)), max_size=20),
    order=st.randoms(use_true_random=False),
)
def test_equal_to_one_at_a_time(v4, v6, near, order):
    given_prefixes = [(str(ipaddress.IPv4Address(n)), length) for n, length in v4]
    given_prefixes += [(str(ipaddress.IPv6Address(n)), length) for n, length in v6]
    order.shuffle(given_prefixes)
    networks = [ipaddress.ip_network(f"{text}/{length}", strict=False) for text, length in given_prefixes]
    edges = [address for network in networks for address in (network[0], network[-1])]
    edges += [edge + step for edge in edges for step in (-1, 1) if 0 <= int(edge) + step < 2**edge.max_prefixlen]
    asked = [*near, *edges]
    prefixes = Prefixes(
        pl.Series([text for text, _ in given_prefixes], dtype=pl.String), [length for _, length in given_prefixes]
    )
    found = prefixes.find(pl.Series([str(address) for address in asked], dtype=pl.String))
    assert found.tolist() == [longest(networks, address) for address in asked]


def accepted(family, text):
    try:
        return socket.inet_pton(family, text)
    except (OSError, ValueError):
        return None


almost_addresses = st.one_of(
    st.ip_addresses(v=4).map(str),
    st.text("0129.", max_size=16),
    st.lists(st.sampled_from(["0", "00", "01", "9", "10", "255", "256", "1000", "", " 1", "+1", "-1", "1e1", "a"]),
             min_size=1, max_size=6).map(".".join),
)  # fmt: skip


@settings(max_examples=500, deadline=None)
@given(st.lists(almost_addresses, min_size=1, max_size=4))
def test_text_is_read_as_strictly_as_by_the_c_library(texts):
    read = [accepted(socket.AF_INET, text) for text in texts]
    if None in read:
        with pytest.raises(ValueError, match="no IPv4 address"):
            parse(pl.Series(texts), 32)
    else:
        assert parse(pl.Series(texts), 32)[:, 0].tolist() == [int.from_bytes(packed) for packed in read]


almost_v6 = st.one_of(
    st.ip_addresses(v=6).map(str),
    st.ip_addresses(v=6).map(lambda address: address.exploded.upper()),
    st.text("01af:.", max_size=20),
    st.lists(st.sampled_from(["", "", "0", "f", "A0", "123", "ffff", "0000", "00001", "g", "1.2.3.4", "1%lo", " 1"]),
             min_size=1, max_size=10).map(":".join),
)  # fmt: skip


@settings(max_examples=1000, deadline=None)
@given(st.lists(almost_v6, min_size=1, max_size=4))
@example(["::"])
@example(["1::", "::1", "1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8", "1:2:3::5:6:7:8"])
@example(["::ffff:1.2.3.4", "1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:7:8"])
@example(["1:2:3:4:5:6:7:8::"])
@example(["::1::"])
@example([":::"])
@example([":1::2"])
@example(["1::2:"])
def test_v6_text_is_read_as_strictly_as_by_the_c_library(texts):
    read = [accepted(socket.AF_INET6, text) for text in texts]
    if None in read:
        with pytest.raises(ValueError, match="no IPv6 address"):
            parse(pl.Series(texts), 128)
    else:
        assert parse(pl.Series(texts), 128).tolist() == [list(struct.unpack(">QQ", packed)) for packed in read]


def test_a_column_longer_than_a_block():
    numbers = [n * 2**100 // 9999 for n in range(9999)]
    texts = pl.Series([str(ipaddress.IPv6Address(n)) for n in numbers])
    assert parse(texts, 128).tolist() == [[n >> 64, n & (2**64 - 1)] for n in numbers]
    numbers = [n * 2**32 // 70_000 for n in range(70_000)]
    assert parse(pl.Series([str(ipaddress.IPv4Address(n)) for n in numbers]), 32)[:, 0].tolist() == numbers


def test_a_slice_of_a_column_is_read_as_its_own():
    texts = pl.Series(["1.2.3.4", "5.6.7.8", "255.255.255.255", "0.0.0.0"])  # noqa: S104 - not listened on
    assert parse(texts[1:3], 32)[:, 0].tolist() == [0x05060708, 0xFFFFFFFF]


@pytest.mark.parametrize("text", ["fe80::1%lo", "1.2.3", "::1::", "", "1.2.3.4/8", " 1.2.3.4"])
def test_what_is_no_address_is_named(text):
    with pytest.raises(ValueError, match="no IPv"):
        Prefixes(pl.Series(["10.0.0.0"]), [8]).find(pl.Series(["10.0.0.1", text]))


def test_null_is_no_address():
    with pytest.raises(ValueError, match="NULL"):
        Prefixes(pl.Series(["10.0.0.0"]), [8]).find(pl.Series(["10.0.0.1", None]))


def random_addresses(version, count, networks, source):
    """Half anywhere, half within or just beside the table's own prefixes."""
    bits = 32 if version == 4 else 128
    kind = ipaddress.IPv4Address if version == 4 else ipaddress.IPv6Address
    starts = [int(kind(text)) for text in networks if (":" in text) == (version == 6)]
    # Global unicast, if anywhere: elsewhere in IPv6 there is nothing to get wrong.
    anywhere = [
        source.getrandbits(bits) if version == 4 else (1 << 125) | source.getrandbits(125) for _ in range(count // 2)
    ]
    within = [
        (source.choice(starts) + source.getrandbits(source.randrange(1, bits // 2)) - 1) % 2**bits
        for _ in range(count - len(anywhere))
    ] if starts else []  # fmt: skip
    return [str(kind(number)) for number in (*anywhere, *within)]


@pytest.mark.soak
@pytest.mark.parametrize("name", ["ipasn_20140513.dat.gz", "ipasn_iplocdb_20260617.dat.gz"])
def test_equal_to_pyasn(shared, name):
    """1,000,000 IPv4 and 200,000 IPv6 addresses; a tenth of that in an ordinary run."""
    path = shared / "data" / "asn" / name
    oracle = pyasn.pyasn(str(path))
    table = IpToAs.load(path)
    with gzip.open(path, "rt") as lines:
        networks = [line.partition("/")[0] for line in lines if line[0] not in ";#"]
    source = random.Random(20261121)  # noqa: S311 - the same addresses every time
    share = 1 if FULL else 10
    for version, count in ((4, 1_000_000 // share), (6, 200_000 // share)):
        asked = random_addresses(version, count, networks, source)
        found = table.origins(pl.Series(asked))["asn"].to_list()
        assert found == [oracle.lookup(address)[0] for address in asked]
        assert version == 6 or sum(asn is not None for asn in found) > count / 3
