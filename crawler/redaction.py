"""What must not leave a visit: secrets in addresses and headers. Bodies are never read in the first place."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

# Parameters whose values open something. Matched as whole words of the name: access_token, X-Amz-Signature, sessionId.
_SECRET = re.compile(
    r"(?:^|[^a-z])(?:[a-z]*token|api_?key|key|pass(?:word|wd|phrase)?|pwd|secret|session(?:_?id)?|sess|sid|[a-z]*session_?id"
    r"|auth(?:orization|entication)?|oauth|jwt|sig(?:nature)?|hmac|credentials?|code|otp|ticket|assertion|saml[a-z]*)"
    r"(?:$|[^a-z])"
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_DROPPED_HEADERS = frozenset(
    {"cookie", "set-cookie", "authorization", "proxy-authorization", "www-authenticate", "proxy-authenticate"}
)
_URL_HEADERS = frozenset({"referer", "location", "content-location", "refresh", "link", "sourcemap", "x-sourcemap"})
_URL_IN_TEXT = re.compile(r"""[a-z][a-z0-9+.-]*://[^\s<>"',;]+""", re.IGNORECASE)


def is_secret(name: str) -> bool:
    """Whether a parameter's or header's name says that its value is a secret."""
    return _SECRET.search(_CAMEL.sub("_", name).lower()) is not None


def clean_url(url: str) -> str:
    """An address without user information, fragment and values of secret parameters; of a data: URL its type alone."""
    if url[:5].lower() == "data:":
        return url.partition(",")[0][:100]
    try:
        parts = urlsplit(url)
    except ValueError:
        return url.partition("#")[0].partition("?")[0]
    # By slices, not by putting the parts together again: what the server saw stays as it was, byte for byte.
    url = url.partition("#")[0]
    if "@" in parts.netloc:
        url = url.replace(parts.netloc, parts.netloc.rpartition("@")[2], 1)
    if not parts.query:
        return url
    head, _, query = url.partition("?")
    return f"{head}?{_clean_query(query)}"


def _clean_query(query: str) -> str:
    cleaned = []
    for pair in re.split(r"([&;])", query):
        name, equals, value = pair.partition("=")
        cleaned.append(f"{name}=" if equals and value and is_secret(name) else pair)
    return "".join(cleaned)


def clean_headers(headers: Mapping[str, str]) -> list[dict[str, str]]:
    """HAR's headers: without cookies and credentials, addresses cleaned, names in lower case."""
    cleaned = []
    for raw_name, value in headers.items():
        name = raw_name.lower()
        if name in _DROPPED_HEADERS or is_secret(name):
            continue
        if name in _URL_HEADERS or "://" in value:
            value = _URL_IN_TEXT.sub(lambda match: clean_url(match[0]), value)  # noqa: PLW2901 - the cleaned value
        if name == "location":
            value = clean_url(value)  # noqa: PLW2901 - relative ones too
        # Chromium joins values of repeated headers with line feeds.
        cleaned += [{"name": name, "value": part} for part in value.split("\n")]
    return cleaned
