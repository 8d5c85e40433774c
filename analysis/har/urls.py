"""URLs taken apart and rid of what must not be kept: user information, fragments, secrets, inline content.

Only distinct authorities, and only URLs in which something may have to go, are handled one by one; the rest is done by
column.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from urllib.parse import urljoin

import polars as pl

from originset.data.host_names import canonical_ip, normalise_host
from originset.data.sanitising.url_redaction import (
    MAX_URL,
    MAY_END_IN_SECRET,
    MAY_HIDE_SECRET,
    MAY_NAME_SECRET,
    SECRET_PARTS,
    redact_url,
)

DEFAULT_PORTS = {"https": 443, "wss": 443, "http": 80, "ws": 80, "ftp": 21}
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):", re.ASCII)
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://", re.ASCII)
_ORIGIN = re.compile(r"(https?:)//[^/?#]+", re.ASCII)
# Nearly all hosts are of this form and need no normalising: no port, no upper case, no IP address, only ASCII.
_PLAIN_HOST = re.compile(
    r"(?=.{1,253}\Z)[a-z0-9_][a-z0-9_-]{0,62}(?:\.[a-z0-9_-]{1,63})*\.[a-z][a-z0-9_-]{0,62}", re.ASCII
)


@lru_cache(maxsize=100_000)
def split_authority(authority: str) -> tuple[str | None, int | None]:
    """Host and port of a URL's authority; the host is None if it is not valid, the port if there is none.

    Hosts are lower-case A-labels (IDNA 2008 with UTS 46's mapping) without a trailing dot; IP literals are canonical,
    without brackets and zone.
    """
    if _PLAIN_HOST.fullmatch(authority):
        return authority, None
    text = authority.rpartition("@")[2].strip()
    if text.startswith("["):
        literal, _, rest = text[1:].partition("]")
        return canonical_ip(literal), _port(rest.removeprefix(":"))
    host, _, port = text.partition(":")
    return normalise_host(host), _port(port)


def _port(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 and 0 < int(text) < 65536 else None


def resolve_reference(base: str, reference: str) -> str | None:
    """The absolute URL, without fragment, of a redirect's target; None if it cannot be parsed."""
    if _ABSOLUTE.match(reference):
        return reference.partition("#")[0]
    rooted = reference.startswith("/") and not reference.startswith("///") and "/." not in reference
    if rooted and reference.isprintable() and (origin := _ORIGIN.match(base)):  # the most, and a tenth of the work
        return (origin[1] if reference.startswith("//") else origin[0]) + reference.partition("#")[0]
    try:
        return urljoin(base, reference).partition("#")[0]
    except ValueError:
        return None


def url_columns(urls: pl.Series, *, keep_secrets: bool = False) -> pl.DataFrame:
    """Columns ``bare``, ``url`` (sanitised), ``scheme``, ``host`` and ``port`` of a column of URLs.

    ``url`` is unchanged if secrets are kept. ``bare`` is unchanged without the fragment: what initiators refer to.
    """
    bare = pl.col("given").str.strip_chars().str.replace(r"(?s)#.*", "").alias("bare")
    head, gap, place = (pl.col(f"field_{number}") for number in range(3))
    frame = (
        urls.alias("given")
        .to_frame()
        .with_columns(bare)
        .with_columns(pl.col("bare").str.split_exact("/", 2).alias("parts"))
        .unnest("parts")
    )
    scheme = map_distinct(frame["field_0"], _scheme).alias("scheme")
    # `https:x//` is no address.
    web = (head.str.len_bytes() == pl.col("scheme").str.len_bytes() + 1) & pl.col("scheme").is_in(list(DEFAULT_PORTS))
    frame = frame.with_columns(scheme).with_columns(pl.when((gap == "") & web).then(place).alias("authority"))
    authorities = frame["authority"].drop_nulls().unique()
    split = [split_authority(authority.partition("?")[0]) for authority in authorities]
    parsed = pl.DataFrame(
        {"authority": authorities, "host": [host for host, _ in split], "port": [port for _, port in split]},
        schema={"authority": pl.String, "host": pl.String, "port": pl.Int32},
    )
    default = pl.col("scheme").replace_strict(DEFAULT_PORTS, default=None, return_dtype=pl.Int32)
    frame = frame.join(parsed, on="authority", how="left", maintain_order="left").with_columns(
        pl.when(pl.col("host").is_not_null()).then(pl.coalesce("port", default)).alias("port")
    )
    url = frame["given"].alias("url") if keep_secrets else _redacted_urls(frame)
    return frame.with_columns(url).select("bare", "url", "scheme", "host", "port")


def _scheme(head: str) -> str | None:
    """The scheme of a URL, in lower case, from its text up to the first slash."""
    match = _SCHEME.match(head)
    return match[1].lower() if match else None


def _redacted_urls(frame: pl.DataFrame) -> pl.Series:
    """``url``: redact_url over ``given``, called only for URLs that it might change."""
    bare = pl.col("bare")
    web = pl.col("authority").is_not_null()
    rows = frame.select("given", "bare", web.alias("web")).with_row_index("row").filter(bare.is_not_null())
    # Expensive tests run only on URLs that a cheaper test has selected.
    with_secret_names = rows.filter(bare.str.contains_any(list(SECRET_PARTS), ascii_case_insensitive=True))
    encoded = rows.filter(bare.str.contains(r"[%@\\\x00-\x20\x7f]|[^\x00-\x7f]"))
    suspect = pl.concat(
        [
            rows.filter(~pl.col("web") | (bare.str.len_bytes() > MAX_URL)),
            with_secret_names.filter(bare.str.contains(MAY_NAME_SECRET)),
            with_secret_names.filter(bare.str.contains(MAY_END_IN_SECRET)),
            encoded.filter(bare.str.contains(MAY_HIDE_SECRET)),
        ]
    ).unique("row")
    return frame["bare"].clone().scatter(suspect["row"], map_distinct(suspect["given"], redact_url)).alias("url")


def map_distinct(column: pl.Series, function: Callable[[str], str | None]) -> pl.Series:
    """A function applied to a column's distinct values."""
    values = column.drop_nulls().unique()
    mapped = pl.Series(column.name, [function(value) for value in values], dtype=pl.String)
    return mapped.gather(column.cast(pl.Enum(values)).to_physical())
