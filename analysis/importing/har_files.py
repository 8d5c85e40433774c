"""The HAR and NetLog files below what a user names: files, folders, patterns, stdin.

They may be plain, gzip, zstandard or zip, by their content.
"""

from __future__ import annotations

import glob
import gzip
import hashlib
import io
import os
import re
import sys
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO, cast

import zstandard

from originset.analysis.netlog.netlog_file import is_netlog
from originset.data.errors import InputError, UsageError
from originset.data.sanitising.printable import path_text

# The largest known HAR is some 300 MB; this limits the memory that one file can take.
MAX_BYTES = 1 << 30
# HARs are compressed to a fortieth at most. A larger factor, beyond this size, is an attack.
MAX_GROWTH = 500
MIN_SUSPECT = 64 << 20
MAX_MEMBERS = 1_000_000

STDIN = "-"
_NAMES = (".har", ".har.gz", ".har.zst", ".har.zip", ".zip")
_PACKED = ("", ".gz", ".zst")
_MAYBE_NAMES = (".parquet", *(name + packed for name in (".json", ".jsonl", ".ndjson") for packed in _PACKED))
_BEGINNING = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"log"\s*:')
_ROW = re.compile(
    rb'\s*\{\s*"(?:date|client|page|is_root_page|root_page|rank|wptid|url|index|type|is_main_document|payload)"\s*:'
)
_EMPTY_ZIP = b"PK\x05\x06"
_PACKED_MEMBERS = (".zip", ".gz", ".zst")
_CHUNK = 1 << 20
_HEAD = 1 << 16  # bytes that tell what a file is


@dataclass(frozen=True, slots=True)
class HarFile:
    """A file to be read.

    ``source`` is its path from the folder that holds what was named; ``maybe`` says that only its beginning can tell
    whether it is meant.
    """

    path: Path
    source: str
    maybe: bool = False


@dataclass(frozen=True, slots=True)
class HarText:
    """One HAR's text, or a NetLog's; of a truncated compressed file, as much as could be unpacked.

    ``sha256``: of the file as it is, which costs a tenth of unpacked text; of an archive's member, of its text.
    """

    source: str
    text: bytes
    sha256: str


@dataclass(frozen=True, slots=True)
class ExportFile:
    """A file with rows of HTTP Archive's tables, which is not a HAR."""

    file: HarFile


def find_files(paths: Sequence[Path]) -> list[HarFile]:
    """The files to read, each once, in a stable order. ``-`` is stdin; a path that does not exist can be a pattern.

    Raises:
        UsageError: a path does not exist, and matches nothing; or a folder has no file that may be meant.
    """
    files_by_path: dict[Path, HarFile] = {}
    for path in paths:
        if str(path) == STDIN:
            files_by_path.setdefault(path, HarFile(path, STDIN))
            continue
        for path_or_match in [path] if path.exists() else _matches(path):
            real_path = Path(os.path.realpath(path_or_match))  # unlike resolve, it takes a link that leads to itself
            if not path_or_match.is_dir():
                files_by_path.setdefault(real_path, HarFile(real_path, path_text(Path(path_or_match.name))))
                continue
            within = _files_within(real_path)
            if not within:
                raise UsageError(f"{path} holds no file that is named like a HAR")
            for file in within:
                files_by_path.setdefault(file.path, file)
    return list(files_by_path.values())


def _files_within(folder: Path) -> list[HarFile]:
    """The files of a folder that can be HARs, in order; also dangling links, which are refused by name."""
    files = []
    for path in sorted(folder.rglob("*")):
        name = path.name.lower()
        if not name.startswith(".") and name.endswith(_NAMES + _MAYBE_NAMES) and (path.is_file() or not path.exists()):
            source = path_text(path.relative_to(folder.parent))
            files.append(HarFile(path, source, maybe=not name.endswith(_NAMES)))
    return files


def _matches(pattern: Path) -> list[Path]:
    matches = [Path(match) for match in sorted(glob.glob(str(pattern), recursive=True))]  # noqa: PTH207 - absolute too
    if not matches:
        wild = glob.has_magic(str(pattern))
        raise UsageError(f"{pattern} {'matches nothing' if wild else 'does not exist'}")
    return matches


def read_texts(file: HarFile) -> Iterator[HarText | ExportFile | InputError]:
    """The HARs of a file, or of all files in a zip archive; an InputError in place of one that fails.

    Nothing for a ``maybe`` file that does not begin like a HAR or a table's row.
    """
    try:
        if file.source == STDIN:
            yield from _stdin()
            return
        with file.path.open("rb") as opened:
            yield from _hars_of_stream(opened, file, file.path.stat().st_size)
    except OSError as error:
        yield InputError(file.source, "unreadable", f"cannot be read ({error.strerror or error})")
    except InputError as error:
        yield error


def _stdin() -> Iterator[HarText | ExportFile | InputError]:
    """Stdin, with a path made from its content, so that the same content is the same source."""
    content = _bounded(sys.stdin.buffer, STDIN)
    source = f"stdin-{hashlib.sha256(content).hexdigest()[:16]}"
    for har in _hars_of_stream(io.BytesIO(content), HarFile(Path(STDIN), source), len(content)):
        if isinstance(har, ExportFile):
            raise InputError(source, "not-har", "rows of a table are read from files; name the file")
        yield har


def _hars_of_stream(opened: BinaryIO, file: HarFile, size: int) -> Iterator[HarText | ExportFile | InputError]:
    beginning = opened.read(4)
    opened.seek(0)
    if beginning == b"PAR1":
        yield ExportFile(file)
    elif beginning in {b"PK\x03\x04", _EMPTY_ZIP}:
        yield from _members_or_none(opened, file.source)
    elif is_export(opened):
        yield ExportFile(file)
    elif not file.maybe or _is_meant(_head(opened)):
        yield _unpacked_text(opened, file.source, size)


def _is_meant(beginning: bytes) -> bool:
    return _BEGINNING.match(beginning) is not None or is_netlog(beginning)


def open_unpacked(opened: BinaryIO, chunk: int = _CHUNK, packed_chunk: int = _CHUNK) -> IO[bytes]:
    """A stream of the unpacked content, of any supported compression.

    It is unpacked ``chunk`` bytes at a time, of ``packed_chunk`` bytes that are read at a time. zstandard copies less
    where one read gives it a whole file.
    """
    opened.seek(0)
    beginning = opened.read(4)
    opened.seek(0)
    if beginning[:2] == b"\x1f\x8b":
        return cast("IO[bytes]", gzip.open(opened))
    if beginning == b"\x28\xb5\x2f\xfd":
        return io.BufferedReader(
            zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(
                opened, read_size=packed_chunk, read_across_frames=True, closefd=False
            ),
            chunk,
        )
    return opened


_DAMAGE = (EOFError, zlib.error, gzip.BadGzipFile, zstandard.ZstdError)


def _head(opened: BinaryIO) -> bytes:
    try:
        return open_unpacked(opened, _HEAD).read(_HEAD)
    except _DAMAGE:
        return b""


def is_export(opened: BinaryIO) -> bool:
    """Whether the content is JSON lines with a payload each, as HTTP Archive's tables are exported."""
    head = _head(opened)
    return _ROW.match(head) is not None and b'"payload"' in head


def _unpacked_text(opened: BinaryIO, source: str, packed: int) -> HarText:
    stream = open_unpacked(opened, packed_chunk=min(packed, MIN_SUSPECT) + 1)
    if stream is opened:
        if packed > MAX_BYTES:
            raise InputError(source, "too-large", f"larger than {MAX_BYTES >> 20} MiB")
        text = _bounded(opened, source, expected=packed)
        return HarText(source, text, hashlib.sha256(text).hexdigest())
    parts: list[bytes] = []
    try:
        _gather(stream, source, packed, parts, _told_size(opened))
    except _DAMAGE as error:
        if not parts:
            raise InputError(source, "damaged", f"its compression is damaged or cut off ({error})") from error
    if not parts and not isinstance(stream, gzip.GzipFile):  # which would have raised, as zstandard's reader does not
        raise InputError(source, "damaged", "nothing can be unpacked: cut off, or packed from an empty file")
    opened.seek(0)
    sha256 = hashlib.file_digest(cast("io.BufferedReader", opened), "sha256")
    return HarText(source, b"".join(parts), sha256.hexdigest())


def _members_or_none(opened: BinaryIO, source: str) -> Iterator[HarText | InputError]:
    has_members = False
    for member in _members(opened, source):
        has_members = True
        yield member
    if not has_members:
        yield InputError(source, "no-har", "no HAR is in this archive")


def _members(opened: BinaryIO, source: str) -> Iterator[HarText | InputError]:
    try:
        archive = zipfile.ZipFile(opened)
    # ValueError: a member's name is no UTF-8. NotImplementedError: a member needs a newer version of zip.
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        yield InputError(source, "damaged", f"a damaged zip archive ({error})")
        return
    with archive:
        members = sorted(archive.infolist(), key=lambda member: member.filename)
        if len(members) > MAX_MEMBERS:
            yield InputError(source, "too-large", f"{len(members):,} members; only {MAX_MEMBERS:,} are read")
        for member in members[:MAX_MEMBERS]:
            name = member.filename.lower()
            inner = f"{source}/{member.filename}"
            if name.endswith(_PACKED_MEMBERS):
                yield InputError(inner, "packed-twice", "packed within an archive: unpack that, import its folder")
            if member.is_dir() or not name.endswith((".har", ".json")):
                continue
            try:
                with archive.open(member) as unpacked:
                    text = _bounded(unpacked, inner, member.compress_size)
            except InputError as error:
                yield error
            except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, OSError) as error:
                yield InputError(inner, "damaged", f"cannot be unpacked ({error})")
            else:
                if name.endswith(".har") or _is_meant(text):
                    yield HarText(inner, text, hashlib.sha256(text).hexdigest())


def _told_size(opened: BinaryIO) -> int:
    """The content size in zstandard's first frame; 0 if it has none, or the file is not zstandard."""
    place = opened.tell()
    opened.seek(0)
    try:
        return max(0, int(zstandard.frame_content_size(opened.read(18))))
    except zstandard.ZstdError:
        return 0
    finally:
        opened.seek(place)


def _bounded(file: IO[bytes], source: str, packed: int | None = None, expected: int = 0) -> bytes:
    parts: list[bytes] = []
    _gather(file, source, packed, parts, expected)
    return b"".join(parts)


def _gather(file: IO[bytes], source: str, packed: int | None, parts: list[bytes], expected: int = 0) -> None:
    """Read a stream of any size into ``parts``, up to a limit.

    ``expected``: its size, if something tells it: then it is one part, and need not be copied.

    Raises:
        InputError: it is longer than a HAR can be, or than what was packed can have become.
    """
    # read1 returns what there is before an error; read would lose the last megabyte.
    read = getattr(file, "read1", file.read)
    size = 0
    bound = MAX_BYTES if packed is None else max(MIN_SUSPECT, packed * MAX_GROWTH)
    while part := read(_CHUNK if size else max(_CHUNK, min(expected, bound))):
        parts.append(part)
        size += len(part)
        if size > MAX_BYTES:
            raise InputError(source, "too-large", f"larger than {MAX_BYTES >> 20} MiB")
        if packed is not None and size > max(MIN_SUSPECT, packed * MAX_GROWTH):
            raise InputError(source, "bomb", f"{packed} bytes that unpack to more than {MAX_GROWTH} times their size")
