"""What passes as an origin is what Node's URL parser and every config format take as it stands; all else is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from originset.models.origins import NotAnOriginError, parse, payload_bytes, serialize

LONGEST_LABEL = "a" * 63
LONGEST_HOST = ".".join([LONGEST_LABEL] * 3 + ["a" * 61])


@pytest.mark.parametrize(
    ("host", "port", "origin"),
    [
        ("www.example.com", 443, "https://www.example.com"),
        ("www.example.com", 8443, "https://www.example.com:8443"),
        ("r3---sn-abc.example.com", 443, "https://r3---sn-abc.example.com"),
        ("xn--mnchen-3ya.example", 443, "https://xn--mnchen-3ya.example"),
        ("1.2.3.4.in-addr.example", 443, "https://1.2.3.4.in-addr.example"),
        ("localhost", 1, "https://localhost:1"),
        (LONGEST_HOST, 443, f"https://{LONGEST_HOST}"),
    ],
)
def test_origins_and_back(host: str, port: int, origin: str) -> None:
    assert serialize(host, port) == origin
    assert parse(origin) == (host, port)


@pytest.mark.parametrize(
    ("host", "reason"),
    [
        ("", "1 to 253"),
        (LONGEST_HOST + "a", "1 to 253"),
        ("a" * 64 + ".test", "at most 63"),
        ("a" * 300, "1 to 253"),
        ("WWW.test", "lower-case"),
        ("a_b.test", "lower-case"),
        ("-a.test", "lower-case"),
        ("a-.test", "lower-case"),
        ("a..test", "lower-case"),
        ("a.test.", "lower-case"),
        ("münchen.test", "lower-case"),
        ("a\u202eb.test", "lower-case"),
        ("__proto__", "lower-case"),
        ('a".test', "lower-case"),
        ("a\n.test", "lower-case"),
        ("a.test\n", "lower-case"),
        ("$(id).test", "lower-case"),
        ("*/.test", "wildcard"),
        ("*.example.com", "wildcard"),
        ("xn--a.test", "xn--"),
        ("xn--.test", "lower-case"),
        ("xn--MNCHEN-3ya.test", "lower-case"),
        ("192.0.2.1", "IP address"),
        ("127.1", "IP address"),
        ("a.0x7f", "IP address"),
        ("2001:db8::1", "IP address"),
        ("[2001:db8::1]", "IP address"),
    ],
)
def test_what_is_no_host(host: str, reason: str) -> None:
    with pytest.raises(NotAnOriginError) as error:
        serialize(host)
    assert reason in error.value.reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("http://a.test", "only https"),
        ("HTTPS://a.test", "only https"),
        ("a.test", "only https"),
        ("https://a.test/", "no path"),
        ("https://a.test/x", "no path"),
        ("https://a.test?x", "no path"),
        ("https://u@a.test", "more than"),
        ("https://a.test:443", "leaves out port 443"),
        ("https://a.test:0", "more than"),
        ("https://a.test:08", "more than"),
        ("https://a.test:65536", "not a port"),
        ("https://a.test:", "more than"),
        ("https://*.a.test", "wildcard"),
        ("https://[::1]", "IP address"),
        ("https://a.test\n", "lower-case"),
        ("https://", "more than"),
    ],
)
def test_what_is_no_origin(text: str, reason: str) -> None:
    with pytest.raises(NotAnOriginError) as error:
        parse(text)
    assert reason in error.value.reason


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("http://a.test", "only https origins can be announced"),
        ("https://[::1]", "an IP address is not a host name"),
        ("https://a.test/", "an origin has no path"),
        ("https://u@a.test", "it is more than scheme, host and port"),
        ("https://a.test:443", "an origin leaves out port 443"),
        ("https://127.1", "an IP address is not a host name"),
        (f"https://{LONGEST_LABEL}a.test", "a label has at most 63 characters"),
        (f"https://{LONGEST_HOST}a", "a host name has 1 to 253 characters"),
        ("https://-a.test", "a host name has lower-case letters, digits and inner hyphens"),
        ("https://xn--a.test", "xn-- without a valid internationalised label behind it"),
    ],
)
def test_a_refusal_is_words_for_a_person(text: str, told: str) -> None:
    with pytest.raises(NotAnOriginError) as error:
        parse(text)
    assert (error.value.reason, str(error.value)) == (told, told)


@pytest.mark.promise("configurations-hold-origins-only")
@given(st.text())
def test_whatever_passes_is_inert_everywhere(host: str) -> None:
    try:
        origin = serialize(host)
    except NotAnOriginError:
        return
    assert set(host) <= set("abcdefghijklmnopqrstuvwxyz0123456789-.")
    assert parse(origin) == (host, 443)


def test_payload_counts_the_length_fields() -> None:
    assert payload_bytes(["https://a.test", "https://bb.test"]) == 2 + 14 + 2 + 15
