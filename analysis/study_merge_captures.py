"""Captures of one study into another's place for them: linked or copied in folders, put where that is S3 storage."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from originset.data.capture import MAX_BYTES, SUFFIX, capture_path, write_packed
from originset.data.capture_place import bucket_of, captures_folder
from originset.data.capture_store import capture_name
from originset.data.errors import StudyError
from originset.data.files import read_whole, replacing
from originset.data.study import Study

if TYPE_CHECKING:
    from originset.data.capture_bucket import BucketStore

_AT_ONCE = 16
_PART = 1024


class _Folder:
    """A folder that captures come into. What brings one says whether it was still there."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def has(self, name: str) -> bool:
        return (self._folder / name).exists()

    def copy(self, visit_id: str, bucket: BucketStore) -> bool:
        if (packed := bucket.read(visit_id)) is None:
            return False
        write_packed(self._folder, visit_id, packed)
        return True

    def take(self, name: str, path: Path) -> bool:
        # A capture is never written to, only replaced by rename, so that two studies may share the file.
        place = self._folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(path, place, follow_symlinks=False)
        except OSError:
            with replacing(place) as beside:
                shutil.copyfile(path, beside, follow_symlinks=False)
        return True


class _Bucket:
    """Storage that captures come into; what is in it is asked once."""

    def __init__(self, store: BucketStore) -> None:
        self._store = store
        self._there = {_name(kept.visit_id) for kept in store.captures()}

    def has(self, name: str) -> bool:
        return name in self._there

    def copy(self, visit_id: str, bucket: BucketStore) -> bool:
        return (packed := bucket.read(visit_id)) is not None and self._put(visit_id, packed)

    def take(self, name: str, path: Path) -> bool:
        if (visit_id := capture_name(name)) is None:
            raise StudyError(path.parent.parent, f"{name} is not named as a capture is", "move it away")
        try:
            return self._put(visit_id, read_whole(path, MAX_BYTES))
        except OverflowError:
            raise StudyError(path.parent.parent, f"{name} is larger than any capture", "move it away") from None

    def _put(self, visit_id: str, packed: bytes) -> bool:
        self._store.write(visit_id, packed)
        self._there.add(_name(visit_id))
        return True


Target = _Folder | _Bucket


def target_of(study: Study) -> Target:
    """Where captures that are merged into a study come."""
    bucket = bucket_of(study)
    return _Folder(captures_folder(study)) if bucket is None else _Bucket(bucket)


def merge_captures(target: Target, source: Study) -> tuple[int, int, int]:
    """Captures that are new in the target, those it had already, and links, which are left out.

    Raises:
        StudyError: something in the source's folder cannot be a capture.
        ClusterError: S3 storage is not reached or refuses.
    """
    known = links = 0
    bucket = bucket_of(source)

    def new() -> Iterator[Callable[[], bool]]:
        nonlocal known, links
        if bucket is not None:
            for kept in bucket.captures():
                if target.has(_name(kept.visit_id)):
                    known += 1
                else:
                    yield partial(target.copy, kept.visit_id, bucket)
            return
        for path in sorted(captures_folder(source).glob(f"[0-9a-f][0-9a-f]/[0-9a-f]*{SUFFIX}")):
            name = f"{path.parent.name}/{path.name}"
            if path.is_symlink() or path.parent.is_symlink() or not path.is_file():
                links += 1
            elif target.has(name):
                known += 1
            else:
                yield partial(target.take, name, path)

    return _all_done(new()), known, links


def _all_done(calls: Iterator[Callable[[], bool]]) -> int:
    """Make all calls, some of which wait for storage, several at once; how many brought something."""
    done = 0
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        while part := list(islice(calls, _PART)):
            done += sum(pool.map(lambda call: call(), part))
    return done


def _name(visit_id: str) -> str:
    return capture_path(Path(), visit_id).as_posix()
