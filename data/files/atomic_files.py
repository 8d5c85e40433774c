"""Files that are whole or not there: written beside their place and renamed; and what a disk that fails says, in words.

The disk's own errors come in many shapes: as OSError from Python, as text from polars (``os error 28``), DuckDB and
SQLite. :func:`disk_fault` knows them all, so that each ends as one line that says what to do.
"""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from originset.data.errors import OriginsetError
from originset.data.files.nofollow import NotRegularError, descriptor_path, open_folder, read_regular, sync_names

_ADVICE = {
    errno.ENOSPC: "make room",
    errno.EDQUOT: "make room",
    errno.EFBIG: "lift the limit on the size of files (ulimit -f)",
    errno.EROFS: "make it writable",
    errno.EACCES: "get access to it",
    errno.EPERM: "get access to it",
    errno.EIO: "look after the disk",
    errno.ESTALE: "look after the file server",
    errno.ENOLCK: "use a file system that can lock files",
    errno.EMFILE: "raise the limit on open files (ulimit -n)",
    errno.ENFILE: "end what holds so many files open",
    errno.ENOTDIR: "move away what stands in its place",
    errno.EISDIR: "move away what stands in its place",
    errno.ELOOP: "put the file itself where the link is",
}
# What to do about originset.data.files.nofollow.NotRegularError.
NOT_REGULAR = "remove it, or put the file or folder itself in its place"
# Messages of SQLite and DuckDB without an error number.
_WORDS = {
    "fsync failed": errno.EIO,
    "database or disk is full": errno.ENOSPC,
    "disk I/O error": errno.EIO,
    "attempt to write a readonly database": errno.EROFS,
    "unable to open database file": errno.EACCES,
}
_QUOTED = re.compile(r'"([^"]+)"')
# What DuckDB says of a write that failed beside its own work: the error itself, as JSON, ends the text.
_OF_A_THREAD = re.compile(r'\{"exception_type":.*\}$')


@contextmanager
def replacing(path: Path, *, private: bool = False, below: Path | None = None) -> Iterator[Path]:
    """A path to write to, whose file takes the place of ``path``, or is removed if something goes wrong.

    It is on the disk before it is in its place, so that not even a power cut leaves half of it, and in its place on the
    disk when this ends. ``private``: for its
    owner alone, as are the folders that are made for it. ``below``: the folder under which no link is followed on the
    way to ``path``; its own folder by default. A link in the place of ``path`` itself is replaced, not followed.

    Raises:
        NotRegularError: a folder on the way is a link or no folder.
        OSError: it cannot be written; ``filename`` is set.
    """
    top = path.parent if below is None else below
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    written = ""
    names = path.parent.relative_to(top).parts
    with open_folder(top, *names, make_mode=0o700 if private else 0o777) as folder:
        try:
            with suppress(FileNotFoundError):
                os.unlink(temporary.name, dir_fd=folder)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(temporary.name, flags, 0o600 if private else 0o666, dir_fd=folder)
            try:
                # Not by its name, which others with access to the folder can replace by a link.
                written = descriptor_path(descriptor)
                yield Path(written)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            os.rename(temporary.name, path.name, src_dir_fd=folder, dst_dir_fd=folder)
            sync_names(folder)
        except BaseException as error:
            with suppress(OSError):
                os.unlink(temporary.name, dir_fd=folder)
            # A write to a full disk names no file, and a call that takes a descriptor names only the last part.
            if isinstance(error, OSError) and (
                error.filename is None or str(error.filename) in {temporary.name, written}
            ):
                error.filename, error.filename2 = str(path), None
            raise


def read_whole(path: Path, limit: int, below: Path | None = None) -> bytes:
    """A regular file's content; no link is followed under ``below`` (by default its own folder), no pipe waited for.

    Raises:
        OSError: it is something else than a regular file, or cannot be read.
        OverflowError: it is larger than ``limit`` bytes.
    """
    top = path.parent if below is None else below
    return read_regular(top, *path.relative_to(top).parts, limit=limit)


def disk_fault(error: BaseException) -> tuple[str, str] | None:
    """What the disk or its permissions refused, and what to do about it; None for other kinds of errors."""
    if isinstance(error, OriginsetError):
        return None
    if isinstance(error, NotRegularError):
        return f"{error.filename} {error.strerror}", NOT_REGULAR
    text = " ".join(_text(error).split())
    number = error.errno if isinstance(error, OSError) else _number(text)
    if number not in _ADVICE:
        return None
    if isinstance(error, OSError):
        path = error.filename
    else:
        match = _QUOTED.search(text)
        path = match[1] if match else None
    reason = os.strerror(number)
    return (reason if path is None else f"{reason}: {path}"), _ADVICE[number]


def _text(error: BaseException) -> str:
    text = str(error)
    if match := _OF_A_THREAD.search(text):
        with suppress(ValueError, KeyError, TypeError):
            return str(json.loads(match[0])["exception_message"])
    return text


def _number(text: str) -> int | None:
    if match := re.search(r"\(os error (\d+)\)", text):
        return int(match[1])
    for words, number in _WORDS.items():
        if words in text:
            return number
    return next((number for number in _ADVICE if text.endswith(os.strerror(number))), None)
