"""Importing: what counts as the same file, what is refused, and what an interrupted import leaves."""

import gzip
import io
import json
import secrets
import zipfile
from pathlib import Path

import polars as pl
import pytest
import zstandard
from measured_import import measured_import
from rich.progress import Progress

from originset.analysis.importing import import_batch, import_run
from originset.analysis.importing.har_files import find_files
from originset.analysis.importing.import_run import ImportSummary, import_hars
from originset.data.errors import UsageError
from originset.data.schema.study_tables import TABLES
from originset.data.studies.shards import scan, shard_path, shard_paths
from originset.data.studies.study import Study


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
    (folder / "bom.har").write_bytes(b"\xef\xbb\xbf\n")
    (folder / "jsonp.har").write_bytes(b"onInputData(" + har("x.test") + b");")
    (folder / "text.har").write_bytes(b"<html>not found</html>")
    (folder / "no-log.har").write_bytes(b'{"entries": []}')
    (folder / "deep.har").write_bytes(b'{"log": {"entries": ' + b"[" * 200_000)
    (folder / "deep-whole.har").write_bytes(b'{"log": {"entries": ' + b"[" * 200_000 + b"]" * 200_000 + b"}}")
    (folder / "garbage.har.gz").write_bytes(gzip.compress(har("x.test"))[:12])
    (folder / "cut.zip").write_bytes((folder / "many.zip").read_bytes()[:-30])
    summary = run(study, folder)
    assert hosts(study) == [f"{letter}.test" for letter in "abcdef"]
    rejects = scan(study, "rejects").sort("source").collect()
    assert dict(rejects.select("source", "reason").iter_rows()) == {
        "hars/bom.har": "empty",
        "hars/cut.zip": "damaged",
        "hars/deep-whole.har": "too-deep",
        "hars/deep.har": "too-deep",
        "hars/empty.har": "empty",
        "hars/garbage.har.gz": "damaged",
        "hars/jsonp.har": "not-json",
        "hars/no-log.har": "not-har",
        "hars/text.har": "not-json",
    }
    assert len(summary.refused) == 9
    assert all(str(error).count("\n") == 0 and len(str(error)) < 200 for error in summary.refused)


def test_a_file_that_was_cut_off_keeps_its_whole_entries(study, folder):
    entries = [
        {
            "startedDateTime": "2024-01-01T00:00:00Z",
            "request": {"url": f"https://{n}.test/[}}"},
            "response": {"status": 200},
        }
        for n in range(3)
    ]
    text = json.dumps({"log": {"pages": [{"id": "p", "title": "t"}], "entries": entries}}).encode()
    third = text.index(b"2.test")
    (folder / "a.har").write_bytes(text[: third + 3])
    (folder / "none.har").write_bytes(text[:90])
    many = [{"request": {"url": f"https://{n}.test/{secrets.token_hex(20)}"}} for n in range(5000)]
    packed = gzip.compress(json.dumps({"log": {"entries": many}}).encode())
    (folder / "c.har.gz").write_bytes(packed[: len(packed) // 2])
    summary = run(study, folder)
    rows = scan(study, "requests").join(scan(study, "visits"), on="visit_id").sort("request_id").collect()
    kept = rows.filter(source="hars/a.har")
    assert kept["host"].to_list() == ["0.test", "1.test"]
    assert kept["quality"][0].to_list().count("truncated") == 1
    (cut,) = [error for error in summary.cut_off if error.source == "hars/a.har"]
    whole = text[:third].rindex(b"}")  # of the second entry
    assert cut.byte_offset == whole + 1
    assert text[: cut.byte_offset].endswith(b"}}")
    rejects = scan(study, "rejects").collect()
    assert rejects.filter(source="hars/a.har")["reason"].to_list() == ["truncated"]
    assert rejects.filter(source="hars/none.har")["reason"].to_list() == ["truncated"]
    assert not rows.filter(source="hars/none.har").height
    # Its compression was cut off, at about the middle of what it held.
    assert rows.filter(source="hars/c.har.gz")["host"].to_list() == [f"{n}.test" for n in range(len(rows) - 3 - 3)]
    assert 2000 < len(rows) < 3000
    again = run(study, folder)
    assert again.cut_off == []
    assert scan(study, "rejects").filter(source="hars/a.har").collect().height == 1


def test_compression_cut_before_anything_can_be_unpacked(study, tmp_path):
    for name, packed in (("a.har.zst", zstandard.compress(har("a.test"))), ("b.har.gz", gzip.compress(har("b.test")))):
        (tmp_path / name).write_bytes(packed[:20])
    summary = run(study, tmp_path)
    assert {error.reason for error in summary.refused} == {"damaged"}
    assert len(summary.refused) == 2


def test_patterns_and_stdin(study, folder, monkeypatch):
    run(study, folder / "*.har")
    assert hosts(study) == ["a.test", "d.test"]
    for expected in ((1, 0), (0, 1)):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(har("piped.test"), mtime=0))))
        summary = run(study, Path("-"))
        assert (summary.imported, summary.already) == expected
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(har("other.test"))))
    run(study, Path("-"))
    assert hosts(study) == ["a.test", "d.test", "other.test", "piped.test"]
    with pytest.raises(UsageError, match="matches nothing"):
        find_files([folder / "*.none"])


def test_rows_of_a_table_are_not_read_from_a_pipe(study, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'{"page": "https://a.test/", "payload": "{}"}\n')))
    assert [error.reason for error in run(study, Path("-")).refused] == ["not-har"]


@pytest.mark.promise("hars-are-bounded")
def test_members_beyond_the_bound_are_told(study, tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "many.zip", "w") as archive:
        for name in ("a", "b", "c"):
            archive.writestr(f"{name}.har", har(f"{name}.test"))
    monkeypatch.setattr("originset.analysis.importing.har_files.MAX_MEMBERS", 2)
    assert [error.reason for error in run(study, tmp_path / "many.zip").refused] == ["too-large"]
    assert hosts(study) == ["a.test", "b.test"]


def test_damaged_archives(study, tmp_path):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.har", har("a.test"))
        archive.writestr("b.har", har("b.test"))
    content = bytearray(packed.getvalue())
    (tmp_path / "cut.zip").write_bytes(content[: len(content) // 2])
    content[40:60] = bytes(20)  # within the first member
    (tmp_path / "spoilt.zip").write_bytes(content)
    summary = run(study, tmp_path / "cut.zip", tmp_path / "spoilt.zip")
    assert [(error.source, error.reason) for error in summary.refused] == [
        ("cut.zip", "damaged"),
        ("spoilt.zip/a.har", "damaged"),
    ]
    assert hosts(study) == ["b.test"]


def test_two_files_of_one_name_need_their_folders(study, tmp_path):
    for name in ("x", "y"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "same.har").write_bytes(har(f"{name}.test"))
    summary = run(study, tmp_path / "x" / "same.har", tmp_path / "y" / "same.har")
    assert hosts(study) == ["x.test"]
    assert [error.reason for error in summary.refused] == ["path-taken"]


def test_processes_do_what_one_does(tmp_path, folder, monkeypatch):
    monkeypatch.setattr(import_run, "_SHARE_FILES", 2)
    (folder / "copy.har").write_bytes(har("a.test"))
    (folder / "bad.har").write_bytes(b"{")
    one, two = Study(tmp_path / "one"), Study(tmp_path / "two")
    alone = run(one, folder)
    for expected in ((7, 0), (0, 7)):
        with two.changing("import", {}), Progress(disable=True) as progress:
            summary = import_hars(two, [folder], progress, jobs=2)
        assert (summary.imported, summary.already) == expected
        assert summary.same_content == (1 if expected[0] else 0)
        assert [error.reason for error in summary.refused] == ["truncated"]
    assert alone.same_content == 1
    for table in ("visits", "requests", "rejects"):
        by = "source" if table == "rejects" else "visit_id"
        assert scan(one, table).sort(by).collect().equals(scan(two, table).sort(by).collect())


def test_a_file_that_was_mended_is_no_reject_any_more(study, folder):
    (folder / "a.har").write_bytes(b"{")
    run(study, folder)
    assert scan(study, "rejects").collect()["source"].to_list() == ["hars/a.har"]
    (folder / "a.har").write_bytes(har("a.test"))
    run(study, folder)
    assert scan(study, "rejects").collect().is_empty()
    assert "a.test" in hosts(study)


def bomb(packing: str, size: int) -> bytes:
    """Blanks, packed."""
    if packing == "gzip":
        return gzip.compress(b" " * size)
    if packing == "zstd":
        return zstandard.compress(b" " * size)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb.har", b" " * size)
    return packed.getvalue()


@pytest.mark.promise("hars-are-bounded")
@pytest.mark.parametrize("packing", ["gzip", "zstd", "zip"])
def test_a_bomb_meets_a_bound(study, tmp_path, packing):
    (tmp_path / "bomb.har").write_bytes(bomb(packing, 80 << 20))
    done = measured_import(study, tmp_path / "bomb.har")
    assert [reason for _, reason in done.refused] == ["bomb"]
    assert done.risen_kib < 400 << 10


@pytest.mark.promise("hars-are-bounded")
def test_a_file_over_the_bound_is_not_even_read(study, tmp_path):
    with (tmp_path / "huge.har").open("wb") as file:
        file.truncate((1 << 30) + 1)
    done = measured_import(study, tmp_path / "huge.har")
    assert [reason for _, reason in done.refused] == ["too-large"]
    assert done.risen_kib < 100 << 10


def test_a_killed_import_is_done_again_without_doubles(study, folder, monkeypatch):
    monkeypatch.setattr(import_batch, "_BYTES", 1)  # a shard a file
    write = import_batch.write_shard

    def dies(study, table, shard, rows):
        if table == "visits" and len(shard_paths(study, "visits")) == 2:
            raise KeyboardInterrupt
        return write(study, table, shard, rows)

    monkeypatch.setattr(import_batch, "write_shard", dies)
    with pytest.raises(KeyboardInterrupt):
        run(study, folder)
    assert len(shard_paths(study, "requests")) == 3
    monkeypatch.setattr(import_batch, "write_shard", write)
    monkeypatch.setattr(import_batch, "_BYTES", 1 << 30)  # other batches than before
    assert run(study, folder).already == 2
    assert hosts(study) == [f"{letter}.test" for letter in "abcdef"]
    visits, requests = (scan(study, table).collect()["visit_id"] for table in ("visits", "requests"))
    assert sorted(visits) == sorted(requests)
    assert visits.n_unique() == 6


def test_many_shards_hold_what_one_holds(tmp_path, folder, monkeypatch):
    whole, parts = Study(tmp_path / "whole"), Study(tmp_path / "parts")
    run(whole, folder)
    monkeypatch.setattr(import_batch, "_ENTRIES", 1)
    run(parts, folder)
    assert len(shard_paths(parts, "visits")) == 6
    for table in ("visits", "requests"):
        rows = [scan(study, table).sort("visit_id").collect() for study in (whole, parts)]
        assert rows[0].equals(rows[1])


@pytest.mark.parametrize("again", ["alone", "with others"])
def test_what_a_damaged_shard_held_is_read_again(study, folder, monkeypatch, again):
    monkeypatch.setattr(import_batch, "_BYTES", 1)  # a shard a file
    run(study, folder)
    held = {pl.read_parquet(path)["source"][0]: path for path in shard_paths(study, "visits")}
    for source in ("hars/a.har", "hars/d.har"):
        shard_path(study, "requests", held[source].stem).write_bytes(b"PAR1 and nothing")
    if again == "with others":
        monkeypatch.setattr(import_batch, "_BYTES", 1 << 30)
    summary = run(study, folder)
    assert (summary.imported, summary.already, summary.lost) == (2, 4, [])
    assert hosts(study) == [f"{letter}.test" for letter in "abcdef"]


def test_what_a_damaged_shard_held_and_is_not_there_is_said(study, folder, monkeypatch):
    monkeypatch.setattr(import_batch, "_BYTES", 1)
    run(study, folder)
    held = {pl.read_parquet(path)["source"][0]: path for path in shard_paths(study, "visits")}
    shard_path(study, "requests", held["hars/a.har"].stem).unlink()
    shard_path(study, "connections", held["hars/d.har"].stem).write_bytes(b"")
    held["hars/c.har.gz"].write_bytes(b"")
    assert sorted(run(study, folder / "deeper").lost) == ["hars/d.har", f"those of {held['hars/c.har.gz']}"]


def test_paths_that_do_not_exist(tmp_path):
    with pytest.raises(UsageError, match=r"nowhere\.har does not exist"):
        find_files([tmp_path / "nowhere.har"])


def test_a_file_named_twice_is_one(folder):
    assert len(find_files([folder / "a.har", folder])) == len(find_files([folder]))


@pytest.mark.promise("imports-without-secrets")
def test_planted_secrets_survive_nowhere_in_the_study(study, tmp_path):
    planted = {name: f"S3CRET{number:02}X" for number, name in enumerate("abcdefghijklmn")}
    s = planted
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
    assert all(secret in text for secret in planted.values())
    (tmp_path / "planted.har").write_text(text)
    run(study, tmp_path / "planted.har")
    kept = study.manifest_path.read_text()
    for table in TABLES:
        kept += json.dumps(scan(study, table).collect().to_dicts(), default=str)
    assert "a.test/x" in kept
    assert [name for name, secret in planted.items() if secret in kept] == []
