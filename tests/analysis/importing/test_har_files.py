"""Archives, folders and links that hold no HAR are told; a packed file is known by its own bytes."""

import gzip
import hashlib
import zipfile
from pathlib import Path

import polars as pl
import pytest
import zstandard
from rich.progress import Progress

from originset.analysis.importing.har_files import ExportFile, HarText, find_files, read_texts
from originset.analysis.importing.import_run import import_hars
from originset.data.errors import InputError, UsageError
from originset.data.studies.shards import shard_paths, write_shard
from originset.data.studies.study import Study


def har(host: str) -> bytes:
    return b'{"log": {"entries": [{"request": {"url": "https://%s/"}}]}}' % host.encode()


def read(*paths: Path) -> list[HarText | ExportFile | InputError]:
    return [found for file in find_files(paths) for found in read_texts(file)]


def test_an_archive_without_a_har_is_refused(tmp_path):
    for name, members in {
        "nested.zip": {"inner.zip": b"PK"},
        "packed.zip": {"a.har": har("a.test"), "b.har.gz": gzip.compress(har("b.test"))},
        "other.zip": {"readme.txt": b"no HAR", "settings.json": b"{}"},
        "empty.zip": {},
    }.items():
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            for member, content in members.items():
                archive.writestr(member, content)
    found = read(*sorted(tmp_path.glob("*.zip")))
    assert [(error.source, error.reason) for error in found if isinstance(error, InputError)] == [
        ("empty.zip", "no-har"),
        ("nested.zip/inner.zip", "packed-twice"),
        ("other.zip", "no-har"),
        ("packed.zip/b.har.gz", "packed-twice"),
    ]
    assert [text.source for text in found if isinstance(text, HarText)] == ["packed.zip/a.har"]


def test_a_folder_without_a_har_is_no_import(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="holds no file that is named like a HAR"):
        find_files([tmp_path / "empty"])


def test_links_that_lead_nowhere_are_refused(tmp_path):
    folder = tmp_path / "hars"
    folder.mkdir()
    (folder / "loop.har").symlink_to("loop.har")
    (folder / "gone.har").symlink_to("nowhere.har")
    refused = {"hars/gone.har": "unreadable", "hars/loop.har": "unreadable"}
    assert {error.source: error.reason for error in read(folder)} == refused
    assert {error.source: error.reason for error in read(folder / "loop.har")} == {"loop.har": "unreadable"}


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_a_packed_file_is_known_by_its_own_sha256(tmp_path, pack):
    study, file = Study(tmp_path / "study"), tmp_path / "packed.har"
    file.write_bytes(pack(har("a.test")))
    with study.changing("import", {}), Progress(disable=True) as progress:
        assert import_hars(study, [file], progress).imported == 1
        [shard] = shard_paths(study, "visits")
        rows = pl.read_parquet(shard)
        assert rows["source_sha256"].to_list() == [hashlib.sha256(file.read_bytes()).hexdigest()]
        # Earlier versions noted the SHA-256 of what the file holds.
        earlier = rows.with_columns(pl.lit(hashlib.sha256(har("a.test")).hexdigest()).alias("source_sha256"))
        write_shard(study, "visits", shard.stem, earlier)
        again = import_hars(study, [file], progress)
    assert (again.imported, again.already, again.refused) == (0, 1, [])
