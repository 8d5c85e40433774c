"""The HAR files below what a user names: files and folders; plain, gzip, zstandard or zip, told by their content."""

from __future__ import annotations

import gzip
import io
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import zstandard

from originset.data.errors import InputError, UsageError

# The largest HAR seen in the wild is some 300 MB; this bounds what a small compressed file can make us allocate.
MAX_BYTES = 1 << 30

_NAMES = (".har", ".har.gz", ".har.zst", ".har.zip", ".zip")
_MAYBE_NAMES = (".json", ".json.gz", ".json.zst")
_BEGINNING = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"log"\s*:')
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class HarFile:
    """A file to be read.

    ``source`` is its path from the folder that holds what was named; ``maybe`` says that only its beginning can tell
    whether it is meant.
    """

    path: Path
    source: str
    maybe: bool = False


def find_files(paths: Sequence[Path]) -> list[HarFile]:
    """The files to read, each once, in a stable order.

    Raises:
        UsageError: a path does not exist.
    """
    found: dict[Path, HarFile] = {}
    for path in paths:
        if not path.exists():
            raise UsageError(f"{path} does not exist")
        whole = path.resolve()
        if path.is_dir():
            for file in sorted(whole.rglob("*")):
                name = file.name.lower()
                if not name.startswith(".") and name.endswith(_NAMES + _MAYBE_NAMES) and file.is_file():
                    source = file.relative_to(whole.parent).as_posix()
                    found.setdefault(file, HarFile(file, source, maybe=not name.endswith(_NAMES)))
        else:
            found.setdefault(whole, HarFile(whole, path.name))
    return list(found.values())


def read_texts(file: HarFile) -> Iterator[tuple[str, bytes | InputError]]:
    """The HARs of a file with their sources: one, or a zip archive's many; an error in the place of one that fails.

    Nothing for a ``maybe`` file that does not begin like a HAR.
    """
    try:
        with file.path.open("rb") as opened:
            beginning = opened.read(4)
            opened.seek(0)
            if beginning == b"PK\x03\x04":
                yield from _members(opened, file.source)
                return
            text = _unpacked(opened, beginning, file.source)
    except OSError as error:
        yield file.source, InputError(file.source, "unreadable", f"cannot be read ({error.strerror or error})")
    except InputError as error:
        yield file.source, error
    else:
        if not file.maybe or _BEGINNING.match(text):
            yield file.source, text


def _unpacked(opened: io.BufferedReader, beginning: bytes, source: str) -> bytes:
    try:
        if beginning[:2] == b"\x1f\x8b":
            with gzip.open(opened) as unpacked:
                return _bounded(unpacked, source)
        if beginning == b"\x28\xb5\x2f\xfd":
            with zstandard.ZstdDecompressor().stream_reader(opened, read_across_frames=True) as unpacked:
                return _bounded(unpacked, source)
    except (EOFError, zlib.error, gzip.BadGzipFile, zstandard.ZstdError) as error:
        raise InputError(source, "damaged", f"its compression is damaged or cut off ({error})") from error
    return _bounded(opened, source)


def _members(opened: io.BufferedReader, source: str) -> Iterator[tuple[str, bytes | InputError]]:
    try:
        archive = zipfile.ZipFile(opened)
    except zipfile.BadZipFile as error:
        yield source, InputError(source, "damaged", f"a damaged zip archive ({error})")
        return
    with archive:
        for member in sorted(archive.infolist(), key=lambda member: member.filename):
            name = member.filename.lower()
            if member.is_dir() or not name.endswith((".har", ".json")):
                continue
            inner = f"{source}/{member.filename}"
            try:
                with archive.open(member) as unpacked:
                    text = _bounded(unpacked, inner)
            except InputError as error:
                yield inner, error
            except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError) as error:
                yield inner, InputError(inner, "damaged", f"cannot be unpacked ({error})")
            else:
                if name.endswith(".har") or _BEGINNING.match(text):
                    yield inner, text


def _bounded(file: IO[bytes] | gzip.GzipFile | zstandard.ZstdDecompressionReader, source: str) -> bytes:
    """All of a stream, which may claim to hold more than anybody has."""
    parts: list[bytes] = []
    size = 0
    while part := file.read(_CHUNK):
        parts.append(part)
        size += len(part)
        if size > MAX_BYTES:
            raise InputError(source, "too-large", f"larger than {MAX_BYTES >> 20} MiB")
    return b"".join(parts)
