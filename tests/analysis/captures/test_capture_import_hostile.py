"""Captures' folders that a stranger made: no link is followed, no pipe waited for, nothing allocated."""

import os
import stat
from pathlib import Path

import pytest
from generated_captures import write_captures
from rich.progress import Progress

from originset.analysis.captures.capture_import import read_captures
from originset.analysis.importing.import_batch import ImportSettings
from originset.analysis.importing.import_run import import_hars
from originset.data.captures.capture import read_capture_bytes
from originset.data.errors import InputError, StudyError
from originset.data.studies.shards import scan, shard_paths, write_shard
from originset.data.studies.study import Study

_QUIET = Progress(disable=True)
_ID = "00" + "5" * 14


@pytest.fixture
def study(tmp_path: Path) -> Study:
    made = Study(tmp_path / "S")
    made.create()
    write_captures(made.captures, range(3), folders=1, entries=2)
    return made


def _read(study: Study) -> tuple[dict[str, int], int]:
    with study.changing("analyze", {}):
        counts = read_captures(study, _QUIET)
    return counts, scan(study, "visits").collect().height


@pytest.mark.promise("links-are-not-followed")
def test_links_are_left_out(study: Study, tmp_path: Path) -> None:
    other = write_captures(tmp_path / "elsewhere", range(3, 5), folders=1, entries=2)
    (study.captures / "00" / f"{_ID}.har.zst").symlink_to(other[0])
    (study.captures / "01").symlink_to(other[0].parent)
    counts, visits = _read(study)
    assert (counts["captures_read"], counts["captures_refused"], counts["links_left_out"], visits) == (3, 0, 2, 3)


@pytest.mark.promise("links-are-not-followed")
def test_a_link_put_in_the_place_of_one_that_was_seen_is_refused(study: Study, tmp_path: Path) -> None:
    """Between the listing and the reading, as another user of the machine might."""
    (link,) = write_captures(tmp_path / "elsewhere", range(3, 4), folders=1, entries=2)
    place = study.captures / "00" / f"{_ID}.har.zst"
    place.symlink_to(link)
    with pytest.raises(InputError, match="cannot be read"):
        read_capture_bytes(place)


@pytest.mark.promise("only-regular-files-are-read")
def test_what_is_no_file_is_refused(study: Study) -> None:
    folder = study.captures / "00"
    os.mkfifo(folder / f"{_ID}.har.zst")
    (folder / f"{_ID[:-1]}a.har.zst").mkdir()
    with (folder / f"{_ID[:-1]}b.har.zst").open("wb") as sparse:
        sparse.truncate(2 << 30)
    counts, visits = _read(study)
    assert (counts["captures_read"], counts["captures_refused"], visits) == (3, 3, 3)
    assert {reason for (reason,) in scan(study, "rejects").select("reason").collect().iter_rows()} == {
        "unreadable",
        "too-large",
    }


@pytest.mark.promise("links-are-not-followed")
def test_a_shard_that_is_a_link_is_refused(study: Study, tmp_path: Path) -> None:
    _read(study)
    (shard,) = shard_paths(study, "requests")
    shard.rename(tmp_path / "elsewhere.parquet")
    shard.symlink_to(tmp_path / "elsewhere.parquet")
    with pytest.raises(StudyError, match="is a symbolic link"):
        scan(study, "requests")
    _read(study)
    assert not shard.is_symlink()


@pytest.mark.promise("studies-are-private")
def test_what_is_private_is_its_owners(study: Study, tmp_path: Path) -> None:
    har = Path(__file__).parents[2] / "fixtures" / "hars" / "chrome-devtools"
    settings = ImportSettings(keep_secrets=True, keep_files=True)
    with study.changing("import", {}):
        import_hars(study, [next(har.glob("*.har*"))], _QUIET, settings)
    kept = [*study.captures.rglob("*.zst"), *(study.root / "files").rglob("*.zst")]
    assert len(kept) == 4
    assert {stat.S_IMODE(path.stat().st_mode) for path in kept} == {0o600}
    assert stat.S_IMODE(study.root.stat().st_mode) == 0o700
    empty = Study(tmp_path / "existing")
    empty.root.mkdir(mode=0o750)
    empty.create()
    assert stat.S_IMODE(empty.root.stat().st_mode) == 0o750, "whose folder it was has said who may read it"


def test_a_half_written_shard_is_nobodys(study: Study) -> None:
    rows = scan(study, "visits").collect()
    (study.tables / "visits" / "x.parquet").mkdir(parents=True)
    with pytest.raises(OSError, match="directory"):
        write_shard(study, "visits", "x", rows)
    assert [path.name for path in (study.tables / "visits").iterdir()] == ["x.parquet"]
