"""What must not be kept of addresses and headers."""

from urllib.parse import unquote, urlsplit

import planted_secrets
import pytest
from hypothesis import given
from hypothesis import strategies as st

from originset.data.sanitising import url_redaction
from originset.data.sanitising.header_redaction import MAX_HEADER, redact_headers, redact_reason
from originset.data.sanitising.url_redaction import MAX_URL, is_secret, redact_url


@pytest.mark.parametrize(
    ("url", "cleaned"),
    [
        ("https://a.test/p?q=1&token=abc#frag", "https://a.test/p?q=1&token=REDACTED"),
        ("https://me:pw@a.test:8443/?x", "https://a.test:8443/?x"),
        (
            "https://a.test/?access_token=1;sessionId=2&X-Amz-Signature=3&apikey=4",
            "https://a.test/?access_token=REDACTED;sessionId=REDACTED&X-Amz-Signature=REDACTED&apikey=REDACTED",
        ),
        (
            "https://a.test/?keyword=shoes&page=2&design=x&monkey=1",
            "https://a.test/?keyword=shoes&page=2&design=x&monkey=1",
        ),
        ("data:text/html;base64,PGI+c2VjcmV0", "data:text/html;base64,"),
        ("blob:https://a.test/0-1", "blob:https://a.test/"),
        ("https://[broken/?token=x", "https://[broken/?token=REDACTED"),
        ("https://a.test/%7Euser?a=%20b", "https://a.test/%7Euser?a=%20b"),
    ],
)
def test_addresses(url: str, cleaned: str) -> None:
    assert redact_url(url) == cleaned


@pytest.mark.promise("captures-without-secrets")
@given(
    st.from_regex(r"[A-Za-z0-9%+=_-]{1,30}", fullmatch=True),
    st.sampled_from(["token", "id_token", "Password", "authToken", "sig", "JSESSIONID"]),
)
def test_no_value_of_a_secret_stays(value: str, name: str) -> None:
    assert is_secret(name)
    cleaned = redact_url(f"https://user:{value}@a.test/?b=1&{name}={value}#{value}")
    assert cleaned == f"https://a.test/?b=1&{name}=REDACTED"
    assert urlsplit(cleaned).hostname == "a.test"


@pytest.mark.promise("captures-without-secrets")
@pytest.mark.parametrize("planted", list(planted_secrets.urls()), ids=lambda planted: planted.place[:60])
def test_no_planted_secret_stays_in_a_url(planted: planted_secrets.Planted) -> None:
    assert planted.secret in planted.place or planted.secret in unquote(planted.place)
    redacted = redact_url(planted.place)
    assert planted.secret not in redacted
    assert redact_url(redacted) == redacted


@pytest.mark.parametrize(
    "url",
    [
        "https://cdn.test/npm/vue@2.6.11/dist/vue.js",
        "https://cdn.test/npm:react@18.2.0/es/react.js",
        "https://a.test/@user/post?statusText=OK&monkey=1&keyword=x#"[:-1],
        "https://a.test/?to=https%3A%2F%2Flogin.test%3A8443%2Fx%3Fa%3D1",
        "https://a.test/?to=https://b.test:8443/x",
        "https://a.test/i/eyJ1cmwiOiJodHRwOi8vYi50ZXN0L2EuanBnIiwid2lkdGgiOjE5MH0.jpg",
        "https://a.test/?d=%7B%22a%22%3A%20%5B1%2C%202%5D%7D",
        "https://a.test/?token&b=1",
        "https://a.test/?token=&b=1",
        "http://user-agents.test/basic/",
        "about:blank",
    ],
)
def test_what_holds_no_secret_stays_as_it_is(url: str) -> None:
    assert redact_url(url) == url


@pytest.mark.parametrize("escape", ["%5Cud83d", "%5Cud83d%5Cude00", "\\ud83d", "%ED%A0%BD", "\ud83d"])
def test_halves_of_characters_are_no_way_around(escape: str) -> None:
    assert redact_url(f"https://a.test/?x={escape}token%3D1&b=1") == "https://a.test/?x=REDACTED&b=1"
    assert redact_url(f"https://a.test/?x={escape}y%3D1&b=1") == f"https://a.test/?x={escape}y%3D1&b=1"


@given(
    st.lists(
        st.sampled_from(["%22", "%2522", "%%322", "%2", "%2C", "%2c", "a", "%E2%80%9C", "%E2%22", "="]), min_size=30
    )
)
def test_decoding_is_that_of_the_standard_library(pieces: list[str]) -> None:
    text = "".join(pieces)
    while (decoded := unquote(text)) != text:
        text = decoded
    assert url_redaction._decoded_until_stable("".join(pieces)) == text


@pytest.mark.promise("redaction-is-linear")
def test_a_long_url_ends_with_its_last_whole_parameter() -> None:
    url = "https://a.test/?" + "&".join(f"a{number}=1" for number in range(10_000))
    redacted = redact_url(url)
    assert len(redacted) <= MAX_URL
    assert url.startswith(redacted)
    assert redacted.endswith("=1&")
    assert redact_url("https://a.test/?" + "a" * 100_000) == "https://a.test/?"


# Each took minutes, or all of the time that there is, where a pattern went over a text again from each of its places.
@pytest.mark.promise("redaction-is-linear")
@pytest.mark.parametrize(
    "text",
    [
        *("a" * 1_000_000, "?" + "a_" * 500_000, "?" + "token" * 200_000, "?x=" + "%253Ftoken" * 100_000),
        *("?x=" + "%25" * 300_000, "?x=" + "eyJ" * 300_000, "?x=" + "eyJhbGciOiJI." * 80_000, "?x=" + "a:b@" * 250_000),
        *("?x=%20" + "=" * 1_000_000, "?" + "&" * 1_000_000, ";" * 1_000_000, "?x=%20" + "saml" * 250_000 + ":"),
        *("?x=" + "bearer " * 150_000, "x://" * 250_000, "a.b." * 250_000, '?x="' + '\\"' * 500_000, "<" * 1_000_000),
    ],
    ids=lambda text: text[:20],
)
@pytest.mark.timeout(60)
def test_a_text_of_any_length_is_scanned_once(text: str) -> None:
    assert len(redact_url(f"https://a.test/{text}")) <= MAX_URL
    assert redact_url(text[:MAX_URL]) is not None
    for name in ("link", "refresh", "location", "server"):
        assert all(len(header["value"]) <= 2 * MAX_HEADER for header in redact_headers({name: text}))


@pytest.mark.promise("captures-without-secrets")
@pytest.mark.parametrize(
    "planted", list(planted_secrets.headers()), ids=lambda planted: f"{planted.header}-{planted.secret}"
)
def test_no_planted_secret_stays_in_a_header(planted: planted_secrets.Planted) -> None:
    assert planted.header is not None
    assert planted.secret in planted.place
    assert planted.secret not in str(redact_headers({planted.header: planted.place}))


@pytest.mark.promise("redaction-is-linear")
def test_a_header_is_kept_up_to_its_bound() -> None:
    assert MAX_HEADER == 8192
    for length in (8191, 8192, 8193):
        (header,) = redact_headers({"Server": "a" * length})
        assert header == {"name": "server", "value": "a" * min(length, 8192)}
    assert redact_headers({"server" + "a" * 1000: "1"}) == []


@pytest.mark.promise("captures-without-secrets")
def test_reason_phrases() -> None:
    assert [redact_reason(phrase) for phrase in ("OK", "Not Found", "not found", "")] == [
        "OK",
        "Not Found",
        "not found",
        "",
    ]
    assert [redact_reason(planted.place) for planted in planted_secrets.reasons()] == ["", "", ""]


@pytest.mark.promise("captures-without-secrets")
def test_headers() -> None:
    headers = {
        "Cookie": "sid=1",
        "Set-Cookie": "sid=1\nb=2",
        "Authorization": "Bearer x",
        "X-Api-Key": "x",
        "X-Auth-Token": "x",
        "Referer": "https://me:pw@a.test/?token=x#f",
        "Location": "/next?code=x&a=1",
        "Cache-Control": "no-store",
        "Vary": "a\nb",
        "Link": "<https://b.test/?session=1>; rel=preload, </b.css>; rel=preload; as=style",
        "Refresh": "5; url=/x?a=1",
        "Alt-Svc": 'h3=":443"; ma=86400',
        "Sec-CH-UA": '"Not:A-Brand";v="99"',
        "Strict-Transport-Security": "max-age=63072000; includeSubDomains",
        "X-Unheard-Of": "1",
    }
    assert redact_headers(headers) == [
        {"name": "referer", "value": "https://a.test/?token=REDACTED"},
        {"name": "location", "value": "/next?code=REDACTED&a=1"},
        {"name": "cache-control", "value": "no-store"},
        {"name": "vary", "value": "a"},
        {"name": "vary", "value": "b"},
        {"name": "link", "value": "<https://b.test/?session=REDACTED>; rel=preload, </b.css>; rel=preload; as=style"},
        {"name": "refresh", "value": "5; url=/x?a=1"},
        {"name": "alt-svc", "value": 'h3=":443"; ma=86400'},
        {"name": "sec-ch-ua", "value": '"Not:A-Brand";v="99"'},
        {"name": "strict-transport-security", "value": "max-age=63072000; includeSubDomains"},
    ]
