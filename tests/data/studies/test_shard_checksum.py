"""Shards whose bytes are not those that were written: known for it, wherever the bit is. Earlier ones say nothing."""

import os
from pathlib import Path

import polars as pl
import pytest

from originset.data.errors import StudyError
from originset.data.schema.study_tables import TABLES
from originset.data.studies.shard_checksum import KEY, UNKNOWN, is_unchanged
from originset.data.studies.shards import is_usable, is_whole, read_shard, require_unchanged, shard_path, write_shard
from originset.data.studies.study import Study


@pytest.fixture
def study(tmp_path: Path) -> Study:
    made = Study(tmp_path / "S")
    made.create()
    return made


def _written(study: Study, source: str = "a.har") -> Path:
    schema = TABLES["rejects"].polars_schema
    rows = pl.DataFrame({name: [source if name == "source" else None] for name in schema}, schema=schema)
    return write_shard(study, "rejects", "imports", rows)


@pytest.mark.promise("shards-have-checksums")
def test_every_bit_counts(study: Study) -> None:
    path = _written(study)
    content = path.read_bytes()
    with path.open("rb") as file:
        assert is_unchanged(file)
    # A file whose key has another name is one of an earlier version.
    key = content.rindex(KEY.encode())
    silent = []
    for at in range(len(content)):
        changed = bytearray(content)
        changed[at] ^= 1 << at % 8
        path.write_bytes(changed)
        if is_whole(study, "rejects", "imports"):
            silent.append(at)
    assert {*silent} <= {*range(key, key + len(KEY) + 2)}


@pytest.mark.promise("shards-have-checksums")
@pytest.mark.parametrize("share", [0, 0.01, 0.5, 0.9, 0.999])
def test_a_shard_that_was_cut(study: Study, share: float) -> None:
    path = _written(study)
    os.truncate(path, int(path.stat().st_size * share))
    assert not is_usable(study, "rejects", "imports")


@pytest.mark.promise("shards-have-checksums")
def test_what_a_changed_shard_is_refused_for(study: Study) -> None:
    path = _written(study)
    assert read_shard(study, "rejects", path)["source"].to_list() == ["a.har"]
    require_unchanged(study, "rejects")
    content = bytearray(path.read_bytes())
    content[5] ^= 1
    path.write_bytes(content)
    for read in (lambda: read_shard(study, "rejects", path), lambda: require_unchanged(study, "rejects")):
        with pytest.raises(StudyError, match=r"imports\.parquet is damaged .*; import the files again"):
            read()
    assert not is_usable(study, "rejects", "imports")


def test_text_that_looks_like_the_checksum(study: Study) -> None:
    path = _written(study, f"{KEY}\x18\x08{UNKNOWN}")
    with path.open("rb") as file:
        assert is_unchanged(file)
    assert path.read_bytes().count(UNKNOWN.encode()) >= 1, "it is among the statistics"
    assert read_shard(study, "rejects", path)["source"].to_list() == [f"{KEY}\x18\x08{UNKNOWN}"]


def test_a_shard_of_before_has_none(study: Study) -> None:
    path = _written(study)
    pl.read_parquet(path).write_parquet(path)
    assert is_whole(study, "rejects", "imports")
    # Nor does an empty one that polars did not write.
    path.write_bytes(b"")
    assert not is_usable(study, "rejects", "imports")


@pytest.mark.promise("links-are-not-followed")
def test_a_shard_is_not_read_through_a_link(study: Study) -> None:
    path = _written(study)
    path.rename(study.root / "elsewhere")
    shard_path(study, "rejects", "imports").symlink_to(study.root / "elsewhere")
    with pytest.raises(StudyError, match="is a symbolic link"):
        require_unchanged(study, "rejects")
