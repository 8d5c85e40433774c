"""Archives, folders and links that hold no HAR are told."""

import gzip
import zipfile
from pathlib import Path

import pytest

from originset.analysis.importing.har_files import ExportFile, HarText, find_files, read_texts
from originset.data.errors import InputError, UsageError


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
