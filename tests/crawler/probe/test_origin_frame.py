"""The codec against RFC 8336 and RFC 6454, by examples and by properties."""

import string
import struct

import hyperframe.frame
import pytest
from hypothesis import given
from hypothesis import strategies as st

from originset.crawler.probe.origin_frame import MAX_PAYLOAD, TYPE, decode, encode, serialize_origin

_label = st.text(string.ascii_lowercase + string.digits, min_size=1, max_size=20)
_host = st.lists(_label, min_size=2, max_size=4).map(".".join)
_port = st.one_of(st.none(), st.integers(1, 65_535))
_origin = st.builds(
    lambda scheme, host, port: serialize_origin(f"{scheme}://{host}" + ("" if port is None else f":{port}")),
    st.sampled_from(["https", "http"]),
    _host,
    _port,
)


def _entry(text: bytes) -> bytes:
    return struct.pack("!H", len(text)) + text


@given(st.lists(_origin, max_size=20))
def test_what_is_encoded_is_decoded(origins: list[str]) -> None:
    frame = encode(origins)
    header, length = hyperframe.frame.Frame.parse_frame_header(memoryview(frame[:9]))
    assert (header.type, header.stream_id, header.flag_byte, length) == (TYPE, 0, 0, len(frame) - 9)
    assert decode(frame[9:]) == origins


@given(st.binary(max_size=200))
def test_any_payload_gives_origins_or_nothing(payload: bytes) -> None:
    assert all(serialize_origin(origin) == origin for origin in decode(payload))


@given(st.lists(_origin, max_size=5), st.binary(max_size=30))
def test_a_bad_entry_costs_only_itself(origins: list[str], noise: bytes) -> None:
    payload = encode(origins)[9:]
    extra = decode(_entry(noise))
    assert decode(_entry(noise) + payload) == extra + origins


@pytest.mark.parametrize(
    ("given_as", "serialized"),
    [
        ("www.example.com", "https://www.example.com"),
        ("HTTPS://WWW.Example.com:443", "https://www.example.com"),
        ("http://example.com:80", "http://example.com"),
        ("https://example.com:8443", "https://example.com:8443"),
        ("bücher.example", "https://xn--bcher-kva.example"),
        ("https://[2001:DB8::1]", "https://[2001:db8::1]"),
    ],
)
def test_serialization(given_as: str, serialized: str) -> None:
    assert serialize_origin(given_as) == serialized


@pytest.mark.parametrize(
    "text",
    ["", "https://", "https://a.test/", "https://a.test?x", "https://a.test#", "https://u@a.test", "ftp://a.test",
     "https://*.a.test", "https://a..test", "https://a.test:0", "https://a.test:", "https://a.test:99999",
     "https://a test", "https://a.test\r\nx: y", "null", "https://[::1", "https://" + "a" * 64 + ".test"],
)  # fmt: skip
def test_what_is_no_origin_is_refused(text: str) -> None:
    if text == "null":  # the serialization of an opaque origin; as a bare name it has one label
        assert decode(_entry(b"null")) == []
        return
    with pytest.raises(ValueError, match=r".+"):
        serialize_origin(text)
    assert decode(_entry(text.encode())) == []


def test_an_empty_set_is_a_frame_without_entries() -> None:
    assert encode([]) == bytes([0, 0, 0, TYPE, 0, 0, 0, 0, 0])
    assert decode(b"") == []


def test_a_frame_holds_no_more_than_the_default_maximum() -> None:
    one = "https://" + "a" * 60 + ".test"
    fits = MAX_PAYLOAD // (2 + len(one))
    assert len(decode(encode([one] * fits)[9:])) == fits
    with pytest.raises(ValueError, match="a frame holds 16384"):
        encode([one] * (fits + 1))


def test_an_entry_that_points_beyond_the_payload_ends_the_reading() -> None:
    good = _entry(b"https://a.test")
    assert decode(good + struct.pack("!H", 40) + b"https://b.test") == ["https://a.test"]
    assert decode(good + b"\x00") == ["https://a.test"]


def test_entries_are_not_normalised_into_origins() -> None:
    """RFC 8336 wants the ASCII serialization: what needs repair is skipped, but for the case of letters."""
    entries = [b"https://a.test:443", b"a.test", "https://ü.test".encode(), b"https://A.test", b"https://b.test"]
    assert decode(b"".join(map(_entry, entries))) == ["https://a.test", "https://b.test"]
