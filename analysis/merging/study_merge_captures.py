"""Captures of one study into another's place for them: linked or copied in folders, put where that is S3 storage."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from originset.data.captures.capture import FOLDER, MAX_BYTES, NAME, capture_path, write_packed
from originset.data.captures.capture_place import bucket_of, captures_folder
from originset.data.captures.capture_store import capture_name
from originset.data.errors import StudyError
from originset.data.files.atomic_files import replacing
from originset.data.files.nofollow import (
    NotRegularError,
    list_folder,
    open_folder,
    open_regular,
    read_regular,
    stat_regular,
    sync_names,
)
from originset.data.studies.study import Study

if TYPE_CHECKING:
    from originset.data.captures.capture_bucket import BucketStore

_AT_ONCE = 16
_AT_ONCE_BYTES = 1 << 20
_PART = 1024


class _Folder:
    """A folder as the target of captures. Methods that add one return whether the source still had it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._linked_into: set[str] = set()

    def has(self, name: str) -> bool:
        try:
            return stat_regular(self._folder, *name.split("/")) is not None
        except NotRegularError:
            # A link in place of a capture is replaced, but nothing is written to a folder that is a link.
            return False

    def copy(self, visit_id: str, bucket: BucketStore) -> bool:
        if (packed := bucket.read(visit_id)) is None:
            return False
        write_packed(self._folder, visit_id, packed)
        return True

    def take(self, name: str, source: Path) -> bool:
        opened = open_regular(source, *name.split("/"))
        with open(opened, "rb") as file:  # noqa: PTH123 - it is open already
            status = os.fstat(opened)
            if status.st_size > MAX_BYTES:
                raise _too_large(source, name)
            # A capture is never written to, only replaced by rename: two studies of one user may share the file.
            is_private = status.st_uid == os.geteuid() and not status.st_mode & 0o077
            if not (is_private and self._link(name, source)):
                self._copy(name, file, source)
        return True

    def _link(self, name: str, source: Path) -> bool:
        folder, file = name.split("/")
        with open_folder(source, folder) as of, open_folder(self._folder, folder, make_mode=0o700) as into:
            try:
                os.link(file, file, src_dir_fd=of, dst_dir_fd=into, follow_symlinks=False)
            except OSError:
                return False
        self._linked_into.add(folder)
        return True

    def sync(self) -> None:
        """Return once the captures that were added are on the disk."""
        for name in self._linked_into:
            with open_folder(self._folder, name) as folder:
                sync_names(folder)
        self._linked_into.clear()

    def _copy(self, name: str, file: BinaryIO, source: Path) -> None:
        with (
            replacing(self._folder / name, private=True, below=self._folder) as temporary,
            temporary.open("wb") as copy,
        ):
            while part := _read(file, source / name):
                copy.write(part)


def _read(file: BinaryIO, path: Path) -> bytes:
    try:
        return file.read(_AT_ONCE_BYTES)
    except OSError as error:
        error.filename = str(path)
        raise


def _too_large(captures: Path, name: str) -> StudyError:
    return StudyError(captures, f"{name} is larger than any capture", "move it away")


class _Bucket:
    """S3 storage as the target of captures; its content is listed once."""

    def __init__(self, store: BucketStore) -> None:
        self._store = store
        self._there = {_name(stored.visit_id) for stored in store.captures()}

    def has(self, name: str) -> bool:
        return name in self._there

    def copy(self, visit_id: str, bucket: BucketStore) -> bool:
        return (packed := bucket.read(visit_id)) is not None and self._add_capture(visit_id, packed)

    def take(self, name: str, source: Path) -> bool:
        if (visit_id := capture_name(name)) is None:
            raise StudyError(source, f"{name} is not named as a capture is", "move it away")
        try:
            return self._add_capture(visit_id, read_regular(source, *name.split("/"), limit=MAX_BYTES))
        except OverflowError:
            raise _too_large(source, name) from None

    def sync(self) -> None:
        """Nothing: the storage has what it acknowledged."""

    def _add_capture(self, visit_id: str, packed: bytes) -> bool:
        self._store.write(visit_id, packed)
        self._there.add(_name(visit_id))
        return True


Target = _Folder | _Bucket


def target_of(study: Study) -> Target:
    """The target of captures that are merged into a study."""
    bucket = bucket_of(study)
    return _Folder(captures_folder(study)) if bucket is None else _Bucket(bucket)


def merge_captures(target: Target, source: Study, done: Callable[[int], None]) -> tuple[int, int, int]:
    """Copy captures into the target; returns how many are new, how many it had, and how many are links (left out).

    ``done`` is called with how many more are new.

    Raises:
        StudyError: something in the source's folder cannot be a capture.
        ClusterError: S3 storage is not reached or refuses.
    """
    already_there = links = 0
    bucket = bucket_of(source)

    def new() -> Iterator[Callable[[], bool]]:
        nonlocal already_there, links
        if bucket is not None:
            for stored in bucket.captures():
                if target.has(_name(stored.visit_id)):
                    already_there += 1
                else:
                    yield partial(target.copy, stored.visit_id, bucket)
            return
        captures = captures_folder(source)
        top = list_folder(captures)
        links += sum(FOLDER.fullmatch(name) is not None for name in (*top.files, *top.others))
        for folder in filter(FOLDER.fullmatch, top.folders):
            listing = list_folder(captures, folder)
            links += sum(NAME.fullmatch(name) is not None for name in (*listing.folders, *listing.others))
            for name in (f"{folder}/{file}" for file in listing.files if NAME.fullmatch(file)):
                if target.has(name):
                    already_there += 1
                else:
                    yield partial(target.take, name, captures)

    added = _captures_added(new(), done)
    target.sync()
    return added, already_there, links


def _captures_added(calls: Iterator[Callable[[], bool]], done: Callable[[int], None]) -> int:
    """Run all calls, several at once, because some wait for storage; returns how many added a capture."""
    added = 0
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        while part := list(islice(calls, _PART)):
            of_part = sum(pool.map(lambda call: call(), part))
            done(of_part)
            added += of_part
    return added


def _name(visit_id: str) -> str:
    return capture_path(Path(), visit_id).as_posix()
