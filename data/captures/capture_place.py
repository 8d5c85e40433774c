"""Which place a study's captures are kept in, and how they come from there into the study's folder."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from originset.data.captures.capture import MAX_BYTES, capture_path, write_packed
from originset.data.captures.capture_store import FolderStore
from originset.data.errors import MissingDependency, StudyError, UsageError
from originset.data.studies.named_places import is_noted, note_place
from originset.data.studies.study import Study

if TYPE_CHECKING:
    from originset.data.captures.capture_bucket import BucketStore

CaptureStore: TypeAlias = "FolderStore | BucketStore"

_FACT = "captures"  # of study.json

#: The form of a place in S3-compatible storage.
BUCKET = re.compile(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/(?!\.{1,2}(/|$))[A-Za-z0-9._=-]+)*", re.ASCII)


def open_place(place: str) -> CaptureStore:
    """A place by its name: a folder's whole path, or ``s3://BUCKET/PREFIX``. Nothing is read or written yet.

    Raises:
        UsageError: it is neither.
        MissingDependency: obstore, which reaches S3, is not installed.
    """
    if place.startswith("/"):
        return FolderStore(Path(place))
    if BUCKET.fullmatch(place) is None:
        raise UsageError(
            f"{place!r} is no place for captures", "name a folder by its whole path, or s3://BUCKET/PREFIX"
        )
    try:
        from originset.data.captures.capture_bucket import BucketStore  # noqa: PLC0415 - of an optional extra
    except ImportError:
        raise MissingDependency("the package obstore", "pip install 'originset[cluster]'") from None
    return BucketStore(place)


def place_of(study: Study) -> CaptureStore | None:
    """The place of a study's captures; None if they are in the study's own folder.

    Raises:
        StudyError: study.json names a place that the user has not confirmed for this study, or an invalid one.
    """
    place = _place_outside(study)
    return None if place is None else open_place(place)


def _place_outside(study: Study) -> str | None:
    place: str | None = study.manifest().get(_FACT)
    if place is not None and not is_noted(study.root, place):
        raise StudyError(
            study.root,
            f"study.json says that its captures are kept in {place}, which you have not named for it",
            f"look whether that is so, then add: --captures {shlex.quote(place)}",
        )
    return place


def confirm_place(study: Study, place: str) -> None:
    """Record that the user confirms the place of the study's captures, so that it is trusted from now on.

    Raises:
        StudyError: study.json says something else.
        UsageError: this cannot be recorded.
    """
    recorded_place = study.manifest().get(_FACT)
    if recorded_place != place:
        where = "in its own folder" if recorded_place is None else f"in {recorded_place}"
        raise StudyError(study.root, f"its captures are kept {where}, not in {place}", "leave --captures out")
    note_place(study.root, place)


def settle_place(study: Study, wanted: str | None) -> CaptureStore | None:
    """The place of a study's captures, for a crawl that names one; call while the study is locked.

    Raises:
        StudyError: the study's captures are elsewhere already, or the place holds those of another study.
    """
    recorded_place = study.manifest().get(_FACT)
    if wanted is None:
        return place_of(study)
    if wanted == recorded_place:
        confirm_place(study, wanted)
        return open_place(wanted)
    if recorded_place is not None:
        raise StudyError(study.root, f"its captures are kept in {recorded_place}", "leave --captures out")
    if next(study.captures.glob("*/*"), None) is not None:
        raise StudyError(
            study.root, "it has captures in its own folder", "leave --captures out, or begin another study"
        )
    store = open_place(wanted)
    if next(store.captures(), None) is not None:
        raise UsageError(f"{wanted} holds the captures of another study", "name another place with --captures")
    note_place(study.root, wanted)
    study.update_manifest(**{_FACT: wanted})
    return store


def captures_folder(study: Study) -> Path:
    """The folder of a study's captures: the shared one where they are kept in one, else its own.

    Captures that are kept in S3 come into its own by :func:`fetch_captures`.

    Raises:
        StudyError: as :func:`place_of`.
    """
    place = (_place_outside(study) or "") if study.manifest_path.exists() else ""
    return Path(place) if place.startswith("/") else study.captures


def bucket_of(study: Study) -> BucketStore | None:
    """The S3 storage of a study's captures; None if they are kept in a folder."""
    store = place_of(study)
    return None if isinstance(store, FolderStore) else store


def fetch_captures(study: Study) -> dict[str, int]:
    """Copy captures from S3 that are new or have changed into the study's folder; returns how many, and left out."""
    store = bucket_of(study)
    counts: Counter[str] = Counter()
    for stored in () if store is None else store.captures():
        if stored.size > MAX_BYTES:  # whoever can write there could end every analysis with one object
            counts["captures_too_large"] += 1
            continue
        path = capture_path(study.captures, stored.visit_id)
        with contextlib.suppress(FileNotFoundError):
            status = path.lstat()
            if (status.st_size, status.st_mtime) == (stored.size, stored.changed):
                continue
        if store is not None and (packed := store.read(stored.visit_id)) is not None:
            write_packed(study.captures, stored.visit_id, packed)
            os.utime(path, (stored.changed, stored.changed), follow_symlinks=False)
            counts["captures_fetched"] += 1
    return dict(counts)
