"""The shape of a HAR as far as it is read, and decoding into it: fast where the types are right, lenient where not.

Only the fields named here are ever decoded; bodies, cookies, headers and post data are skipped by the parser and so
never reach a table. Every field has a default: no recorder writes all of them. Source: HAR 1.2, and the fields that
start with ``_`` as the recorders in :mod:`originset.analysis.har.recorders` write them.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from functools import cache
from typing import Any, TypeVar, cast, get_args

import msgspec

from originset.analysis.har.decoding.bounds import (
    LARGE,
    MAX_PARTS,
    MAX_VALUES,
    TooManyPartsError,
    bounded_parts,
    count_part,
    require_values,
    too_many_parts,
)
from originset.analysis.har.numbers import Milliseconds, Number, Place, Quantity
from originset.data.errors import InputError


class _Struct(msgspec.Struct, kw_only=True, gc=False, omit_defaults=True):
    """Never part of a reference cycle: the garbage collector need not look."""


class _Part(_Struct):
    """What a file may hold any number of: it is counted while the file is decoded, before there are too many."""

    def __post_init__(self) -> None:
        count_part()


class Frame(_Struct):
    url: str | None = None


class Frames(_Struct, array_like=True):
    """The innermost of dozens of frames: the first nearly always tells, and the parser skips the rest quickly."""

    first: Frame | None = None
    second: Frame | None = None
    third: Frame | None = None
    fourth: Frame | None = None


class Stack(_Struct):
    frames: Frames | None = msgspec.field(name="callFrames", default=None)
    parent: Stack | None = None


class Initiator(_Struct):
    """CDP's Network.Initiator, which DevTools and chrome-har-capturer write as it is."""

    url: str | None = None
    stack: Stack | None = None


class SecurityDetails(_Struct):
    """CDP's Network.SecurityDetails; times in seconds since 1970."""

    protocol: str | None = None
    subject: str | None = msgspec.field(name="subjectName", default=None)
    issuer: str | None = None
    names: list[str] | None = msgspec.field(name="sanList", default=None)
    valid_from: Quantity | None = msgspec.field(name="validFrom", default=None)
    valid_to: Quantity | None = msgspec.field(name="validTo", default=None)


class Request(_Struct):
    url: str | None = None
    method: str | None = None
    http_version: str | None = msgspec.field(name="httpVersion", default=None)


class Content(_Struct):
    mime_type: str | None = msgspec.field(name="mimeType", default=None)


class Response(_Struct):
    status: Quantity | None = None
    http_version: str | None = msgspec.field(name="httpVersion", default=None)
    content: Content | None = None
    redirect_url: str | None = msgspec.field(name="redirectURL", default=None)
    headers_size: Quantity | None = msgspec.field(name="headersSize", default=None)
    body_size: Quantity | None = msgspec.field(name="bodySize", default=None)
    transfer_size: Quantity | None = msgspec.field(name="_transferSize", default=None)
    error: str | None = msgspec.field(name="_error", default=None)
    # Playwright
    failure: str | None = msgspec.field(name="_failureText", default=None)
    service_worker: bool | None = msgspec.field(name="_fetchedViaServiceWorker", default=None)


class Timings(_Struct):
    """Milliseconds; -1 means that there was no such phase."""

    blocked: Milliseconds | None = None
    dns: Milliseconds | None = None
    connect: Milliseconds | None = None
    ssl: Milliseconds | None = None
    send: Milliseconds | None = None
    wait: Milliseconds | None = None
    receive: Milliseconds | None = None


class CacheState(_Struct):
    pass


class Cache(_Struct):
    before: CacheState | None = msgspec.field(name="beforeRequest", default=None)


class DnsEndpoint(_Struct):
    address: str | None = msgspec.field(name="endpoint_address", default=None)


class DnsResults(_Struct):
    names: list[str] | None = msgspec.field(name="canonical_names", default=None)
    endpoints: list[DnsEndpoint] | None = msgspec.field(name="ip_endpoints", default=None)


class DnsTransaction(_Struct):
    rtype: str | None = msgspec.field(name="dns_query_type", default=None)


class DnsInfo(_Struct):
    """What WebPageTest found in Chrome's NetLog on the lookup of an entry's host."""

    transactions: list[DnsTransaction] | None = msgspec.field(name="transactions_needed", default=None)
    results: DnsResults | None = None


class Entry(_Part):
    page: str | None = msgspec.field(name="pageref", default=None)
    started: str | None = msgspec.field(name="startedDateTime", default=None)
    request: Request = msgspec.field(default_factory=Request)
    response: Response = msgspec.field(default_factory=Response)
    timings: Timings = msgspec.field(default_factory=Timings)
    cache: Cache | None = None
    server_ip: str | None = msgspec.field(name="serverIPAddress", default=None)
    connection: str | Number | None = None
    initiator: str | Initiator | None = msgspec.field(name="_initiator", default=None)
    initiator_index: Place | None = msgspec.field(name="_initiatorIndex", default=None)
    resource_type: str | None = msgspec.field(name="_resourceType", default=None)
    security: SecurityDetails | None = msgspec.field(name="_securityDetails", default=None)
    error: str | None = msgspec.field(name="_error", default=None)
    frame_url: str | None = msgspec.field(name="_frameUrl", default=None)
    transfer_size: Quantity | None = msgspec.field(name="_transferSize", default=None)
    from_cache: str | bool | None = msgspec.field(name="_fromCache", default=None)
    # chrome-har-capturer
    from_disk_cache: bool | None = msgspec.field(name="_fromDiskCache", default=None)
    # DevTools since 2023: `connection` is the port there, and this is the id.
    connection_id: str | Number | None = msgspec.field(name="_connectionId", default=None)
    # originset
    credentials: str | None = msgspec.field(name="_credentials", default=None)
    # Safari
    fetch_type: str | None = msgspec.field(name="_fetchType", default=None)
    # WebPageTest
    socket: Number | str | None = msgspec.field(name="_socket", default=None)
    ip_addr: str | None = msgspec.field(name="_ip_addr", default=None)
    protocol: str | None = msgspec.field(name="_protocol", default=None)
    request_type: str | None = msgspec.field(name="_request_type", default=None)
    certificates: list[str] | None = msgspec.field(name="_certificates", default=None)
    tls_version: str | None = msgspec.field(name="_tls_version", default=None)
    tls_resumed: str | bool | None = msgspec.field(name="_tls_resumed", default=None)
    dns_info: DnsInfo | None = msgspec.field(name="_dns_info", default=None)
    # From the page's start; 0 or -1 where there was none. Texts before 2020.
    load_start: Milliseconds | str | None = msgspec.field(name="_load_start", default=None)
    connect_start: Milliseconds | str | None = msgspec.field(name="_connect_start", default=None)
    connect_end: Milliseconds | str | None = msgspec.field(name="_connect_end", default=None)
    ssl_end: Milliseconds | str | None = msgspec.field(name="_ssl_end", default=None)


class PageTimings(_Struct):
    on_load: Milliseconds | None = msgspec.field(name="onLoad", default=None)
    on_content_load: Milliseconds | None = msgspec.field(name="onContentLoad", default=None)


class Page(_Part):
    id: str | None = None
    started: str | None = msgspec.field(name="startedDateTime", default=None)
    title: str | None = None
    timings: PageTimings = msgspec.field(name="pageTimings", default_factory=PageTimings)
    # chrome-har and WebPageTest
    url: str | None = msgspec.field(name="_url", default=None)
    address: str | None = msgspec.field(name="_URL", default=None)
    browser: str | None = msgspec.field(name="_browser_name", default=None)
    browser_version: str | None = msgspec.field(name="_browser_version", default=None)


class Program(_Struct):
    name: str | None = None
    version: str | None = None
    comment: str | None = None


class Log(_Struct):
    entries: list[Entry]
    pages: list[Page] | None = None
    creator: Program | None = None
    browser: Program | None = None
    extension: msgspec.Raw | None = msgspec.field(name="_originset", default=None)


class Har(_Struct):
    log: Log


_S = TypeVar("_S", bound=msgspec.Struct)


def _decoder_without(*absent: str) -> msgspec.json.Decoder[Har]:
    """A decoder whose entries have None for these fields, and do not look for them.

    Every field that is not read is compared with the names of all that are.
    """
    fields: list[Any] = [
        (field.name, field.type, _same_default(field))
        for field in msgspec.structs.fields(Entry)
        if field.name not in absent
    ]
    entry: Any = msgspec.defstruct("Entry", fields, bases=(_Part,), namespace=dict.fromkeys(absent), gc=False)
    log: Any = msgspec.defstruct("Log", [("entries", list[entry])], bases=(Log,), kw_only=True, gc=False)
    har: Any = msgspec.defstruct("Har", [("log", log)], bases=(Har,), kw_only=True, gc=False)
    return cast("msgspec.json.Decoder[Har]", msgspec.json.Decoder(har))


def _same_default(field: msgspec.structs.FieldInfo) -> object:
    if field.default_factory is not msgspec.NODEFAULT:
        return msgspec.field(name=field.encode_name, default_factory=field.default_factory)
    return msgspec.field(name=field.encode_name, default=field.default)


_decoder = msgspec.json.Decoder(Har)
# What HARs of these begin with, and fields that only others write, or that are not looked for in theirs.
_CREATOR = re.compile(
    rb'\s*\{\s*"log"\s*:\s*\{\s*(?:"version"\s*:\s*"[0-9.]*"\s*,\s*)?"creator"\s*:\s*\{\s*"name"\s*:\s*'
    rb'"(?:(WebPagetest)|WebInspector|Chrome HAR Capturer|chrome-har|[bB]rowsertime|Firefox|[sS]plash)[^"\\]*"'
)
_decoder_for_webpagetest = _decoder_without(
    *("initiator_index", "frame_url", "credentials"),  # originset
    *("resource_type", "from_cache", "from_disk_cache", "connection", "connection_id", "fetch_type"),
)
_decoder_for_browsers = _decoder_without(
    *("initiator_index", "frame_url", "credentials", "transfer_size"),
    *("socket", "ip_addr", "protocol", "certificates", "tls_version", "tls_resumed", "dns_info"),
    *("load_start", "connect_start", "connect_end", "ssl_end"),
)
_entry_decoder = msgspec.json.Decoder(Entry)
_MAX_DIGITS = 100
_BYTE = re.compile(r"\(byte (\d+)\)")
# Lone surrogates, which JSON can spell and UTF-8 cannot; a pair is matched first and kept.
_SURROGATES = re.compile(rb"(\\u[dD][89abAB]..\\u[dD][c-fC-F]..)|\\u[dD][89a-fA-F]..")
_BOMS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}


def decode(text: bytes, source: str) -> Log:
    """The ``log`` of a HAR, its entries in the order of the file.

    Fields of the wrong type count as absent (numbers in strings are numbers); an entry that is no object is an entry
    of which nothing is known. ``_originset`` stays text.

    Raises:
        InputError: ``empty``, ``not-json``, ``truncated``, ``not-har``, ``too-deep`` or ``too-large``, with the place
            if it is known.
    """
    text = _utf8(text, source)
    if len(text) > LARGE:
        require_values(text, source, MAX_VALUES)
    decoder = _decoder
    if (creator := _CREATOR.match(text)) is not None:
        decoder = _decoder_for_webpagetest if creator[1] else _decoder_for_browsers
    try:
        with bounded_parts():
            return decoder.decode(text).log
    except TooManyPartsError:
        raise too_many_parts(source) from None
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        # Malformed, or merely unlike its kind: the slow way tells them apart.
        return _decode_leniently(text, source)


def _utf8(text: bytes, source: str) -> bytes:
    if encoding := _BOMS.get(text[:2]):
        text = text.decode(encoding, errors="replace").encode(errors="replace")
    text = text.removeprefix(b"\xef\xbb\xbf")
    if not text or text.isspace():
        raise InputError(source, "empty", "the file is empty")
    return text


def _decode_leniently(text: bytes, source: str) -> Log:
    require_values(text, source)
    try:
        har = json.loads(
            _SURROGATES.sub(lambda found: found[1] or b"\\ufffd", text).decode(errors="replace"), parse_int=_integer
        )
    except RecursionError:
        raise InputError(source, "too-deep", "nested deeper than any HAR") from None
    except ValueError as error:
        raise _not_json(text, source, str(error)) from None
    log = har.get("log") if isinstance(har, dict) else None
    if not isinstance(log, dict):
        raise InputError(source, "not-har", "JSON, but not a HAR: it has no log object")
    if not isinstance(log.get("entries"), list):
        raise InputError(source, "not-har", "JSON, but not a HAR: its log has no list of entries")
    pages = log.get("pages")
    if len(log["entries"]) + (len(pages) if isinstance(pages, list) else 0) > MAX_PARTS:
        raise too_many_parts(source)
    extension = log.get("_originset")
    return Log(
        entries=[_entry(entry) for entry in log["entries"]],
        pages=[_loosely(page, Page) for page in pages] if isinstance(pages, list) else None,
        creator=_program(log.get("creator")),
        browser=_program(log.get("browser")),
        # Unlike msgspec it writes what is not finite as such, so that the extension's own reader refuses it.
        extension=None if extension is None else msgspec.Raw(json.dumps(extension).encode()),
    )


def _integer(digits: str) -> int:
    """Python refuses a number of thousands of digits, and the file with it; its first hundred fit no field either."""
    return int(digits[:_MAX_DIGITS])


def _program(value: object) -> Program | None:
    return _loosely(value, Program) if isinstance(value, dict) else None


def _not_json(text: bytes, source: str, detail: str) -> InputError:
    # msgspec counts bytes, the standard library characters.
    try:
        msgspec.json.decode(text, type=msgspec.Raw)  # its syntax alone: a number that is too large is no mistake there
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        detail = str(error)
    if "truncated" in detail:
        return InputError(source, "truncated", "the file ends in the middle of its JSON", len(text))
    place = _BYTE.search(detail)
    return InputError(source, "not-json", "not JSON", int(place[1]) if place else None)


def decode_entry(text: bytes, value: object) -> Entry:
    """One entry; ``value`` is ``text`` decoded, for where it is unlike its kind."""
    try:
        return _entry_decoder.decode(text)
    except (msgspec.MsgspecError, UnicodeError):
        return _entry(value)


def decode_page(value: object) -> Page:
    """One page, as far as its fields have the right types."""
    return _loosely(value, Page)


def _entry(value: object) -> Entry:
    try:
        return msgspec.convert(value, Entry)
    except (msgspec.ValidationError, RecursionError):
        return _loosely(value, Entry)


def _loosely(value: object, kind: type[_S]) -> _S:
    """A struct of the fields that can be read as their types, at any depth; the others keep their defaults."""
    if not isinstance(value, dict):
        return kind()
    known: dict[str, Any] = {}
    for field, struct in _fields(kind):
        given = value.get(field.encode_name)
        if given is None:
            continue
        try:
            known[field.name] = msgspec.convert(given, field.type, strict=False)
        except (msgspec.ValidationError, RecursionError):
            if struct is None or not isinstance(given, dict):
                continue
            with suppress(RecursionError):
                known[field.name] = _loosely(given, struct)
    return kind(**known)


@cache
def _fields(kind: type[msgspec.Struct]) -> list[tuple[msgspec.structs.FieldInfo, type[msgspec.Struct] | None]]:
    """Each field of a struct, and the struct that is its value, if it is one."""
    return [(field, _struct_in(field.type)) for field in msgspec.structs.fields(kind)]


def _struct_in(annotation: object) -> type[msgspec.Struct] | None:
    kinds = [annotation, *get_args(annotation)]
    return next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, _Struct)), None)
