"""What must not be kept of a URL: one rule for captures, imports and copies of sources.

Cookies, credentials, post data and bodies are dropped where they are met; here is what hides in URLs.
Headers follow in :mod:`originset.data.sanitising.header_redaction`.

Strangers choose every text that comes here, so each is cut to a bound before anything looks at it, and is scanned in a
time that grows with its length: it is split at separators, and a regular expression sees a name of bounded length.
A text is decoded (percent-encoding, JSON's escapes) until decoding changes nothing; one that has not come to
rest after :data:`_DECODINGS` rounds was made to hide something.
"""

from __future__ import annotations

import base64
import binascii
import re
from functools import lru_cache
from urllib.parse import unquote_to_bytes

REDACTED = "REDACTED"

MAX_URL = 32 << 10
"""Characters of a URL that are looked at and kept. The longest in the recordings that this was tried on has 17,423."""

_MAX_NAME = 100
_MAX_USER_INFO = 300
_MAX_CACHED = 2000
_DECODINGS = 8

# Names whose values let their holder in somewhere, or name a person or a person's session. The first may stand anywhere
# in a name (`authToken`, `tokenId`), the others are whole words of it (`api_key`, `apiKey`, not `monkey`).
_ANYWHERE = (
    r"token|password|passwd|passcode|passphrase|secret|sess[-_]?id|session|signature|hmac|jwt|oauth|credential|cookie|"
    r"bearer|authoriz|authentic"
)
_WORDS = (
    "key|apikey|accesskey|privatekey|authkey|keypairid|awsaccesskeyid|googleaccessid|assertion|auth|code|csrf|xsrf|"
    "email|e-mail|hdnea|hdnts|login|nonce|otp|pass|passwort|phpsessid|pin|policy|pwd|relaystate|saml[a-z]*|sess|sid|"
    "sig|sign|state|ticket|user|username|userpass|userid|uuid|verifier"
)
_SECRET = re.compile(rf"(?ai)(?:^|[^a-z])(?:{_WORDS})(?:[^a-z]|$)|{_ANYWHERE}")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

# Over-estimates of the URLs that :func:`redact_url` changes, for polars' engines, whose time grows with a text's
# length: URLs with a part of a secret's name, and of these the ones where something follows it that gives it a value;
# letters that need no encoding; user information.
_ENCODED = r"%(?:25)*"
_BEFORE = rf"(?:^|[\x00-@\[-`{{-\x7f]|{_ENCODED}[0-9a-f]{{2}})"
SECRET_PARTS = (
    *re.sub(r"\[[^]]*\][*?]?", "", _WORDS).split("|"),
    *_ANYWHERE.replace("|sess[-_]?id", "").split("|"),
    *("eyJ", "basic", "digest", "negotiate"),
)
# The parts that contain no other part: a text with any part has one of these.
_LEAST_PARTS = [part for part in SECRET_PARTS if not any(other != part and other in part for other in SECRET_PARTS)]
_VALUED = rf"[\x00-%'-:<>@-\x7f]*(?:=|:|{_ENCODED}3[ad])"
MAY_NAME_SECRET = rf"(?i-u)(?:{_ANYWHERE}|{_BEFORE}(?:{_WORDS})){_VALUED}|eyJ|bearer|basic|digest|negotiate"
# As in `apiKey`, and in `apiKEY`.
MAY_END_IN_SECRET = rf"(?-u)(?:{'|'.join(f'{word[0].upper()}(?i:{word[1:]})' for word in _WORDS.split('|'))})"
MAY_HIDE_SECRET = (
    rf"(?i){_ENCODED}(?:[46][1-9a-f]|[57][0-9a]|3[0-9]|[01][0-9a-f]|2[de]|5[cf]|7f)|\\u|%(?:25){{5}}"
    rf"|(?::|{_ENCODED}3a|(?:/|{_ENCODED}2f){{2}})[^/?]*(?:@|{_ENCODED}40)|[\x00-\x20\x7f]|(?-i:[^\x00-\x7f])"
)

_SEPARATORS, _PATH_SEPARATORS = re.compile(r"([&;?])"), re.compile(r"([/&;])")
_ALL_BUT = {_SEPARATORS: ("&", re.compile("[;?]")), _PATH_SEPARATORS: ("/", re.compile("[&;]"))}
# Neither encoded nor made of parts: a secret only by its name.
_PLAIN = re.compile(r"(?:([^%\\=:@+\x00-\x20\x7f]*+)=)?+[^%\\=:@+\x00-\x20\x7f]*+")
_NOTHING_IN_IT = re.compile(r"(?:[^%\\=:@+\x00-\x20\x7fe]++|e(?!yJ))*+")
# What JSON in a URL has in its hundreds is replaced at once; it is neither a percent sign nor a hexadecimal digit, so
# that what decodes the others afterwards finds the same.
_MANY = 20
_COMMON = {f"%{ord(character):02X}": character for character in "\"',:/=&{}[] "}
_JSON_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")
_CONTROLS = dict.fromkeys([*range(32), 127])
_STRIPPED = "".join(character for character in map(chr, range(0x3001)) if character <= " " or character.isspace())
_AUTHORITY = re.compile(r"(?s)([A-Za-z][A-Za-z0-9+.-]{0,40}+://)([^/?#]*+)(.*)")
# It matches every name completely, whatever follows, so that no text is scanned twice.
_NAME_AND_MARK = re.compile(r"([\w$.\[\] -]++)([\"'\\`]*+)([=:]?)")
_PORT = re.compile(r"\d{1,5}(?!\w)")
_HOST = re.compile(r"[A-Za-z0-9_.-]{1,253}+")
_NUMERIC_HOST = re.compile(r"(?:\d{1,3}\.){3}\d{1,3}")
_USER_INFO_ENDS = re.compile(r"[\s/?#&=,;\"'<>{}()|\\]")
_SCHEME_WITH_VALUE = re.compile(r"(?i)\b(?:bearer|basic|digest|negotiate)[\s+]+[a-z0-9._~+/=-]{6}")
# Possessive, and it matches every start of one, so that no text is scanned twice.
_COMPACT = re.compile(r"eyJ[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+)*+")


def is_secret(name: str) -> bool:
    """Whether a parameter's or header's name says that its value is a secret."""
    return _is_secret_cached(name) if len(name) <= _MAX_NAME else _is_secret(name)


def _is_secret(name: str) -> bool:
    if not _names_part(name):  # a tenth of the time
        return False
    return _SECRET.search(name) is not None or _SECRET.search(_CAMEL.sub("_", name)) is not None


_is_secret_cached = lru_cache(maxsize=20_000)(_is_secret)


def redact_url(url: str) -> str:
    """A URL without fragment, user information, the values of secret-looking parameters, and inline content.

    A value (or a part of a path) that holds a secret within, whatever it is encoded in, goes as a whole. A ``data:``
    URL keeps its media type, a ``blob:`` URL its origin: what follows is content, or names it. What is longer than
    :data:`MAX_URL` characters ends with the last whole parameter before that. All else stays byte for byte as the
    server saw it. Redacting twice changes nothing.
    """
    scheme = url[:_MAX_NAME].lstrip(_STRIPPED).partition(":")[0].lower()
    if scheme == "data":
        return _media_type(url)
    url = _cut_to_limit(url.partition("#")[0].strip(_STRIPPED))
    if scheme == "blob":
        inner = _AUTHORITY.match(url[5:])
        return f"blob:{inner[1]}{inner[2].rpartition('@')[2]}/" if inner else "blob:"
    if scheme in {"javascript", "mailto", "tel", "sms"}:
        return f"{scheme}:"
    head, rest = "", url
    if parts := _AUTHORITY.fullmatch(url):
        authority = parts[2].rpartition("@")[2]
        head, rest = parts[1] + _redact_whole(authority), parts[3]
    path, mark, query = rest.partition("?")
    redacted = head + _redact_pieces(_PATH_SEPARATORS, path)
    return _cut_to_limit(redacted + mark + _redact_pieces(_SEPARATORS, query) if mark else redacted)


def _redact_whole(text: str) -> str:
    return text if _NOTHING_IN_IT.fullmatch(text) or not holds_secret(text) else REDACTED


def _cut_to_limit(url: str) -> str:
    """A long URL up to the last separator that is within the bound: half a parameter is not known for what it is."""
    if len(url) <= MAX_URL:
        return url
    return url[: max(url.rfind(mark, 0, MAX_URL) for mark in "&;?/") + 1]


def _media_type(url: str) -> str:
    media_type, comma, _ = url[:_MAX_NAME].lstrip(_STRIPPED).partition("#")[0].partition(",")
    return f"{media_type}," if comma and not holds_secret(media_type) else "data:,"


def _redact_pieces(separators: re.Pattern[str], text: str) -> str:
    """A path or query, redacted. A secret's value can contain separators: it ends where another name begins."""
    if _NOTHING_IN_IT.fullmatch(text):
        return text
    pieces = _separators_and_parts(separators, _COMPACT.sub(_without_token, text) if "eyJ" in text else text)
    hidden_by, hidden_in = "", 1  # what hid the piece before: its name, or something within
    for place in range(1, len(pieces), 2):
        mark, piece = pieces[place - 1], pieces[place]
        if hidden_by and not _ends_value(mark, piece, hidden_by):
            if pieces[hidden_in].endswith("="):  # the value begins with a separator
                pieces[hidden_in] += REDACTED
            pieces[place - 1] = pieces[place] = ""
            continue
        hidden_by, hidden_in = "", place
        if plain := _PLAIN.fullmatch(piece):
            if (name := plain[1]) is not None and is_secret(name):
                hidden_by, pieces[place] = "name", f"{name}={REDACTED if piece[-1] != '=' else ''}"
        else:
            rooted = mark == "/" and place > 3 and not pieces[place - 2]  # //user@host
            redact = _redact_piece_cached if len(piece) <= _MAX_CACHED else _redact_piece
            hidden_by, pieces[place] = redact(piece, f"//{piece}" if rooted else piece)
    return "".join(pieces)


def _separators_and_parts(separators: re.Pattern[str], text: str) -> list[str]:
    """Marks and pieces in turn; before the first piece there is no mark."""
    common, others = _ALL_BUT[separators]
    if others.search(text):
        return ["", *separators.split(text)]
    split_parts = text.split(common)  # a fifth of the time
    pieces = [common] * (2 * len(split_parts))
    pieces[0], pieces[1::2] = "", split_parts
    return pieces


def _ends_value(mark: str, piece: str, hidden_by: str) -> bool:
    return (mark == "&" and (hidden_by == "name" or "=" in piece)) or (
        mark == ";" and hidden_by == "name" and "=" in piece
    )


def _redact_piece(piece: str, text: str) -> tuple[str, str]:
    """Redact ``name=value`` or a segment of a path: returns the name of what was hidden, and the rest.

    ``text`` is the piece with what tells that it is an authority.
    """
    name, equals, value = piece.partition("=")
    decoded = _decoded_until_stable(name)
    if equals and (decoded is None or is_secret(decoded)):
        hidden_by = "name"
    elif holds_secret(text):
        hidden_by = "content"
    else:
        return "", piece
    if not equals or holds_secret(name):
        return hidden_by, REDACTED
    return hidden_by, f"{name}={REDACTED if value else ''}"


# Pages ask for the same again and again.
_redact_piece_cached = lru_cache(maxsize=4096)(_redact_piece)


def _without_token(found: re.Match[str]) -> str:
    """A token in JOSE's compact form (RFC 7515, 7516): three parts or five; of its first two also, if both are JSON."""
    parts = found[0].split(".")
    if len(parts) > 2 or (len(parts) == 2 and parts[1].startswith("eyJ")):
        return REDACTED
    try:
        content = base64.urlsafe_b64decode(parts[0] + "=" * (-len(parts[0]) % 4)).decode(errors="replace")
    except binascii.Error:
        content = ""
    return REDACTED if holds_secret(content) else found[0]


def _decoded_until_stable(text: str) -> str | None:
    """A text without its encodings; None if there are more levels of encoding than are legitimate."""
    if "%" not in text and "\\" not in text:
        return text if text.isprintable() else text.translate(_CONTROLS)
    for _ in range(_DECODINGS):
        before = text
        if text.count("%") > _MANY:
            for encoded, character in _COMMON.items():
                text = text.replace(encoded, character)
        text = unquote_to_bytes(text.encode(errors="surrogatepass")).decode(errors="replace")
        if "\\u" in text:
            text = _JSON_ESCAPE.sub(lambda found: chr(int(found[1], 16)), text)
        if text == before or not ("%" in text or "\\" in text):
            return text if text.isprintable() else text.translate(_CONTROLS)
    return None


def holds_secret(text: str) -> bool:
    """Whether a text, decoded, has a named secret, a user's name and password, or a token in it."""
    decoded = _decoded_until_stable(text)
    if decoded is None:
        return True
    return (
        _names_secret(decoded)
        or ("@" in decoded and _has_user_info(decoded))
        or ("eyJ" in decoded and _COMPACT.sub(_without_token, decoded) != decoded)
        or ((" " in decoded or "+" in decoded) and _SCHEME_WITH_VALUE.search(decoded) is not None)
    )


def _names_part(text: str) -> bool:
    return any(map(text.lower().__contains__, _LEAST_PARTS))


def _names_secret(text: str) -> bool:
    """``name=value``, ``"name": value`` or ``name:value`` with a secret's name."""
    if not _names_part(text):
        return False
    # Most names are repeated, and few are secret: only the places of these are examined.
    names = {name[-_MAX_NAME:] for name, _, mark in _NAME_AND_MARK.findall(text) if mark}
    if not any(map(is_secret, names)):
        return False
    for match in _NAME_AND_MARK.finditer(text):
        name, quotes, mark = match.groups()
        if not mark or match.end() == len(text) or not is_secret(name[-_MAX_NAME:]):
            continue
        if mark == "=" or quotes or not ("." in name or _PORT.match(text, match.end())):
            return True
    return False


def _has_user_info(text: str) -> bool:
    """``name:password@host``, or ``//name@host``."""
    at = -1
    while (at := text.find("@", at + 1)) >= 0:
        if _is_host(text, at + 1):
            before = text[max(0, at - _MAX_USER_INFO) : at]
            part = _USER_INFO_ENDS.split(before)[-1]
            _, colon, password = part.partition(":")
            if (colon and password) or (part and before.removesuffix(part).endswith("//")):
                return True
    return False


def _is_host(text: str, start: int) -> bool:
    """Whether there is a host at ``start``, and not the version of a package as in ``npm:package@1.2``."""
    if text.startswith(("[", "localhost"), start):
        return True
    match = _HOST.match(text, start)
    if match is None or "." not in match[0]:
        return False
    return match[0].rstrip(".").rpartition(".")[2].isalpha() or _NUMERIC_HOST.fullmatch(match[0]) is not None
