"""Files that a cluster's workers get, and give back, through S3-compatible storage, each whole or not there."""

from __future__ import annotations

from pathlib import Path

import obstore

from originset.data.files.bucket import open_bucket, remove_below, storage_errors

_MARKER = "marker"


class StagingBucket:
    """Temporary files of one command below ``s3://BUCKET/PREFIX``, written and read by the command and its workers.

    Each method raises ``ClusterError`` where the storage is not reached or refuses.
    """

    def __init__(self, place: str) -> None:
        self.place = place
        self._store = open_bucket(place)

    def begin(self, token: str) -> None:
        """Mark the place as in use, by a text that :meth:`token` gives to those who see the same storage."""
        with storage_errors(self.place):
            obstore.put(self._store, _MARKER, token.encode(), use_multipart=False)

    def token(self) -> str | None:
        """The token that :meth:`begin` wrote; None before it, and after :meth:`remove`."""
        with storage_errors(self.place):
            try:
                return obstore.get(self._store, _MARKER).bytes().to_bytes().decode(errors="replace")
            except FileNotFoundError:
                return None

    def put(self, key: str, path: Path) -> None:
        """Store a file atomically: concurrent readers find the previous file or none."""
        with storage_errors(self.place):
            obstore.put(self._store, key, path)

    def fetch(self, key: str, path: Path) -> None:
        """Write a stored file to ``path``; its folder is made.

        Raises:
            OSError: it cannot be written.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.tmp")
        with storage_errors(self.place):
            chunks = iter(obstore.get(self._store, key).stream())
        with temporary.open("wb") as file:
            while True:
                with storage_errors(self.place):
                    chunk = next(chunks, None)
                if chunk is None:
                    break
                file.write(chunk)
        temporary.replace(path)

    def remove(self) -> None:
        """Remove all stored files, and the marker."""
        remove_below(self._store, self.place, None)
