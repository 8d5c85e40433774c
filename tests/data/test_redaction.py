"""What must not be kept of addresses and headers."""

from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from originset.data.redaction import is_secret, redact_headers, redact_url


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
        "Link": "<https://b.test/?session=1>; rel=preload",
    }
    assert redact_headers(headers) == [
        {"name": "referer", "value": "https://a.test/?token=REDACTED"},
        {"name": "location", "value": "/next?code=REDACTED&a=1"},
        {"name": "cache-control", "value": "no-store"},
        {"name": "vary", "value": "a"},
        {"name": "vary", "value": "b"},
        {"name": "link", "value": "<https://b.test/?session=REDACTED>; rel=preload"},
    ]
