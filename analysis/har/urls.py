"""URLs taken apart and rid of what must not be kept: user information, fragments, secrets, inline content.

Only distinct authorities, and only URLs in which something must go, are handled one by one; the rest is done by column.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from functools import lru_cache
from urllib.parse import urljoin

import idna
import polars as pl

DEFAULT_PORTS = {"https": 443, "wss": 443, "http": 80, "ws": 80, "ftp": 21}
REDACTED = "REDACTED"

# Names of query parameters whose values let their holder in somewhere, or name a person's session.
_TELLING_NAMES = (
    "access[-_]?key|api[-_]?key|apikey|assertion|auth|authorization|auth[-_]?token|bearer|client[-_]?secret|code|"
    "credentials?|csrf|csrf[-_]?token|email|e[-_]?mail|hdnea|hdnts|hmac|jsessionid|jwt|key|key[-_]?pair[-_]?id|login|nonce|"
    "otp|pass|passwd|passwort|password|phpsessid|pin|policy|private[-_]?key|pwd|relaystate|saml\\w*|secret|session|"
    "session[-_]?(?:id|key|token)|sess[-_]?id|sid|sig|sign|signature|state|ticket|user[-_]?(?:name|pass|id)?|uuid|verifier|"
    "xsrf|\\w*[-_.]?token|\\w*[-_]secret|\\w*[-_]password|\\w*[-_]signature|\\w*[-_]credential|\\w*[-_]session|"
    "x-(?:amz|goog)-(?:signature|credential|security-token|accessid)|awsaccesskeyid|googleaccessid"
)
# The same text for Python's engine and for polars': no look-around, no back references.
_TELLING = rf"(?i)([?&;](?:{_TELLING_NAMES})=)[^&;#]*"
_JWT = r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?"
_TELLING_PATTERN = re.compile(_TELLING)
_JWT_PATTERN = re.compile(_JWT)
_AUTHORITY = re.compile(r"(?s)([A-Za-z][A-Za-z0-9+.-]*://)([^/?#]*)(.*)")
# Host names as they are in use: underscores are no letters of a host name, and still served.
_HOST = re.compile(r"(?=.{1,253}\Z)[a-z0-9_](?:[a-z0-9_-]{0,62})(?:\.[a-z0-9_-]{1,63})*", re.ASCII)


def sanitise_url(url: str) -> str:
    """The URL without fragment, user information, the values of secret-looking parameters, and inline content.

    A ``data:`` URL keeps its media type, a ``blob:`` URL its origin: what follows is content, or names it.
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
    url = _TELLING_PATTERN.sub(rf"\1{REDACTED}", url)
    return _JWT_PATTERN.sub(REDACTED, url)


@lru_cache(maxsize=100_000)
def split_authority(authority: str) -> tuple[str | None, int | None]:
    """Host and port of a URL's authority; the host is None where it is none, the port where none is given.

    Hosts are lower-case A-labels (IDNA 2008 with UTS 46's mapping) without a trailing dot; IP literals are canonical,
    without brackets and zone.
    """
    text = authority.rpartition("@")[2].strip()
    if text.startswith("["):
        literal, _, rest = text[1:].partition("]")
        return canonical_ip(literal), _port(rest.removeprefix(":"))
    host, _, port = text.partition(":")
    return normalise_host(host), _port(port)


def _port(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 and 0 < int(text) < 65536 else None


@lru_cache(maxsize=100_000)
def normalise_host(host: str) -> str | None:
    """The host as a lower-case A-label or canonical IP literal; None where it cannot be one."""
    name = host.strip().lower().removesuffix(".")
    if not name.isascii():
        try:
            name = idna.encode(name, uts46=True).decode()
        except (idna.IDNAError, UnicodeError):
            return None
    if name.replace(".", "").isdigit() or ":" in name:
        return canonical_ip(name)
    return name if _HOST.fullmatch(name) else None


@lru_cache(maxsize=100_000)
def canonical_ip(text: str) -> str | None:
    """An IP address in canonical text, without brackets, zone and port; None where it is no address.

    An IPv4 address mapped into IPv6 is that IPv4 address: that is what packets were sent to.
    """
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    text = text.partition("%")[0]
    if text.count(":") == 1:  # an IPv4 address with a port
        text = text.partition(":")[0]
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)


def resolve_reference(base: str, reference: str) -> str | None:
    """The absolute URL, without fragment, that a redirect's target means; None where it cannot be read."""
    try:
        return urljoin(base, reference).partition("#")[0]
    except ValueError:
        return None


def url_columns(urls: pl.Series) -> pl.DataFrame:
    """Columns ``bare``, ``url`` (sanitised), ``scheme``, ``host`` and ``port`` of a column of URLs.

    ``bare`` is as given but for the fragment: what initiators refer to.
    """
    bare = pl.col("given").str.strip_chars().str.replace(r"(?s)#.*", "").alias("bare")
    frame = (
        urls.alias("given")
        .to_frame()
        .with_columns(bare)
        .with_columns(
            pl.col("bare").str.extract(r"^([A-Za-z][A-Za-z0-9+.-]*):").str.to_lowercase().alias("scheme"),
            pl.col("bare").str.extract(r"(?i)^(?:https?|wss?|ftp)://([^/?]*)").alias("authority"),
        )
    )
    authorities = frame["authority"].drop_nulls().unique()
    split = [split_authority(authority) for authority in authorities]
    known = pl.DataFrame(
        {"authority": authorities, "host": [host for host, _ in split], "port": [port for _, port in split]},
        schema={"authority": pl.String, "host": pl.String, "port": pl.Int32},
    )
    frame = frame.join(known, on="authority", how="left", maintain_order="left").with_columns(
        pl.when(pl.col("host").is_not_null())
        .then(pl.coalesce("port", pl.col("scheme").replace_strict(DEFAULT_PORTS, default=None, return_dtype=pl.Int32)))
        .alias("port")
    )
    suspicious = (
        pl.col("authority").is_null()
        | pl.col("authority").str.contains("@", literal=True)
        | pl.col("bare").str.contains("eyJ", literal=True)
    )
    dirty = frame.filter(suspicious).get_column("given").drop_nulls().unique()
    cleaned = pl.DataFrame(
        {"given": dirty, "clean": [sanitise_url(url) for url in dirty]},
        schema={"given": pl.String, "clean": pl.String},
    )
    return frame.join(cleaned, on="given", how="left", maintain_order="left").select(
        "bare",
        pl.coalesce("clean", pl.col("bare").str.replace_all(_TELLING, f"${{1}}{REDACTED}")).alias("url"),
        "scheme",
        "host",
        "port",
    )


def map_distinct(column: pl.Series, function: Callable[[str], str | None]) -> pl.Series:
    """A function applied to a column's distinct values."""
    mapping = {value: function(value) for value in column.drop_nulls().unique()}
    return column.replace_strict(mapping, default=None, return_dtype=pl.String)
