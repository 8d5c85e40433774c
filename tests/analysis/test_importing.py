"""Importing: what counts as the same file, what is refused, and what an interrupted import leaves."""

import gzip
import io
import json
import zipfile
from pathlib import Path

import pytest
import zstandard
from rich.progress import Progress

from originset.analysis import importing
from originset.analysis.har_files import find_files
from originset.analysis.importing import ImportSummary, import_hars
from originset.data.errors import UsageError
from originset.data.schema import TABLES
from originset.data.shards import scan, shard_paths
from originset.data.study import Study


def har(host: str) -> bytes:
    entry = {
        "startedDateTime": "2024-01-01T00:00:00Z",
        "request": {"url": f"https://{host}/"},
        "response": {"status": 200},
    }
    return json.dumps({"log": {"entries": [entry]}}).encode()


def run(study: Study, *paths: Path) -> ImportSummary:
    with study.changing("import", {}), Progress(disable=True) as progress:
        return import_hars(study, paths, progress)


def hosts(study: Study) -> list[str]:
    return sorted(scan(study, "requests").collect()["host"])


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return Study(tmp_path / "study")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "hars"
    (folder / "deeper").mkdir(parents=True)
    (folder / "a.har").write_bytes(har("a.test"))
    (folder / "deeper" / "b.json").write_bytes(b"\xef\xbb\xbf" + har("b.test"))
    (folder / "c.har.gz").write_bytes(gzip.compress(har("c.test")))
    (folder / "d.har").write_bytes(zstandard.compress(har("d.test")))  # content decides, not the name
    with zipfile.ZipFile(folder / "many.zip", "w") as archive:
        archive.writestr("e.har", har("e.test"))
        archive.writestr("sub/f.json", har("f.test"))
        archive.writestr("sub/other.json", b"{}")
        archive.writestr("readme.txt", b"no HAR")
    (folder / "package.json").write_bytes(b'{"name": "log"}')
    (folder / "notes.txt").write_bytes(b"no HAR")
    (folder / ".hidden.har").write_bytes(har("hidden.test"))
    return folder


def test_all_wrappings_of_a_folder(study, folder):
    summary = run(study, folder)
    assert hosts(study) == [f"{letter}.test" for letter in "abcdef"]
    assert summary.refused == []
    assert set(scan(study, "visits").collect()["source"]) == {
        "hars/a.har",
        "hars/c.har.gz",
        "hars/d.har",
        "hars/deeper/b.json",
        "hars/many.zip/e.har",
        "hars/many.zip/sub/f.json",
    }


def test_the_same_files_again_add_nothing(study, folder):
    run(study, folder)
    before = {path: path.read_bytes() for path in shard_paths(study, "requests")}
    summary = run(study, folder)
    assert (summary.imported, summary.already) == (0, 6)
    assert {path: path.read_bytes() for path in shard_paths(study, "requests")} == before


def test_identical_content_under_another_path_is_another_visit(study, folder):
    (folder / "copy.har").write_bytes(har("a.test"))
    assert run(study, folder).same_content == 1
    assert hosts(study).count("a.test") == 2


def test_another_file_of_a_known_path_is_refused(study, folder):
    run(study, folder / "a.har")
    (folder / "a.har").write_bytes(har("z.test"))
    summary = run(study, folder / "a.har")
    assert [error.reason for error in summary.refused] == ["path-taken"]
    assert hosts(study) == ["a.test"]


def test_bad_files_are_refused_and_the_others_imported(study, folder):
    (folder / "empty.har").write_bytes(b"")
    (folder / "cut.har.gz").write_bytes(gzip.compress(har("x.test"))[:-9])
    (folder / "cut.har").write_bytes(har("x.test")[:-3])
    (folder / "cut.zip").write_bytes((folder / "many.zip").read_bytes()[:-30])
    summary = run(study, folder)
    assert hosts(study) == [f"{letter}.test" for letter in "abcdef"]
    rejects = scan(study, "rejects").sort("source").collect()
    assert rejects.select("source", "reason").rows() == [
        ("hars/cut.har", "truncated"),
        ("hars/cut.har.gz", "damaged"),
        ("hars/cut.zip", "damaged"),
        ("hars/empty.har", "empty"),
    ]
    assert len(summary.refused) == 4
    assert rejects["byte_offset"].to_list() == [len(har("x.test")) - 3, None, None, None]


def test_a_file_that_was_mended_is_no_reject_any_more(study, folder):
    (folder / "a.har").write_bytes(b"{")
    run(study, folder)
    assert scan(study, "rejects").collect()["source"].to_list() == ["hars/a.har"]
    (folder / "a.har").write_bytes(har("a.test"))
    run(study, folder)
    assert scan(study, "rejects").collect().is_empty()
    assert "a.test" in hosts(study)


def test_a_bomb_meets_a_bound(study, tmp_path, monkeypatch):
    monkeypatch.setattr("originset.analysis.har_files.MAX_BYTES", 1 << 20)
    packed = io.BytesIO()
    with gzip.open(packed, "wb") as file:
        file.write(b" " * (5 << 20))
    (tmp_path / "bomb.har").write_bytes(packed.getvalue())
    assert [error.reason for error in run(study, tmp_path / "bomb.har").refused] == ["too-large"]


def test_a_killed_import_is_done_again_without_doubles(study, folder, monkeypatch):
    monkeypatch.setattr(importing, "_BYTES", 1)  # a shard a file
    write = importing.write_shard

    def dies(study, table, shard, rows):
        if table == "visits" and len(shard_paths(study, "visits")) == 2:
            raise KeyboardInterrupt
        return write(study, table, shard, rows)

    monkeypatch.setattr(importing, "write_shard", dies)
    with pytest.raises(KeyboardInterrupt):
        run(study, folder)
    assert len(shard_paths(study, "requests")) == 3
    monkeypatch.setattr(importing, "write_shard", write)
    monkeypatch.setattr(importing, "_BYTES", 1 << 30)  # other batches than before
    assert run(study, folder).already == 2
    assert hosts(study) == [f"{letter}.test" for letter in "abcdef"]
    visits, requests = (scan(study, table).collect()["visit_id"] for table in ("visits", "requests"))
    assert sorted(visits) == sorted(requests)
    assert visits.n_unique() == 6


def test_many_shards_hold_what_one_holds(tmp_path, folder, monkeypatch):
    whole, parts = Study(tmp_path / "whole"), Study(tmp_path / "parts")
    run(whole, folder)
    monkeypatch.setattr(importing, "_ENTRIES", 1)
    run(parts, folder)
    assert len(shard_paths(parts, "visits")) == 6
    for table in ("visits", "requests"):
        rows = [scan(study, table).sort("visit_id").collect() for study in (whole, parts)]
        assert rows[0].equals(rows[1])


def test_paths_that_do_not_exist(tmp_path):
    with pytest.raises(UsageError, match=r"nowhere\.har does not exist"):
        find_files([tmp_path / "nowhere.har"])


def test_a_file_named_twice_is_one(folder):
    assert len(find_files([folder / "a.har", folder])) == len(find_files([folder]))


def test_planted_secrets_survive_nowhere_in_the_study(study, tmp_path):
    secrets = {name: f"S3CRET{number:02}X" for number, name in enumerate("abcdefghijklmn")}
    s = secrets
    headers = [{"name": "Cookie", "value": f"id={s['a']}"}, {"name": "Authorization", "value": f"Bearer {s['b']}"}]
    entry = {
        "startedDateTime": "2024-01-01T00:00:00Z",
        "pageref": "p",
        "request": {
            "url": f"https://u:{s['c']}@a.test/x?access_token={s['d']}&b=1#{s['e']}",
            "method": "POST",
            "headers": headers,
            "cookies": [{"name": "id", "value": s["a"]}],
            "queryString": [{"name": "access_token", "value": s["d"]}],
            "postData": {"text": s["f"]},
        },
        "response": {
            "status": 302,
            "redirectURL": f"https://b.test/?code={s['g']}",
            "headers": [{"name": "Set-Cookie", "value": s["h"]}],
            "content": {"text": s["i"], "mimeType": f"text/html; x={s['j']}"},
            "_error": f"failed to fetch https://a.test/?sig={s['k']} now",
        },
        "_initiator": f"https://u:{s['c']}@a.test/?token={s['l']}",
        "_webSocketMessages": [{"data": s["m"]}],
    }
    inline = {
        "startedDateTime": "2024-01-01T00:00:01Z",
        "pageref": "p",
        "request": {"url": f"data:text/plain,{s['n']}"},
    }
    page = {"id": "p", "title": f"https://u:{s['c']}@a.test/?jwt={s['d']}", "startedDateTime": "2024-01-01T00:00:00Z"}
    text = json.dumps({"log": {"pages": [page], "entries": [entry, inline]}})
    assert all(secret in text for secret in secrets.values())
    (tmp_path / "planted.har").write_text(text)
    run(study, tmp_path / "planted.har")
    kept = study.manifest_path.read_text()
    for table in TABLES:
        kept += json.dumps(scan(study, table).collect().to_dicts(), default=str)
    assert "a.test/x" in kept
    assert [name for name, secret in secrets.items() if secret in kept] == []
