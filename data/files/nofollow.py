"""Files of a folder that somebody else may have filled, opened without following symbolic links.

The folder that is named first (``below``) may itself be reached through links: its user named it. Under it each folder
is opened through the descriptor of the one above (openat(2) with ``O_NOFOLLOW``), and a file must be a regular one:
nothing waits for a pipe, reads a device, or reaches a file outside the folder.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MAXPATHLEN = 1024  # of macOS' sys/param.h


class NotRegularError(OSError):
    """A path is a link, a pipe, a device or of another kind that is refused; ``strerror`` says which."""


@dataclass(frozen=True, slots=True)
class Listing:
    """Names in a folder, sorted. ``others`` are neither regular files nor folders, links among them."""

    files: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


@contextmanager
def open_folder(below: Path, *names: str, make_mode: int | None = None) -> Iterator[int]:
    """A descriptor of the folder ``below/names...``; ``make_mode``: make those that are missing, with these rights.

    The name of a folder that was made is on the disk.

    Raises:
        NotRegularError: one of ``names`` is a link or no folder.
        OSError: it is not there, or cannot be opened or made.
    """
    if make_mode is not None:
        make_folder(below, make_mode)
    opened = os.open(below, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    path = below
    try:
        for name in names:
            path /= name
            inner = _open_inner(opened, name, path, make_mode)
            os.close(opened)
            opened = inner
        yield opened
    finally:
        os.close(opened)


def _open_inner(folder: int, name: str, path: Path, make_mode: int | None) -> int:
    if make_mode is not None:
        with suppress(FileExistsError), _with_path(path):
            os.mkdir(name, make_mode, dir_fd=folder)
            sync_names(folder)
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise _not_regular(folder, name, path, "is not a folder") from error
        error.filename = str(path)
        raise


def make_folder(path: Path, mode: int = 0o777) -> None:
    """Make a folder and those above it, unless it exists; the names of those that were made are on the disk.

    Raises:
        OSError: one cannot be made, or something else has its name.
    """
    try:
        path.mkdir(mode)
    except FileNotFoundError:
        make_folder(path.parent)
        path.mkdir(mode, exist_ok=True)
    except FileExistsError:
        if not path.is_dir():
            raise
        return
    with open_folder(path.parent) as above:
        sync_names(above)


def sync_names(folder: int) -> None:
    """Return once the names in an open folder are on the disk: of files that were created, renamed or removed in it.

    POSIX does not promise that of the fsync of a file. A file system that has no such call for folders is left alone.

    Raises:
        OSError: the disk failed.
    """
    try:
        os.fsync(folder)
    except OSError as error:
        if error.errno not in {errno.EINVAL, errno.ENOTSUP}:
            raise


def open_regular(below: Path, *names: str, flags: int = os.O_RDONLY, mode: int = 0o600) -> int:
    """A descriptor of the regular file ``below/names...``; ``flags`` and ``mode`` as of open(2).

    Raises:
        NotRegularError: it is something else, or lies behind a link.
        OSError: it is not there, or cannot be opened.
    """
    path = below.joinpath(*names)
    with open_folder(below, *names[:-1]) as folder:
        try:
            opened = os.open(names[-1], flags | _FILE, mode, dir_fd=folder)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENXIO, errno.EISDIR):
                raise _not_regular(folder, names[-1], path, "is not a regular file") from error
            error.filename = str(path)
            raise
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            os.close(opened)
            raise NotRegularError(errno.EINVAL, "is not a regular file", str(path))
    return opened


def stat_regular(below: Path, *names: str) -> os.stat_result | None:
    """The result of lstat(2) for the regular file ``below/names...``, which is not opened; None if it does not exist.

    Raises:
        NotRegularError: it is something else, or lies behind a link.
    """
    path = below.joinpath(*names)
    try:
        with open_folder(below, *names[:-1]) as folder, _with_path(path):
            status = os.lstat(names[-1], dir_fd=folder)
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(status.st_mode):
        raise NotRegularError(errno.ELOOP, "is a symbolic link, and none is followed", str(path))
    if not stat.S_ISREG(status.st_mode):
        raise NotRegularError(errno.EINVAL, "is not a regular file", str(path))
    return status


def read_regular(below: Path, *names: str, limit: int) -> bytes:
    """The content of the regular file ``below/names...``.

    Raises:
        OSError: as :func:`open_regular`.
        OverflowError: it is larger than ``limit`` bytes.
    """
    with open(open_regular(below, *names), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > limit:
            raise OverflowError(size)
        with _with_path(below.joinpath(*names)):
            content = file.read(limit + 1)
    if len(content) > limit:  # it grew meanwhile
        raise OverflowError(len(content))
    return content


def list_folder(below: Path, *names: str) -> Listing:
    """The names in the folder ``below/names...``; none if it does not exist.

    Raises:
        OSError: as :func:`open_folder`, but for a folder that is not there.
    """
    try:
        with open_folder(below, *names) as folder, os.scandir(folder) as entries:
            kinds = [(entry.name, _kind_of_entry(entry)) for entry in entries]
    except FileNotFoundError:
        return Listing()
    names_by_kind = {
        kind: tuple(sorted(name for name, its in kinds if its == kind)) for kind in ("file", "folder", "other")
    }
    return Listing(names_by_kind["file"], names_by_kind["folder"], names_by_kind["other"])


def _kind_of_entry(entry: os.DirEntry[str]) -> str:
    if entry.is_file(follow_symlinks=False):
        return "file"
    return "folder" if entry.is_dir(follow_symlinks=False) else "other"


def remove_file(below: Path, *names: str) -> None:
    """Remove the file or link ``below/names...``, if it is there; not even a power cut brings it back.

    Raises:
        OSError: as :func:`open_folder`, or it cannot be removed.
    """
    with suppress(FileNotFoundError), open_folder(below, *names[:-1]) as folder, _with_path(below.joinpath(*names)):
        os.unlink(names[-1], dir_fd=folder)
        sync_names(folder)


def rename_file(below: Path, source: tuple[str, ...], target: tuple[str, ...], *, folder_mode: int) -> None:
    """Move a file within a folder, in one step, which is on the disk then; what was in its new place is replaced.

    Raises:
        OSError: as :func:`open_folder`, or it cannot be moved.
    """
    with (
        open_folder(below, *source[:-1]) as leaves,
        open_folder(below, *target[:-1], make_mode=folder_mode) as enters,
        _with_path(below.joinpath(*source)),
    ):
        os.rename(source[-1], target[-1], src_dir_fd=leaves, dst_dir_fd=enters)
        sync_names(enters)


def _not_regular(folder: int, name: str, path: Path, otherwise: str) -> NotRegularError:
    with suppress(OSError):
        if stat.S_ISLNK(os.lstat(name, dir_fd=folder).st_mode):
            return NotRegularError(errno.ELOOP, "is a symbolic link, and none is followed", str(path))
    return NotRegularError(errno.EINVAL, otherwise, str(path))


def descriptor_path(descriptor: int) -> str:
    """A path to what a descriptor stands for, whatever has its name meanwhile.

    macOS has no such path: there it is the present one, and who may write to the folder above can still exchange it.
    """
    if sys.platform == "darwin":
        return os.fsdecode(fcntl.fcntl(descriptor, fcntl.F_GETPATH, bytes(_MAXPATHLEN)).rstrip(b"\0"))
    return f"/proc/self/fd/{descriptor}"


@contextmanager
def _with_path(path: Path) -> Iterator[None]:
    """Add the whole path to errors of calls that take a descriptor."""
    try:
        yield
    except OSError as error:
        error.filename, error.filename2 = str(path), None
        raise


@contextmanager
def private_folder(below: Path, name: str) -> Iterator[int]:
    """A descriptor of a new folder ``below/name`` that is ours alone, removed in the end with all that is in it.

    What another process left under that name is removed first. Who may write to ``below`` can give the name to
    something else meanwhile, but not what the descriptor stands for: :func:`descriptor_path` leads there.

    Raises:
        NotRegularError: something else than a folder has the name.
        OSError: it cannot be made or opened.
    """
    with open_folder(below) as top:
        remove_tree(top, name, below / name)
        os.mkdir(name, 0o700, dir_fd=top)
        with open_folder(below, name) as folder:
            if os.fstat(folder).st_uid != os.geteuid():
                raise NotRegularError(errno.EPERM, "is not the folder that was made", str(below / name))
            try:
                yield folder
            finally:
                with suppress(OSError):
                    remove_tree(top, name, below / name)


def remove_tree(folder: int, name: str, path: Path) -> None:
    """Remove the folder ``name`` of an open one, if it is there, with all that is in it; no link is followed.

    Raises:
        NotRegularError: it is no folder.
        OSError: it cannot be removed.
    """
    with suppress(FileNotFoundError):
        if not stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise _not_regular(folder, name, path, "is not a folder")
        shutil.rmtree(name, dir_fd=folder)
