"""Places where captures are kept: a shared folder and S3 (moto's server on loopback) behave alike."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from s3_storage import bucket, put_object

from originset.data.captures.capture import (
    Extension,
    Visit,
    capture_path,
    pack_capture,
    read_capture_bytes,
    write_packed,
)
from originset.data.captures.capture_place import (
    CaptureStore,
    captures_folder,
    fetch_captures,
    open_place,
    place_of,
    settle_place,
)
from originset.data.errors import ClusterError, StudyError, UsageError
from originset.data.studies.study import Study

pytestmark = pytest.mark.slow

ID = "ab" + "0" * 14
LATE = "cd" * 16
OTHER = "ef" * 16


def packed(note: str) -> bytes:
    visit = Visit(visit_id=ID, site=note, url="https://a.test/", started_at="2026-11-21T10:00:00.000000Z", status="ok")
    return pack_capture({"version": "1.2", "entries": []}, Extension(visit=visit))


@pytest.fixture(params=["folder", "bucket"])
def place(
    request: pytest.FixtureRequest, tmp_path: Path, endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    if request.param == "folder":
        yield str(tmp_path / "shared")
    else:
        with bucket(endpoint, f"captures-{time.time_ns()}", monkeypatch) as address:
            yield address


@pytest.fixture
def store(place: str) -> CaptureStore:
    return open_place(place)


def ids(store: CaptureStore) -> list[str]:
    return [kept.visit_id for kept in store.captures()]


def test_what_is_staged_is_no_capture_until_it_is_accepted(store: CaptureStore) -> None:
    key = store.stage(OTHER, ID, packed("first"))
    assert (ids(store), store.read(ID)) == ([], None)
    store.accept(key, ID)
    assert (ids(store), store.read(ID)) == ([ID], packed("first"))
    (kept,) = store.captures()
    assert kept.size == len(packed("first"))
    assert abs(kept.changed - time.time()) < 3600


def test_what_comes_late_takes_no_others_place(store: CaptureStore) -> None:
    store.accept(store.stage(OTHER, ID, packed("in time")), ID)
    late = store.stage(LATE, ID, packed("late"))
    assert store.read(ID) == packed("in time")
    store.sweep()
    assert store.read(ID) == packed("in time")
    with pytest.raises(ClusterError):
        store.accept(late, ID)
    store.discard(late)
    store.sweep()


def test_a_worker_cannot_name_another_place(store: CaptureStore) -> None:
    store.write(ID, packed("kept"))
    for key in (f"ab/{ID}.har.zst", f"incoming/../ab/{ID}.har.zst", "incoming/x", "/etc/passwd", "incoming/aa/b b"):
        with pytest.raises(ClusterError, match="where none may be"):
            store.accept(key, "ab" + "1" * 14)
        with pytest.raises(ClusterError, match="where none may be"):
            store.discard(key)
    assert ids(store) == [ID]


def test_a_study_that_keeps_its_captures_there(place: str, store: CaptureStore, tmp_path: Path) -> None:
    study = Study(tmp_path / "study")
    with study.changing("crawl", {}):
        settled = settle_place(study, place)
    assert settled is not None
    settled.accept(settled.stage(OTHER, ID, packed("first")), ID)
    kept_in = place_of(study)
    assert kept_in is not None
    assert kept_in.place == place
    fetched = fetch_captures(study)
    assert fetched == ({"captures_fetched": 1} if place.startswith("s3:") else {})
    assert fetch_captures(study) == {}, "what is there is not fetched again"
    path = capture_path(captures_folder(study), ID)
    assert b'"site":"first"' in read_capture_bytes(path)
    settled.write(ID, packed("made again, and longer"))
    fetch_captures(study)
    assert b'"site":"made again, and longer"' in read_capture_bytes(path)
    with study.changing("crawl", {}):
        assert settle_place(study, None) is not None
        with pytest.raises(StudyError, match="its captures are kept in"):
            settle_place(study, str(tmp_path / "elsewhere"))
    other = Study(tmp_path / "other")
    with other.changing("crawl", {}), pytest.raises(UsageError, match="holds the captures of another study"):
        settle_place(other, place)


def test_a_study_with_captures_of_its_own_keeps_them(tmp_path: Path) -> None:
    study = Study(tmp_path / "study")
    with study.changing("crawl", {}):
        write_packed(study.captures, ID, packed("own"))
        with pytest.raises(StudyError, match="captures in its own folder"):
            settle_place(study, str(tmp_path / "shared"))
        assert settle_place(study, None) is None


@pytest.mark.promise("links-are-not-followed")
def test_a_link_in_a_shared_folder_is_not_followed(tmp_path: Path) -> None:
    store = open_place(str(tmp_path / "shared"))
    secret = tmp_path / "secret"
    secret.write_bytes(packed("elsewhere"))
    path = capture_path(tmp_path / "shared", ID)
    path.parent.mkdir(parents=True)
    path.symlink_to(secret)
    assert (ids(store), store.read(ID)) == ([], None)


@pytest.mark.promise("stored-captures-are-bounded")
def test_names_and_sizes_of_no_capture(
    place: str, store: CaptureStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = Study(tmp_path / "study")
    with study.changing("crawl", {}):
        settle_place(study, place)
    store.write(ID, packed("as others"))
    store.write("ab" + "2" * 14, packed("large" * 1000))
    if place.startswith("s3:"):
        put_object(place, f"ab/ab{'0' * 300}.har.zst", b"its name is longer than that of any file")
    monkeypatch.setattr("originset.data.captures.capture_place.MAX_BYTES", len(packed("as others")))
    counts = {"captures_fetched": 1, "captures_too_large": 1}
    assert fetch_captures(study) == (counts if place.startswith("s3:") else {})
    assert capture_path(captures_folder(study), ID).exists()


def test_places_that_are_none(tmp_path: Path) -> None:
    paths_up = ("s3://bucket/..", "s3://bucket/a/../b", "s3://bucket/.")
    for name in (*paths_up, "shared", "./shared", "s3://", "s3://UPPER/x", "s3://bucket/../x y", "http://bucket/x", ""):
        with pytest.raises(UsageError, match="no place for captures"):
            open_place(name)


def test_storage_that_refuses_is_told_in_one_line(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with bucket(endpoint, "there", monkeypatch):
        store = open_place("s3://not-there/x")
        with pytest.raises(ClusterError, match=r"^s3://not-there/x: ") as told:
            store.write(ID, b"x")
    assert "\n" not in str(told.value)


@pytest.mark.promise("stored-captures-are-bounded")
def test_a_listing_of_more_objects_than_any_study_has(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with bucket(endpoint, f"captures-{time.time_ns()}", monkeypatch) as place:
        for number in range(3):
            put_object(place, f"{number}.txt", b"")
        monkeypatch.setattr("originset.data.files.bucket._MOST_OBJECTS", 2)
        with pytest.raises(ClusterError, match="lists more than 2 objects"):
            ids(open_place(place))
