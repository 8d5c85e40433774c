"""Captures in a folder that machines share; the shape of every place that is not the study's own folder.

::

    PLACE/ab/<visit_id>.har.zst           captures, as in a study's own folder
    PLACE/incoming/<name>/<visit_id>      what a worker left, until the crawl has recorded the visit

Workers write below ``incoming`` alone, each attempt under a name of its own; the crawl moves into place what it
recorded and removes the rest. So what comes late from a worker that was given up takes no other's place.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from originset.data.captures.capture import MAX_BYTES, SUFFIX, capture_path, capture_paths, write_packed
from originset.data.errors import ClusterError
from originset.data.files.atomic_files import read_whole, replacing
from originset.data.files.nofollow import NotRegularError, list_folder, open_folder, remove_file, rename_file

INCOMING = "incoming"

# As long as any id or attempt; a file system takes no names of any length.
_HEX = re.compile("[0-9a-f]{1,64}")
_STAGED = re.compile(rf"{INCOMING}/{_HEX.pattern}/{_HEX.pattern}")
# What a worker staged, and files that were half written when it was killed.
_LEFT = re.compile(rf"{_HEX.pattern}|\.{_HEX.pattern}\.[0-9]+\.tmp")
_CAPTURE = re.compile(rf"(([0-9a-f]{{2}})/(\2[0-9a-f]{{1,62}}){re.escape(SUFFIX)})", re.ASCII)


@dataclass(frozen=True, slots=True)
class StoredCapture:
    """A capture in its place: its size in bytes, and when it was last changed, in whole seconds since 1970."""

    visit_id: str
    size: int
    changed: int


class FolderStore:
    """A folder that all machines reach under one path. Methods may be called from several threads."""

    def __init__(self, folder: Path) -> None:
        self.place = str(folder)
        self._folder = folder

    def stage(self, name: str, visit_id: str, packed: bytes) -> str:
        """Write a capture as a worker, and return the key by which the crawl finds it.

        Raises:
            OSError: it cannot be written, as by every other method.
        """
        key = staged_key(name, visit_id)
        with replacing(self._folder / key, private=True, below=self._folder) as temporary:
            temporary.write_bytes(packed)
        return key

    def accept(self, key: str, visit_id: str) -> None:
        """Move a staged capture to its place, atomically.

        Raises:
            ClusterError: it is not there.
        """
        place = capture_path(Path(), visit_id).parts
        try:
            rename_file(self._folder, tuple(require_staged(key).split("/")), place, folder_mode=0o700)
        except FileNotFoundError as error:
            raise ClusterError(self.place, f"{key} is not there; do all machines share this folder?") from error

    def discard(self, key: str) -> None:
        """Remove a staged capture, if it exists."""
        remove_file(self._folder, *require_staged(key).split("/"))

    def sweep(self) -> None:
        """Remove all staged captures that were not accepted; call while the study is locked. Other files stay."""
        # A late worker can write during this; the next crawl removes what it leaves.
        for attempt in list_folder(self._folder, INCOMING).folders:
            if _HEX.fullmatch(attempt) is None:
                continue
            for name in list_folder(self._folder, INCOMING, attempt).files:
                if _LEFT.fullmatch(name):
                    remove_file(self._folder, INCOMING, attempt, name)
            self._remove_folder_if_empty(INCOMING, attempt)
        self._remove_folder_if_empty(INCOMING)

    def _remove_folder_if_empty(self, *names: str) -> None:
        with contextlib.suppress(OSError), open_folder(self._folder, *names[:-1]) as folder:
            os.rmdir(names[-1], dir_fd=folder)

    def write(self, visit_id: str, packed: bytes) -> None:
        """Put a capture in its place."""
        write_packed(self._folder, visit_id, packed)

    def read(self, visit_id: str) -> bytes | None:
        """The content of a capture's file; None if there is no file, or it is a link."""
        try:
            return read_whole(capture_path(self._folder, visit_id), MAX_BYTES, below=self._folder)
        except (FileNotFoundError, NotRegularError):
            return None

    def captures(self) -> Iterator[StoredCapture]:
        """All captures, without staged ones."""
        for path in capture_paths(self._folder):
            if _CAPTURE.fullmatch(f"{path.parent.name}/{path.name}"):
                with contextlib.suppress(FileNotFoundError):
                    status = path.lstat()
                    yield StoredCapture(path.name.removesuffix(SUFFIX), status.st_size, int(status.st_mtime))


def staged_key(name: str, visit_id: str) -> str:
    """The key of the staged capture of one attempt."""
    return require_staged(f"{INCOMING}/{name}/{visit_id}")


def require_staged(key: str) -> str:
    """Check a key that a worker sent: it must be below ``incoming``.

    Raises:
        ClusterError: it is not below ``incoming``.
    """
    if _STAGED.fullmatch(key) is None:
        raise ClusterError("a worker", f"it left a capture where none may be: {key!r}")
    return key


def capture_name(path: str) -> str | None:
    """The visit whose capture lies at ``ab/<visit_id>.har.zst``; None if what lies there is none."""
    match = _CAPTURE.fullmatch(path)
    return None if match is None else match[3]
