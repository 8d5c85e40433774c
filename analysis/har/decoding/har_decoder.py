"""Decodes a HAR's text into structs: fast where all values have the right types, leniently where some have not."""

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
    require_values,
    too_many_parts,
)
from originset.analysis.har.decoding.structs import CountedStruct, Entry, Har, HarStruct, Log, Page, Program, Request
from originset.data.errors import InputError

_S = TypeVar("_S", bound=msgspec.Struct)


def _decoder_without(*absent: str) -> msgspec.json.Decoder[Har]:
    """A decoder that skips these fields of entries and leaves them None.

    Each field of a text is compared with the names of all fields that are read, so fewer fields decode faster.
    """
    fields: list[Any] = [
        (field.name, field.type, _same_default(field))
        for field in msgspec.structs.fields(Entry)
        if field.name not in absent
    ]
    entry: Any = msgspec.defstruct("Entry", fields, bases=(CountedStruct,), namespace=dict.fromkeys(absent), gc=False)
    log: Any = msgspec.defstruct("Log", [("entries", list[entry])], bases=(Log,), kw_only=True, gc=False)
    har: Any = msgspec.defstruct("Har", [("log", log)], bases=(Har,), kw_only=True, gc=False)
    return cast("msgspec.json.Decoder[Har]", msgspec.json.Decoder(har))


def _same_default(field: msgspec.structs.FieldInfo) -> object:
    if field.default_factory is not msgspec.NODEFAULT:
        return msgspec.field(name=field.encode_name, default_factory=field.default_factory)
    return msgspec.field(name=field.encode_name, default=field.default)


_decoder = msgspec.json.Decoder(Har)
# The beginnings of HARs whose recorders leave out many fields, which the decoders below skip.
_CREATOR_PREFIX = re.compile(
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
# An entry of which one sees whether it has a request.
_payload_decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(
    msgspec.defstruct(
        "Payload", [("request", Request | msgspec.UnsetType, msgspec.UNSET)], bases=(Entry,), kw_only=True, gc=False
    )
)
_MAX_DIGITS = 100
_BYTE_POSITION = re.compile(r"\(byte (\d+)\)")
# Lone surrogates, which JSON can spell and UTF-8 cannot; a pair is matched first and kept, and so is a backslash, whose
# own may stand before `ud800`.
_HEX = rb"[0-9a-fA-F]{2}"
_SURROGATES = re.compile(rb"(\\\\|\\u[dD][89abAB]%b\\u[dD][c-fC-F]%b)|\\u[dD][89a-fA-F]%b" % (_HEX, _HEX, _HEX))
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
    if (creator := _CREATOR_PREFIX.match(text)) is not None:
        decoder = _decoder_for_webpagetest if creator[1] else _decoder_for_browsers
    try:
        with bounded_parts():
            return decoder.decode(text).log
    except TooManyPartsError:
        raise too_many_parts(source) from None
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        # Either malformed JSON, or a value of an unexpected type: the lenient decoder distinguishes them.
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
        pages=[_lenient_struct(page, Page) for page in pages] if isinstance(pages, list) else None,
        creator=_program(log.get("creator")),
        browser=_program(log.get("browser")),
        # Unlike msgspec it writes NaN and infinity as they are, so that the extension's own reader refuses them.
        extension=None if extension is None else msgspec.Raw(json.dumps(extension).encode()),
    )


def _integer(digits: str) -> int:
    """An integer from its first hundred digits, which fit no field: Python refuses to read thousands of digits."""
    return int(digits[:_MAX_DIGITS])


def _program(value: object) -> Program | None:
    return _lenient_struct(value, Program) if isinstance(value, dict) else None


def _not_json(text: bytes, source: str, detail: str) -> InputError:
    # msgspec counts bytes, the standard library characters.
    try:
        msgspec.json.decode(text, type=msgspec.Raw)  # its syntax alone: a number that is too large is no mistake there
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        detail = str(error)
    if "truncated" in detail:
        return InputError(source, "truncated", "the file ends in the middle of its JSON", len(text))
    place = _BYTE_POSITION.search(detail)
    return InputError(source, "not-json", "not JSON", int(place[1]) if place else None)


def decode_payload(text: bytes) -> Entry | Page | None:
    """An entry, which has a request, or a page, as far as their fields have the right types; None if it is no object.

    Raises:
        msgspec.MsgspecError, UnicodeError, RecursionError: it is not JSON.
    """
    with suppress(msgspec.MsgspecError, UnicodeError):
        entry: Entry = _payload_decoder.decode(text)
        if isinstance(entry.request, Request):
            return entry
    value = msgspec.json.decode(text)
    if not isinstance(value, dict):
        return None
    return _entry(value) if "request" in value else _lenient_struct(value, Page)


def _entry(value: object) -> Entry:
    try:
        return msgspec.convert(value, Entry)
    except (msgspec.ValidationError, RecursionError):
        return _lenient_struct(value, Entry)


def _lenient_struct(value: object, kind: type[_S]) -> _S:
    """A struct of the fields with values of the right types, at any depth; the others keep their defaults."""
    if not isinstance(value, dict):
        return kind()
    values: dict[str, Any] = {}
    for field, struct in _fields(kind):
        raw = value.get(field.encode_name)
        if raw is None:
            continue
        try:
            values[field.name] = msgspec.convert(raw, field.type, strict=False)
        except (msgspec.ValidationError, RecursionError):
            if struct is None or not isinstance(raw, dict):
                continue
            with suppress(RecursionError):
                values[field.name] = _lenient_struct(raw, struct)
    return kind(**values)


@cache
def _fields(kind: type[msgspec.Struct]) -> list[tuple[msgspec.structs.FieldInfo, type[msgspec.Struct] | None]]:
    """Each field of a struct, and the struct that is its value, if it is one."""
    return [(field, _struct_in(field.type)) for field in msgspec.structs.fields(kind)]


def _struct_in(annotation: object) -> type[msgspec.Struct] | None:
    kinds = [annotation, *get_args(annotation)]
    return next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, HarStruct)), None)
