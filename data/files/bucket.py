"""S3-compatible storage, by obstore, which is part of the extra ``originset[cluster]``.

Credentials and endpoint are those of the process's environment (AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL and so on) and so
are never sent from one machine to another, nor written down.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import obstore
from obstore.exceptions import BaseError
from obstore.store import S3Store

from originset.data.errors import ClusterError

if TYPE_CHECKING:
    from obstore import ObjectMeta

_AT_ONCE = 1000  # what S3 lists and deletes with one request
# Captures of many vantages and rounds of a million sites.
_MOST_OBJECTS = 100_000_000


def open_bucket(place: str) -> S3Store:
    """The storage below ``s3://BUCKET/PREFIX``; nothing is contacted yet.

    Raises:
        ClusterError: the environment lacks the settings for it.
    """
    with storage_errors(place):
        return S3Store.from_url(place)


def remove_below(store: S3Store, place: str, prefix: str | None = None) -> None:
    """Remove all that is stored, or what is below a prefix.

    Raises:
        ClusterError: the storage is not reached or refuses.
    """
    with storage_errors(place):
        for batch in listed(store, place, prefix):
            if paths := [entry["path"] for entry in batch]:
                obstore.delete(store, paths)


def listed(store: S3Store, place: str, prefix: str | None = None) -> Iterator[Sequence[ObjectMeta]]:
    """What is stored, or what is below a prefix, in batches.

    Raises:
        ClusterError: the storage is not reached or refuses, or lists more objects than any study has.
    """
    objects = 0
    with storage_errors(place):
        for batch in obstore.list(store, prefix, chunk_size=_AT_ONCE):
            objects += len(batch)
            if objects > _MOST_OBJECTS:
                raise ClusterError(place, f"it lists more than {_MOST_OBJECTS:,} objects")
            yield batch


@contextmanager
def storage_errors(place: str) -> Iterator[None]:
    """Turn errors of the storage into ClusterError, with their first line.

    Raises:
        ClusterError: the storage is not reached or refuses.
    """
    try:
        yield
    except FileNotFoundError as error:
        raise ClusterError(place, "what was there is gone") from error
    except (OSError, BaseError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise ClusterError(place, reason) from error
