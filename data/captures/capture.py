"""The capture: one file a visit, a HAR 1.2 with one more field, ``log._originset``, for what HAR cannot say.

Crawl and analysis meet only here, so the shape is written down once, as msgspec structs, and versioned. Unknown fields
are ignored on reading: a later version may add, never change. All ``*_ms`` count from ``visit.started_at``.

A file is zstandard-compressed JSON, ``captures/ab/<visit_id>.har.zst``; it is written beside its place and renamed
last, so that a file under its name is whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import msgspec
import zstandard

from originset.data.errors import InputError
from originset.data.files.atomic_files import read_whole, replacing
from originset.data.files.nofollow import list_folder

VERSION = 1
SUFFIX = ".har.zst"
# The names of captures and of their folders.
FOLDER = re.compile("[0-9a-f]{2}")
NAME = re.compile(rf"[0-9a-f].*{re.escape(SUFFIX)}", re.DOTALL)

# A page's capture is some 100 kB, far below this. It limits the memory that a damaged file can take.
MAX_BYTES = 1 << 30


# JSON has numbers of any size, columns do not. A file with a number out of range is refused.
Count = Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)]
Id = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]
Milliseconds = Annotated[float, msgspec.Meta(ge=-1e10, le=1e10)]  # some four months: no visit lasts that long
Ttl = Annotated[int, msgspec.Meta(ge=0, lt=1 << 32)]  # RFC 2181 section 8: from 2^31 on it means 0

# Of ``log._originset``: a struct takes up to a hundred times its text in memory, a text in a list up to fifteen times.
_MAX_STRUCTS = 250_000
_MAX_VALUES = 4_000_000


class Visit(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The request for a page and its result. Fields have the meaning of the columns of the same names in ``visits``."""

    visit_id: str
    site: str
    url: str
    started_at: str  # RFC 3339, UTC, microseconds
    status: str  # ok, partial, failed
    rank: Count | None = None
    final_url: str | None = None
    error: str | None = None
    error_code: str | None = None
    vantage: str | None = None
    vantage_ip: str | None = None
    round: Count = 1
    repeat: Count = 1
    page_kind: str = "landing"
    client: str | None = None  # desktop, mobile
    profile: str | None = None
    browser: str | None = None
    browser_version: str | None = None
    third_party_cookies: str | None = None  # allowed, blocked
    ip_families: str | None = None  # 4, 6, both
    consent_banner: str | None = None  # seen, accepted, none, unknown
    challenge: bool | None = None
    user_agent: str | None = None
    viewport: str | None = None
    quality: list[str] = []
    load_ms: Milliseconds | None = None
    dom_content_loaded_ms: Milliseconds | None = None


#: A word of ``quality``: for some connection it is not known which host it was opened for.
UNNAMED = "unnamed_connections"

#: A word of ``quality``: the browser's log has events that cannot be read, and what they say is missing.
UNREAD = "unread_events"


class Connection(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One transport connection, used or not; ``id`` is Chromium's NetLog source id, as in the HAR entries."""

    id: Id
    first_host: str | None = None
    server_ip: str | None = None
    port: Count | None = None
    local_port: Count | None = None  # what a server's log calls this connection
    protocol: str | None = None  # ALPN: h2, http/1.1, h3
    tls: bool | None = None  # a handshake was completed
    tls_version: str | None = None
    resumed: bool | None = None
    ech: bool | None = None
    chain: list[str] | None = None  # certificate ids as sent, leaf first
    verified_chain: list[str] | None = None  # as the browser completed it, up to the root
    opened_ms: Milliseconds | None = None
    established_ms: Milliseconds | None = None
    closed_ms: Milliseconds | None = None
    used: bool = False
    privacy_mode: str | None = None
    partition_key: str | None = None
    origin_set: list[str] | None = None
    origin_ms: Milliseconds | None = None
    misdirected: list[str] = []  # hosts for which it answered 421, which the browser hides by asking elsewhere
    pooled_by_ip: list[str] = []  # other hosts that joined it because their addresses lead to it
    pooled_by_origin: list[str] = []  # other hosts that joined it because its ORIGIN frame lists them
    error: str | None = None  # net::ERR_* when it failed


class DnsQuery(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One name and record type within a lookup (a resolver job). Meanings: the columns of ``dns_queries``."""

    lookup_id: Count
    host: str
    rtype: str
    status: str | None = None
    answers: list[str] = []
    cname_chain: list[str] = []
    ttl: Ttl | None = None
    attempts: Count = 0
    cache_hits: Count | None = None  # later requests for the name that the browser's cache answered
    source: str = "browser"
    resolver: str | None = None
    asked_ms: Milliseconds | None = None
    took_ms: Milliseconds | None = None


class Features(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Features that Chromium's command line switches on (with ``:PARAMETERS``) and off; the ``TRIAL:GROUP`` it is in.

    None where the browser does not say: headless-shell does not log its command line.
    """

    enabled: list[str] | None = None
    disabled: list[str] | None = None
    field_trials: list[str] | None = None


class Extension(msgspec.Struct, kw_only=True, omit_defaults=True):
    """``log._originset``. ``certificates`` maps a certificate's id (SHA-256 of the DER, hex) to its DER in base64."""

    visit: Visit
    connections: list[Connection] = []
    dns: list[DnsQuery] = []
    certificates: dict[str, str] = {}
    links: list[str] = []  # chosen for visits of their own
    features: Features | None = None  # of Chromium; None for other browsers
    version: int = VERSION


class _Log(msgspec.Struct):
    extension: msgspec.Raw = msgspec.field(name="_originset")


class _Har(msgspec.Struct):
    log: _Log


_encoder = msgspec.json.Encoder()
_log_decoder = msgspec.json.Decoder(_Har)
_extension_decoder = msgspec.json.Decoder(Extension)


def capture_path(captures: Path, visit_id: str) -> Path:
    """Where a visit's capture lies below a study's ``captures`` folder."""
    return captures / visit_id[:2] / f"{visit_id}{SUFFIX}"


def capture_paths(captures: Path) -> Iterator[Path]:
    """All captures of a folder, in the order of their ids; half-written captures have other names and are skipped.

    Links, pipes and devices are skipped, and no link is followed.
    """
    for folder in list_folder(captures).folders:
        if FOLDER.fullmatch(folder):
            names = list_folder(captures, folder).files
            yield from (captures / folder / name for name in names if NAME.fullmatch(name))


def write_capture(captures: Path, har_log: dict[str, Any], extension: Extension) -> Path:
    """Write one visit: ``har_log`` is HAR 1.2's ``log`` object. Returns the path; the rename is the last step."""
    return write_packed(captures, extension.visit.visit_id, pack_capture(har_log, extension))


def pack_capture(har_log: dict[str, Any], extension: Extension) -> bytes:
    """The content of a capture's file: compressed JSON."""
    text = _encoder.encode({"log": {**har_log, "_originset": extension}})
    # Level 3: within 1 % of the size of slower levels on HARs, at a fifth of their cost.
    return zstandard.ZstdCompressor(level=3, write_checksum=True).compress(text)


def write_packed(captures: Path, visit_id: str, packed: bytes) -> Path:
    """Write the result of :func:`pack_capture` to the visit's capture file, by rename."""
    path = capture_path(captures, visit_id)
    with replacing(
        path, private=True, below=captures
    ) as temporary:  # addresses of pages hold what sessions are told by
        temporary.write_bytes(packed)
    return path


def read_capture_bytes(path: Path) -> bytes:
    """The JSON text of a capture, which lies at :func:`capture_path`.

    Raises:
        InputError: unreadable, not zstandard, cut off, or larger than any capture can be.
    """
    try:
        packed = read_whole(path, MAX_BYTES, below=path.parent.parent)
    except OverflowError as error:
        raise InputError(str(path), "too-large", f"larger than any capture: {error} bytes") from error
    except OSError as error:
        raise InputError(str(path), "unreadable", f"cannot be read ({error.strerror})") from error
    return unpack_capture(packed, str(path))


def unpack_capture(packed: bytes, source: str) -> bytes:
    """The JSON text of a capture file's content.

    Raises:
        InputError: not zstandard, cut off, or larger than any capture can be.
    """
    try:
        # The content size in the frame limits the memory; a frame without one was not written by this program.
        size = zstandard.get_frame_parameters(packed).content_size
        if size > MAX_BYTES:
            raise InputError(source, "too-large", f"would unpack to more than {MAX_BYTES} bytes")
        return zstandard.ZstdDecompressor().decompress(packed)
    except zstandard.ZstdError as error:
        raise InputError(source, "unreadable", f"not a whole zstandard file ({error})") from error


def decode_extension(text: bytes, source: str) -> Extension:
    """``log._originset`` of a capture's text.

    Raises:
        InputError: the text is not a capture, or a capture of an unknown version.
    """
    try:
        raw = _log_decoder.decode(text).log.extension
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise InputError(source, "not-capture", f"not a capture ({error})") from error
    return decode_raw_extension(raw, source)


def decode_raw_extension(raw: bytes | msgspec.Raw, source: str) -> Extension:
    """The text of ``log._originset``, decoded.

    Raises:
        InputError: a required field is missing, a number is out of range, there are more values than a capture can
            have, or its version is not known.
    """
    text = bytes(raw)
    if text.count(b"{") > _MAX_STRUCTS or text.count(b",") > _MAX_VALUES:
        raise InputError(source, "too-large", "more connections, lookups or certificates than any capture has")
    try:
        extension = _extension_decoder.decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise InputError(source, "not-capture", f"not a capture: log._originset is damaged ({error})") from error
    if extension.version > VERSION:
        raise InputError(source, "version", f"capture version {extension.version}; this program reads up to {VERSION}")
    return extension
