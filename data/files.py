"""Files that are whole or not there: written beside their place and renamed; and what a disk that fails says, in words.

The disk's own errors come in many shapes: as OSError from Python, as text from polars (``os error 28``), DuckDB and
SQLite. :func:`disk_fault` knows them all, so that each ends as one line that says what to do.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from originset.data.errors import OriginsetError

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
# What SQLite and DuckDB say in words of their own.
_WORDS = {
    "fsync failed": errno.EIO,
    "database or disk is full": errno.ENOSPC,
    "disk I/O error": errno.EIO,
    "attempt to write a readonly database": errno.EROFS,
    "unable to open database file": errno.EACCES,
}
_QUOTED = re.compile(r'"([^"]+)"')


@contextmanager
def replacing(path: Path, *, private: bool = False) -> Iterator[Path]:
    """A path to write to, whose file takes the place of ``path``, or is removed if something goes wrong.

    It is on the disk before it is in its place, so that not even a power cut leaves half of it. ``private``: for its
    owner alone.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        beside.unlink(missing_ok=True)
        made = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666)
        try:
            yield beside
            os.fsync(made)
        finally:
            os.close(made)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def read_whole(path: Path, limit: int) -> bytes:
    """A regular file's content; a link is not followed, a pipe not waited for.

    Raises:
        OSError: it is something else than a regular file, or cannot be read.
        OverflowError: it is larger than ``limit`` bytes.
    """
    opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(opened, "rb") as file:  # noqa: PTH123 - it is open already
        status = os.fstat(opened)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        if status.st_size > limit:
            raise OverflowError(status.st_size)
        return file.read()


def disk_fault(error: BaseException) -> tuple[str, str] | None:
    """What the disk or its owner refused, and what to do about it; None for an error of another kind."""
    if isinstance(error, OriginsetError):
        return None
    text = " ".join(str(error).split())
    number = error.errno if isinstance(error, OSError) else _number(text)
    if number not in _ADVICE:
        return None
    if isinstance(error, OSError):
        named = error.filename
    else:
        found = _QUOTED.search(text)
        named = found[1] if found else None
    said = os.strerror(number)
    return (said if named is None else f"{said}: {named}"), _ADVICE[number]


def _number(text: str) -> int | None:
    if told := re.search(r"\(os error (\d+)\)", text):
        return int(told[1])
    for said, number in _WORDS.items():
        if said in text:
            return number
    return next((number for number in _ADVICE if text.endswith(os.strerror(number))), None)
