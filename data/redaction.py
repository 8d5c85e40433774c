"""What must not be kept of an address or a header, in one rule: captures, imports and copies of sources all follow it.

Cookies, credentials, post data and bodies are dropped where they are met; here is what hides in names and addresses.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

REDACTED = "REDACTED"

# Names of parameters and headers whose values let their holder in somewhere, or name a person or a person's session.
# The first stand as whole words of the name (`api_key`, not `monkey`), the others also end a longer word (`authToken`).
_WORDS = (
    r"key|(?:api|access|private|secret|auth)key|key[-_]?pair[-_]?id|awsaccesskeyid|googleaccessid|assertion|"
    r"auth(?:orization|entication)?|bearer|code|csrf|xsrf|e?mail|e-mail|hdnea|hdnts|login|nonce|otp|pass(?:wd|phrase|wort)?|"
    r"phpsessid|pin|policy|pwd|relaystate|saml[a-z]*|sess|session|session[-_]?key|sid|sig|sign|state|ticket|"
    r"user[-_]?(?:name|pass|id)?|uuid|verifier"
)
_ENDINGS = r"token|password|passwd|secret|sess(?:ion)?[-_]?id|signature|hmac|jwt|oauth|credentials?"
_WORD = rf"(?:{_WORDS}|[a-z]*(?:{_ENDINGS}))"
# The same text for Python's engine and for polars': no look-around, no back references.
TELLING = rf"(?i)([?&;](?:[^=&;#?]*[^a-z=&;#?])?{_WORD}(?:[^a-z=&;#?][^=&;#?]*)?=)[^&;#]+"
# The same in an address within a parameter, with its separators encoded: there the rest of the outer value goes.
TELLING_INSIDE = rf"(?i)(%(?:3f|26|3b)(?:[a-z0-9._-]*[^a-z=&;#?])?{_WORD}(?:[^a-z=&;#?%][a-z0-9._-]*)?%3d)[^&;#]+"

_TELLING = re.compile(TELLING)
_TELLING_INSIDE = re.compile(TELLING_INSIDE)
_SECRET = re.compile(rf"(?i)(?:.*[^a-z])?{_WORD}(?:[^a-z].*)?", re.DOTALL)
_JWT = re.compile(r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?")
_AUTHORITY = re.compile(r"(?s)([A-Za-z][A-Za-z0-9+.-]*://)([^/?#]*)(.*)")
_URL_IN_TEXT = re.compile(r"""[a-z][a-z0-9+.-]*://[^\s<>"',;]+""", re.IGNORECASE)

_DROPPED_HEADERS = frozenset(
    {"cookie", "set-cookie", "authorization", "proxy-authorization", "www-authenticate", "proxy-authenticate"}
)


def is_secret(name: str) -> bool:
    """Whether a parameter's or header's name says that its value is a secret."""
    return _SECRET.fullmatch(name) is not None


def redact_url(url: str) -> str:
    """The address without fragment, user information, the values of secret-looking parameters, and inline content.

    A ``data:`` URL keeps its media type, a ``blob:`` URL its origin: what follows is content, or names it. All else
    stays byte for byte as the server saw it. Redacting twice changes nothing.
    """
    url = url.strip().partition("#")[0]
    scheme = url.partition(":")[0].lower()
    if scheme == "data":
        return url.partition(",")[0][:100] + ","
    if scheme == "blob":
        inner = _AUTHORITY.match(url[5:])
        return f"blob:{inner[1]}{inner[2].rpartition('@')[2]}/" if inner else "blob:"
    if scheme == "javascript":
        return "javascript:"
    if parts := _AUTHORITY.fullmatch(url):
        url = parts[1] + parts[2].rpartition("@")[2] + parts[3]
    url = _TELLING.sub(rf"\1{REDACTED}", url)
    url = _TELLING_INSIDE.sub(rf"\1{REDACTED}", url)
    return _JWT.sub(REDACTED, url)


def redact_headers(headers: Mapping[str, str]) -> list[dict[str, str]]:
    """HAR's headers: without cookies and credentials, addresses redacted, names in lower case."""
    kept = []
    for raw_name, value in headers.items():
        name = raw_name.lower()
        if name in _DROPPED_HEADERS or is_secret(name):
            continue
        redacted = _JWT.sub(REDACTED, _URL_IN_TEXT.sub(lambda match: redact_url(match[0]), value))
        if name == "location":
            redacted = redact_url(redacted)  # relative ones too
        # Chromium joins values of repeated headers with line feeds.
        kept += [{"name": name, "value": part} for part in redacted.split("\n")]
    return kept
