"""Copies of imported files: what is in them, and what never is."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import duckdb
import planted_secrets
import pytest
import zstandard
from rich.progress import Progress

from originset.analysis.importing.import_batch import ImportSettings
from originset.analysis.importing.import_run import import_hars
from originset.analysis.importing.kept_files import kept_path
from originset.data.schema.study_tables import TABLES
from originset.data.studies.database import build_database
from originset.data.studies.shards import scan
from originset.data.studies.study import Study

FIXTURES = Path(__file__).parents[2] / "fixtures" / "hars"
WORDS = (
    *("cookie", "set_cookie", "authorization", "post_text", "post_param", "user", "password", "query", "nested"),
    *("fragment", "body", "redirect", "jwt", "data_url", "blob", "error", "initiator", "stack", "title", "websocket"),
    *("header", "mime", "comment", "frame", "camel", "query_list", "response_cookie", "page_url", "failure"),
)
SECRETS = {word: f"S3CRET{number:03}{word}" for number, word in enumerate(WORDS)}


def planted() -> dict[str, Any]:
    """A HAR with a secret in every place that can hold one."""
    s = SECRETS
    jwt = f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0{s['jwt']}.c2ln"
    nested = f"https%3A%2F%2Fc.test%2F%3Fa%3D1%26access_token%3D{s['nested']}"
    entry = {
        "startedDateTime": "2024-01-01T00:00:00Z",
        "pageref": "p",
        "comment": s["comment"],
        "serverIPAddress": "192.0.2.1",
        "connection": "1",
        "request": {
            "url": f"https://{s['user']}:{s['password']}@a.test/x?token={s['query']}&to={nested}&userPassword={s['camel']}"
            f"&j={jwt}#{s['fragment']}",
            "method": "POST",
            "httpVersion": "h2",
            "headers": [
                {"name": "Cookie", "value": f"id={s['cookie']}"},
                {"name": "authorization", "value": f"Bearer {s['authorization']}"},
                {"name": "x-api-key", "value": s["header"]},
            ],
            "cookies": [{"name": "id", "value": s["cookie"]}],
            "queryString": [{"name": "token", "value": s["query_list"]}],
            "postData": {"text": s["post_text"], "params": [{"name": "pw", "value": s["post_param"]}]},
        },
        "response": {
            "status": 302,
            "redirectURL": f"https://b.test/?code={s['redirect']}",
            "headers": [{"name": "Set-Cookie", "value": s["set_cookie"]}],
            "cookies": [{"name": "id", "value": s["response_cookie"]}],
            "content": {"text": s["body"], "mimeType": f"text/html; x={s['mime']}"},
            "_error": f"failed to fetch https://a.test/?sig={s['error']} now",
            "_failureText": f"no {s['failure']}",
        },
        "timings": {"send": 0, "wait": 1, "receive": 1},
        "_initiator": {
            "url": f"https://a.test/?sid={s['initiator']}",
            "stack": {"callFrames": [{"url": f"https://a.test/?key={s['stack']}"}]},
        },
        "_frameUrl": f"https://a.test/?session={s['frame']}",
        "_webSocketMessages": [{"data": s["websocket"]}],
    }
    inline = {**entry, "request": {"url": f"data:text/plain,{s['data_url']}"}, "_initiator": f"data:x,{s['data_url']}"}
    blob = {**entry, "request": {"url": f"blob:https://u:{s['blob']}@a.test/{s['blob']}"}}
    page = {
        "id": "p",
        "startedDateTime": "2024-01-01T00:00:00Z",
        "title": f"https://a.test/?jwt={s['title']}",
        "_url": f"https://a.test/x?api_key={s['page_url']}",
        "pageTimings": {"onLoad": 5},
    }
    return {
        "log": {"creator": {"name": "chrome-har", "version": "1"}, "pages": [page], "entries": [entry, inline, blob]}
    }


def everything(study: Study) -> str:
    """All that a study's files hold: as bytes, unpacked where they are packed, and read where they are tables."""
    found = []
    for path in sorted(study.root.rglob("*")):
        if not path.is_file():
            continue
        content = path.read_bytes()
        found.append(f"{path.relative_to(study.root)} {content.decode('latin-1')}")
        if content[:4] == b"\x28\xb5\x2f\xfd":
            found.append(zstandard.ZstdDecompressor().decompressobj().decompress(content).decode())
    found += [json.dumps(scan(study, table).collect().to_dicts(), default=str) for table in TABLES]
    if study.database_path.exists():
        with duckdb.connect(str(study.database_path), read_only=True) as connection:
            for (name,) in connection.execute("SELECT table_name FROM information_schema.tables").fetchall():
                found.append(repr(connection.sql(f'SELECT * FROM "{name}"').fetchall()))  # noqa: S608 - our own tables
    return "\n".join(found)


def run(study: Study, path: Path, **settings: bool) -> None:
    with study.changing("import", {}), Progress(disable=True) as progress:
        import_hars(study, [path], progress, ImportSettings(**settings))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The planted HAR plain, cut off, and in an archive."""
    folder = tmp_path / "hars"
    folder.mkdir()
    text = json.dumps(planted())
    assert all(secret in text for secret in SECRETS.values())
    (folder / "planted.har").write_text(text)
    (folder / "cut.har").write_text(text[:-30])
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("../../inner.har", text + " ")
    (folder / "packed.zip").write_bytes(packed.getvalue())
    return folder


@pytest.mark.promise("imports-without-secrets")
@pytest.mark.parametrize("keep_files", [False, True])
def test_no_planted_secret_survives_anywhere_in_a_study(folder, tmp_path, keep_files):
    study = Study(tmp_path / "study")
    run(study, folder, keep_files=keep_files)
    build_database(study, {})
    kept = everything(study)
    assert "a.test/x?token=REDACTED" in kept
    assert [word for word, secret in SECRETS.items() if secret in kept] == []
    assert scan(study, "visits").collect().height == 3


@pytest.mark.promise("imports-without-secrets")
@pytest.mark.parametrize("keep_files", [False, True])
def test_none_of_all_that_is_planted_survives_an_import(tmp_path, keep_files):
    urls = [*planted_secrets.urls()]
    headers = [{"name": one.header, "value": one.place} for one in planted_secrets.headers()]
    entries = [
        {
            "pageref": one.place,
            "startedDateTime": "2024-01-01T00:00:00Z",
            "request": {"url": one.place, "method": "GET", "headers": headers},
            "response": {"status": 200, "redirectURL": one.place, "headers": headers, "statusText": one.secret},
            "_initiator": {"url": one.place},
            "_frameUrl": one.place,
        }
        for one in urls
    ]
    pages = [{"id": one.place, "title": one.place, "_url": one.place} for one in urls]
    (tmp_path / "planted.har").write_text(json.dumps({"log": {"pages": pages, "entries": entries}}))
    study = Study(tmp_path / "study")
    run(study, tmp_path / "planted.har", keep_files=keep_files)
    build_database(study, {})
    kept = everything(study)
    assert scan(study, "requests").collect().height == len(urls)
    assert [one for one in [*urls, *planted_secrets.headers()] if one.secret.lower() in kept.lower()] == []


def test_secrets_are_kept_if_asked_for(folder, tmp_path):
    study = Study(tmp_path / "study")
    run(study, folder / "planted.har", keep_secrets=True, keep_files=True)
    (row,) = scan(study, "requests").filter(request_id=0).collect().rows(named=True)
    assert row["url"] == planted()["log"]["entries"][0]["request"]["url"]
    sha256 = scan(study, "visits").collect()["source_sha256"][0]
    assert zstandard.decompress(kept_path(study, sha256).read_bytes()) == (folder / "planted.har").read_bytes()


def test_a_copy_gives_the_rows_of_its_source(tmp_path):
    study, again = Study(tmp_path / "study"), Study(tmp_path / "again")
    for recorder in ("chrome-devtools", "firefox", "playwright", "chrome-har", "browsertime", "chrome-har-capturer"):
        run(study, FIXTURES / recorder, keep_files=True)
    for source, sha256 in scan(study, "visits").select("source", "source_sha256").unique().collect().iter_rows():
        copy = tmp_path / "copies" / source
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(kept_path(study, sha256).read_bytes())
    for folder in (tmp_path / "copies").iterdir():
        run(again, folder)
    for table in ("requests", "connections"):
        key = ["visit_id", table.removesuffix("s") + "_id"]
        rows = [scan(held, table).collect().sort(key) for held in (study, again)]
        assert rows[0].height > 50
        assert rows[0].equals(rows[1])
