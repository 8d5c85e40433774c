"""Captures in S3-compatible storage."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import obstore

from originset.data.captures.capture import MAX_BYTES, SUFFIX
from originset.data.captures.capture_store import INCOMING, StoredCapture, capture_name, require_staged, staged_key
from originset.data.errors import ClusterError
from originset.data.files.bucket import listed, open_bucket, remove_below, storage_errors


class BucketStore:
    """``s3://BUCKET/PREFIX``, with the methods of :class:`originset.data.captures.capture_store.FolderStore`.

    Each raises ``ClusterError`` where the storage is not reached or refuses.
    """

    def __init__(self, place: str) -> None:
        self.place = place
        self._store = open_bucket(place)

    def stage(self, name: str, visit_id: str, packed: bytes) -> str:
        key = staged_key(name, visit_id)
        with storage_errors(self.place):
            obstore.put(self._store, key, packed, use_multipart=False)
        return key

    def accept(self, key: str, visit_id: str) -> None:
        # S3 cannot rename objects; a concurrent listing has the whole capture or none.
        with storage_errors(self.place):
            obstore.copy(self._store, require_staged(key), _place_of(visit_id))
        self.discard(key)

    def discard(self, key: str) -> None:
        with storage_errors(self.place), contextlib.suppress(FileNotFoundError):
            obstore.delete(self._store, require_staged(key))

    def sweep(self) -> None:
        remove_below(self._store, self.place, INCOMING)

    def write(self, visit_id: str, packed: bytes) -> None:
        with storage_errors(self.place):
            obstore.put(self._store, _place_of(visit_id), packed, use_multipart=False)

    def read(self, visit_id: str) -> bytes | None:
        with storage_errors(self.place):
            try:
                stored = obstore.get(self._store, _place_of(visit_id))
            except FileNotFoundError:
                return None
            if stored.meta["size"] > MAX_BYTES:
                raise ClusterError(self.place, f"{_place_of(visit_id)} is larger than any capture")
            return stored.bytes().to_bytes()

    def captures(self) -> Iterator[StoredCapture]:
        for batch in listed(self._store, self.place):
            for entry in batch:
                if (visit_id := capture_name(entry["path"])) is not None:
                    yield StoredCapture(visit_id, entry["size"], int(entry["last_modified"].timestamp()))


def _place_of(visit_id: str) -> str:
    return f"{visit_id[:2]}/{visit_id}{SUFFIX}"
