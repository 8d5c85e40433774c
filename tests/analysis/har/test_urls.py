"""Addresses and names: rules that hold for any text, and what recorders write."""

import ipaddress

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from originset.analysis.har.urls import canonical_ip, normalise_host, split_authority, url_columns
from originset.data.redaction import redact_url


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
    ],
)
def test_hosts(text, host):
    assert normalise_host(text) == host


@given(st.ip_addresses(), st.sampled_from(["{}", "[{}]", " {} ", "{}%eth0", "[{}%25en1]"]))
def test_addresses_in_any_dress_are_canonical(address, dress):
    mapped = getattr(address, "ipv4_mapped", None)
    bare = ipaddress.ip_address(int(address)) if address.version == 4 else ipaddress.IPv6Address(int(address))
    assert canonical_ip(dress.format(bare)) == str(mapped or bare)


@pytest.mark.parametrize("text", ["", "1.1.1.1000", "example.com", "1.2.3", "[", "::g", "1.2.3.4, 5.6.7.8", "(null)"])
def test_what_is_no_address_is_none(text):
    assert canonical_ip(text) is None


def test_addresses_with_ports_and_mapped_ones():
    assert canonical_ip("192.0.2.1:443") == "192.0.2.1"
    assert canonical_ip("::ffff:192.0.2.1") == "192.0.2.1"
    assert canonical_ip("[2001:db8::1]:443") == "2001:db8::1"


@pytest.mark.parametrize(
    ("authority", "expected"),
    [
        ("example.com", ("example.com", None)),
        ("example.com:8443", ("example.com", 8443)),
        ("user:p@ss@example.com:1", ("example.com", 1)),
        ("[2001:DB8::1]:8443", ("2001:db8::1", 8443)),
        ("[fe80::1%25eth0]", ("fe80::1", None)),
        ("example.com:99999", ("example.com", None)),
        ("example.com:", ("example.com", None)),
        ("", (None, None)),
    ],
)
def test_authorities(authority, expected):
    assert split_authority(authority) == expected


_URLISH = st.one_of(
    st.text(max_size=60),
    st.from_regex(r"\A(https?|wss?|HTTPS|data|blob:https|ftp|about)://?[a-zA-Z0-9@:.\[\]-]{0,20}[/?#;&=a-z%]{0,30}\Z"),
)


@given(_URLISH)
def test_sanitising_twice_changes_nothing(url):
    once = redact_url(url)
    assert redact_url(once) == once
    assert "#" not in once


@given(st.lists(_URLISH, max_size=5))
def test_columns_say_what_single_addresses_say(urls):
    columns = url_columns(pl.Series(urls, dtype=pl.String))
    assert columns["url"].to_list() == [redact_url(url) for url in urls]
    for url, scheme, host, port in zip(urls, columns["scheme"], columns["host"], columns["port"], strict=True):
        assert scheme is None or url.strip().lower().startswith(scheme)
        assert (host is None) or (scheme in {"https", "http", "wss", "ws", "ftp"} and port is not None)


@given(
    name=st.sampled_from(
        ["token", "access_token", "Id_Token", "sig", "X-Amz-Signature", "api_key", "password", "code", "jwt"]
    ),
    value=st.from_regex(r"\A[A-Za-z0-9%._~+/=-]{1,40}\Z"),
    before=st.sampled_from(["?", "?a=1&", "?a=1;", ";"]),
)
def test_values_of_telling_parameters_are_gone(name, value, before):
    user = value.replace("/", "%2F")  # a slash would end the authority
    url = f"https://user:{user}@example.com/path{before}{name}={value}&z=2#{value}"
    expected = f"https://example.com/path{before}{name}=REDACTED&z=2"
    assert redact_url(url) == expected
    assert url_columns(pl.Series([url]))["url"].to_list() == [expected]


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://a.test/?lang=de&q=token", "https://a.test/?lang=de&q=token"),
        ("https://a.test/?keyword=x&design=1&status=2", "https://a.test/?keyword=x&design=1&status=2"),
        ("https://a.test/cb/eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.abc", "https://a.test/cb/REDACTED"),
        ("blob:https://u:p@a.test/0f1e", "blob:https://a.test/"),
        ("data:text/html;base64,PGI+", "data:text/html;base64,"),
        ("about:blank", "about:blank"),
        ("javascript:alert(document.cookie)", "javascript:"),
        ("", ""),
    ],
)
def test_sanitised_addresses(url, expected):
    assert redact_url(url) == expected
    assert url_columns(pl.Series([url]))["url"].to_list() == [expected]
