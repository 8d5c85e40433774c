"""Importing files whose names are bytes that are no UTF-8: each is a file like others, under its name with escapes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hand_made_har import write_har
from rich.progress import Progress

from originset.analysis.importing.import_run import ImportSummary, import_hars
from originset.data.studies.shards import scan
from originset.data.studies.study import Study


def run(study: Study, *paths: Path) -> ImportSummary:
    with study.changing("import", {}), Progress(disable=True) as progress:
        return import_hars(study, paths, progress)


@pytest.mark.promise("hars-refused-one-by-one")
def test_names_that_are_no_utf_8(tmp_path: Path) -> None:
    """Of a file in a folder, a file that is named, and two of one name."""
    study = Study(tmp_path / "study")
    named = []
    for folder in (b"first", b"second\xfe"):
        place = tmp_path / os.fsdecode(folder)
        place.mkdir()
        named.append(write_har(place / os.fsdecode(b"\xff.har"), [("https://www.site.test/", "192.0.2.1", "1")]))
    (tmp_path / "first" / "b.har").write_bytes(b"{")
    summary = run(study, tmp_path / "first")
    assert (summary.imported, len(summary.refused)) == (1, 1)
    (refused,) = run(study, *named).refused
    assert r"second\xfe/\xff.har has the name of another file" in refused.detail
    assert set(scan(study, "visits").collect()["source"]) == {r"first/\xff.har", r"\xff.har"}
