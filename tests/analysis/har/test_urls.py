"""Addresses and names: rules that hold for any text, and what recorders write."""

import planted_secrets
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from originset.analysis.har.urls import resolve_reference, split_authority, url_columns
from originset.data.sanitising.url_redaction import redact_url


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


@pytest.mark.parametrize(
    ("base", "reference", "expected"),
    [
        ("https://a.test/x/y?q", "https://b.test/z?b#f", "https://b.test/z?b"),
        ("https://a.test:8/x/y?q=/", "/z?b=1#f", "https://a.test:8/z?b=1"),
        ("http://a.test?q=/", "/z", "http://a.test/z"),
        ("https://a.test/x", "//b.test/z?", "https://b.test/z?"),
        ("https://a.test/x/y", "z", "https://a.test/x/z"),
        ("https://a.test/x/y", "/a/../z", "https://a.test/z"),
        ("https://a.test/x/y", "?q=1", "https://a.test/x/y?q=1"),
        ("https://[::1/x", "y", None),
    ],
)
def test_targets_of_redirects(base, reference, expected):
    assert resolve_reference(base, reference) == expected


_URLISH = st.one_of(
    st.text(max_size=60),
    st.from_regex(r"\A(https?|wss?|HTTPS|data|blob:https|ftp|about)://?[a-zA-Z0-9@:.\[\]-]{0,20}[/?#;&=a-z%]{0,30}\Z"),
)


@given(_URLISH)
def test_sanitising_twice_changes_nothing(url):
    once = redact_url(url)
    assert redact_url(once) == once
    assert "#" not in once


_PIECES = st.sampled_from(
    [
        *(
            "token",
            "tokenId",
            "Key",
            "xKEY",
            "key",
            "sid",
            "user",
            "login",
            "state",
            "code",
            "cookie",
            "sess_id",
            "a",
            "1",
        ),
        *(
            "%74oken",
            "%2574oken",
            "to%6Ben",
            "%5Ftoken",
            "\\u0074oken",
            "%5cu0074oken",
            "to\tken",
            "eyJhbGciOiJI",
            "eyJ",
        ),
        *(
            "=",
            ":",
            "&",
            ";",
            "?",
            "/",
            "//",
            "@",
            ".",
            "%3D",
            "%253D",
            "%3A",
            "%22",
            '"',
            "'",
            "{",
            "%7B",
            "%40",
            "%2F",
        ),
        *(
            "%25",
            "%2525252525",
            " ",
            "+",
            "%20",
            "Bearer ",
            "basic%20abcdefgh",
            "b.test",
            "localhost",
            "https:",
            "\xe9",
            "\u212aey",
        ),
    ]
)
_SUSPECT = st.builds("https://a.test/{}".format, st.lists(_PIECES, max_size=12).map("".join))


@given(_SUSPECT)
def test_sanitising_a_suspect_twice_changes_nothing(url):
    once = redact_url(url)
    assert redact_url(once) == once


@pytest.mark.promise("imports-without-secrets")
@settings(max_examples=500)
@given(st.lists(_SUSPECT, max_size=5))
@example(["https://a.test/token@b.test"])
@example(["https://a.test/token\u212aey%3Dtoken"])  # the Kelvin sign, which is K without case
def test_columns_find_whatever_single_addresses_would_change(urls):
    assert url_columns(pl.Series(urls, dtype=pl.String))["url"].to_list() == [redact_url(url) for url in urls]


@pytest.mark.promise("imports-without-secrets")
def test_columns_of_planted_secrets():
    planted = list(planted_secrets.urls())
    columns = url_columns(pl.Series([one.place for one in planted]))
    for one, *row in zip(planted, *columns.drop("bare").get_columns(), strict=True):
        assert one.secret.lower() not in repr(row).lower()


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
