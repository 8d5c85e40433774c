"""Captures in S3-compatible storage, by obstore, which is part of the extra ``originset[cluster]``.

Credentials and endpoint are those of the process's environment (AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL and so on) and so
are never sent from one machine to another, nor written down.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager

import obstore
from obstore.exceptions import BaseError
from obstore.store import S3Store

from originset.data.capture import MAX_BYTES, SUFFIX
from originset.data.capture_store import INCOMING, Kept, capture_name, require_staged, staged_key
from originset.data.errors import ClusterError

_AT_ONCE = 1000  # what S3 lists and deletes with one request


class BucketStore:
    """``s3://BUCKET/PREFIX``, with the methods of :class:`originset.data.capture_store.FolderStore`.

    Each raises ``ClusterError`` where the storage is not reached or refuses.
    """

    def __init__(self, place: str) -> None:
        self.place = place
        with self._told():
            self._store = S3Store.from_url(place)

    def stage(self, name: str, visit_id: str, packed: bytes) -> str:
        key = staged_key(name, visit_id)
        with self._told():
            obstore.put(self._store, key, packed, use_multipart=False)
        return key

    def accept(self, key: str, visit_id: str) -> None:
        # S3 knows no renaming; whoever lists meanwhile finds the capture whole or not at all.
        with self._told():
            obstore.copy(self._store, require_staged(key), _place_of(visit_id))
        self.discard(key)

    def discard(self, key: str) -> None:
        with self._told(), contextlib.suppress(FileNotFoundError):
            obstore.delete(self._store, require_staged(key))

    def sweep(self) -> None:
        with self._told():
            for batch in obstore.list(self._store, INCOMING, chunk_size=_AT_ONCE):
                if paths := [entry["path"] for entry in batch]:
                    obstore.delete(self._store, paths)

    def write(self, visit_id: str, packed: bytes) -> None:
        with self._told():
            obstore.put(self._store, _place_of(visit_id), packed, use_multipart=False)

    def read(self, visit_id: str) -> bytes | None:
        with self._told():
            try:
                found = obstore.get(self._store, _place_of(visit_id))
            except FileNotFoundError:
                return None
            if found.meta["size"] > MAX_BYTES:
                raise ClusterError(self.place, f"{_place_of(visit_id)} is larger than any capture")
            return found.bytes().to_bytes()

    def captures(self) -> Iterator[Kept]:
        with self._told():
            for batch in obstore.list(self._store, chunk_size=_AT_ONCE):
                for entry in batch:
                    if (visit_id := capture_name(entry["path"])) is not None:
                        yield Kept(visit_id, entry["size"], int(entry["last_modified"].timestamp()))

    @contextmanager
    def _told(self) -> Iterator[None]:
        """The storage's errors in our words, of which the first line is enough."""
        try:
            yield
        except FileNotFoundError as error:
            raise ClusterError(self.place, "what was there is gone") from error
        except (OSError, BaseError) as error:
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise ClusterError(self.place, reason) from error


def _place_of(visit_id: str) -> str:
    return f"{visit_id[:2]}/{visit_id}{SUFFIX}"
