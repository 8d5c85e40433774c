"""A study that somebody else made: what lies in its folder does no harm to whoever opens it."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import polars as pl
import pytest
from received_study import Victim, place_link, place_pipe, victim

from originset.data.captures.capture import capture_paths, write_packed
from originset.data.captures.capture_place import captures_folder, confirm_place, fetch_captures, place_of, settle_place
from originset.data.captures.capture_store import FolderStore
from originset.data.errors import StudyError, UsageError
from originset.data.schema.study_tables import TABLES
from originset.data.studies.shards import scan, write_shard
from originset.data.studies.study import Study

ID = "ab" + "0" * 14


@pytest.fixture
def hurt(tmp_path: Path) -> Victim:
    return victim(tmp_path)


@pytest.fixture
def study(tmp_path: Path) -> Study:
    made = Study(tmp_path / "received")
    with made.changing("import", {}):
        rows = TABLES["rejects"].polars_schema.to_frame()
        write_shard(made, "rejects", "imports", rows)
        write_packed(made.captures, ID, b"capture")
    (made.root / ".lock").unlink()
    return made


def use(study: Study) -> None:
    """Everything that writes in a study's folder, as far as it comes."""
    with study.changing("analyze", {}):
        write_packed(study.captures, ID, b"again")
        write_shard(study, "rejects", "imports", TABLES["rejects"].polars_schema.to_frame())
    scan(study, "rejects").collect()


# In the place of each of these a stranger put a link to the victim's folder or file.
FILES = [
    ".lock",
    "study.json",
    "ledger.sqlite",
    "ledger.sqlite-wal",
    "ledger.leases",
    "study.duckdb",
    "study.duckdb.wal",
]
FOLDERS = ["captures", "captures/ab", "tables", "tables/rejects", "files", "study.duckdb.tmp"]


@pytest.mark.promise("links-are-not-followed")
@pytest.mark.parametrize("name", FILES)
def test_a_link_in_a_files_place_is_refused(study: Study, hurt: Victim, name: str) -> None:
    """No file that a study links to is emptied, written to, removed or read as the study's."""
    place_link(study, name, hurt.file)
    with pytest.raises(StudyError, match="symbolic link, and none is followed; remove it"):
        use(study)
    assert hurt.unharmed()


@pytest.mark.promise("links-are-not-followed")
@pytest.mark.parametrize("name", FOLDERS)
def test_a_link_in_a_folders_place_is_refused(study: Study, hurt: Victim, name: str) -> None:
    """In a folder that a study links to nothing is written, removed or read."""
    place_link(study, name, hurt.folder)
    with pytest.raises(StudyError, match="symbolic link, and none is followed; remove it"):
        use(study)
    assert hurt.unharmed()


@pytest.mark.promise("only-regular-files-are-read")
@pytest.mark.parametrize("name", [*FILES, "captures", "tables", "study.duckdb.tmp"])
def test_a_pipe_in_a_studys_place_is_not_waited_for(study: Study, name: str) -> None:
    """A pipe in the place of anything that belongs to a study is refused at once."""
    if (study.root / name).is_dir():
        (study.root / name).rename(study.root / "aside")
    place_pipe(study, name)
    with pytest.raises(StudyError, match="is not a regular"):
        use(study)


@pytest.mark.promise("links-are-not-followed")
def test_a_lock_is_not_emptied(study: Study) -> None:
    (study.root / ".lock").write_text("kept")
    use(study)
    assert (study.root / ".lock").read_text() == "kept"


@pytest.mark.promise("sweeps-take-our-own")
def test_only_what_this_program_makes_is_swept(study: Study) -> None:
    """A command removes what a killed one left, by the names that this program gives, and nothing else."""
    gone = [
        ".study.json.12.tmp",
        ".ledger.leases.12.tmp",
        ".study.duckdb.building/study.duckdb.wal",
        ".models.building/models/page_counts/000000.parquet",
        "study.duckdb.tmp/duckdb_temp_77_0_storage_S32K-0.tmp",
        "tables/rejects/.imports.parquet.12.tmp",
        "tables/rejects/..captures-ab.made-from.12.tmp",
        f"captures/ab/.{ID}.har.zst.12.tmp",
        f"files/ab/.{ID}.har.zst.12.tmp",
    ]
    kept = ["study.duckdb.tmp/thesis.tex", "captures/ab/notes.tmp", "tables/rejects/.x.tmp", ".notes.12.tmp"]
    for name in (*gone, *kept):
        (study.root / name).parent.mkdir(parents=True, exist_ok=True)
        (study.root / name).write_text("x")
    use(study)
    assert [name for name in gone if (study.root / name).exists()] == []
    assert [name for name in kept if not (study.root / name).exists()] == []


@pytest.mark.promise("manifests-and-ledgers-are-bounded")
@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"format": 2}',
        '{"format": 2, "runs": [{}]}',
        '{"format": 2, "runs": {"a": 1}}',
        '{"format": 2, "runs": [], "captures": ["/etc"]}',
        '{"format": 2, "runs": [], "vantages": 7}',
        '{"format": 2, "runs": [], "models": "asn"}',
        '{"format": true}',
        '{"format": 2, "runs": [], "reference_data": [1]}',
        '{"format": 2, "runs": [], "merged": [{"rounds": ["x"]}]}',
        '{"format": 2, "runs": [], "merged": [{"merged": [{"runs": 5}]}]}',
        '{"format": 2, "runs": [], "merged": [' + '{"merged": [' * 100 + "]}" * 100 + "]}",
    ],
)
def test_a_manifest_of_another_shape_is_one_clear_error(study: Study, text: str) -> None:
    study.manifest_path.write_text(text)
    with pytest.raises(StudyError, match=r"study\.json is damaged|larger than any"):
        use(study)


@pytest.mark.promise("manifests-and-ledgers-are-bounded")
def test_a_manifest_without_end(study: Study) -> None:
    """A manifest is read up to a bound."""
    with study.manifest_path.open("r+b") as file:
        file.truncate(1 << 40)
    with pytest.raises(StudyError, match="larger than any manifest"):
        study.manifest()


def say_captures_are_in(study: Study, place: str) -> None:
    study.manifest_path.write_text(json.dumps({**study.manifest(), "captures": place}))


@pytest.mark.promise("places-are-named-by-users")
def test_a_folder_that_only_the_study_names_is_left_alone(study: Study, hurt: Victim) -> None:
    """A folder outside the study is used for its captures only if the user named it with --captures."""
    say_captures_are_in(study, str(hurt.folder))
    for use_it in (place_of, captures_folder, fetch_captures, lambda one: settle_place(one, None)):
        with pytest.raises(StudyError, match=f"which you have not named for it; .* add: --captures {hurt.folder}"):
            use_it(study)
    assert hurt.unharmed()


@pytest.mark.promise("no-contact-unasked")
@pytest.mark.promise("places-are-named-by-users")
def test_storage_that_only_the_study_names_is_not_contacted(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    """S3 storage is contacted for a study's captures only if the user named it with --captures."""
    contacted: list[str] = []
    monkeypatch.setattr("originset.data.captures.capture_place.open_place", contacted.append)
    say_captures_are_in(study, "s3://of-the-user/captures")
    for use_it in (place_of, captures_folder, fetch_captures, lambda one: settle_place(one, None)):
        with pytest.raises(StudyError, match="which you have not named for it"):
            use_it(study)
    assert contacted == []


@pytest.mark.promise("places-are-named-by-users")
def test_a_place_that_the_user_named_is_believed_for_this_study_alone(study: Study, tmp_path: Path) -> None:
    """What the user named is noted outside the study, for that study's folder and that place."""
    say_captures_are_in(study, str(tmp_path / "shared"))
    with pytest.raises(StudyError, match="not in /elsewhere"):
        confirm_place(study, "/elsewhere")
    confirm_place(study, str(tmp_path / "shared"))
    assert captures_folder(study) == tmp_path / "shared"
    (tmp_path / "link").symlink_to(study.root)
    assert captures_folder(Study(tmp_path / "link")) == tmp_path / "shared"
    other = Study(tmp_path / "other")
    other.create()
    say_captures_are_in(other, str(tmp_path / "shared"))
    with pytest.raises(StudyError, match="which you have not named for it"):
        place_of(other)
    say_captures_are_in(study, str(tmp_path / "another"))
    with pytest.raises(StudyError, match="which you have not named for it"):
        place_of(study)


def test_a_place_that_cannot_be_noted(study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    (study.captures / "ab" / f"{ID}.har.zst").unlink()
    with study.changing("crawl", {}), pytest.raises(UsageError, match=r"cannot be noted .*; set XDG_STATE_HOME"):
        settle_place(study, str(tmp_path / "shared"))


@pytest.mark.promise("sweeps-take-our-own")
def test_a_sweep_of_a_shared_folder_takes_only_what_workers_leave(hurt: Victim) -> None:
    """Of a folder for captures a crawl removes what its workers staged, and nothing else."""
    FolderStore(hurt.folder).stage("ef", ID, b"late")
    (hurt.folder / "incoming" / "ab" / "cd").unlink()
    FolderStore(hurt.folder).sweep()
    assert (hurt.folder / "incoming" / "mail").read_text() == "a letter"
    assert [path.name for path in (hurt.folder / "incoming").iterdir()] == ["mail"]


@pytest.mark.promise("studies-are-private")
def test_captures_are_for_their_owner_alone(tmp_path: Path) -> None:
    """Captures are readable by their owner alone (0600), in a folder that machines share too."""
    before = os.umask(0)
    try:
        store = FolderStore(tmp_path / "shared")
        store.accept(store.stage("ef", ID, b"staged"), ID)
        store.write("cd" + ID, b"written")
        store.stage("0a", ID, b"left")
    finally:
        os.umask(before)
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "shared").rglob("*") if path.is_file()}
    assert modes == {0o600}
    folders = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "shared").rglob("*") if path.is_dir()}
    assert folders == {0o700}
    assert len(list(capture_paths(tmp_path / "shared"))) == 2


@pytest.mark.promise("only-regular-files-are-read")
def test_a_shard_that_is_a_pipe_or_a_device_is_refused(study: Study) -> None:
    """What is no regular file is never read as a shard."""
    place_pipe(study, "tables/rejects/imports.parquet")
    with pytest.raises(StudyError, match=r"imports\.parquet is not a regular file"):
        scan(study, "rejects")
    place_link(study, "tables/rejects/imports.parquet", Path("/dev/zero"))
    with pytest.raises(StudyError, match=r"imports\.parquet is a symbolic link"):
        scan(study, "rejects")


@pytest.mark.promise("shards-have-checksums")
def test_a_shards_checksum_is_looked_at_before_every_scan(study: Study) -> None:
    """A shard whose bits changed is never read: its checksum is compared first."""
    schema = TABLES["rejects"].polars_schema
    rows = pl.DataFrame([{"source": f"{number}.har", "reason": "x"} for number in range(50)], schema=schema)
    path = write_shard(study, "rejects", "imports", rows)
    whole = path.read_bytes()
    for at in range(0, len(whole), 97):
        changed = bytearray(whole)
        changed[at] ^= 4
        path.write_bytes(changed)
        if b"originset.crc32" not in changed:  # the bit was in the checksum's own name, and the rows are as they were
            assert scan(study, "rejects").collect().equals(rows)
            continue
        with pytest.raises(StudyError, match=r"imports\.parquet is damaged"):
            scan(study, "rejects")
