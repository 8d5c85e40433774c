"""Tranco lists from a server that speaks as Tranco's does."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import ClassVar

import pytest
from web_server import Quiet, serving

from originset.crawler.crawl.site_list import Site, read_site_list
from originset.crawler.downloads import tranco
from originset.data.errors import InputError

LIST = b"1,google.test\r\n2,b\xc3\xbccher.test\r\n3,c.test\r\n"


class Tranco(Quiet, BaseHTTPRequestHandler):
    answers: ClassVar[dict[str, tuple[int, bytes]]] = {
        "/top-1m-id": (200, b"W93G9\n"),
        "/download/W93G9/full": (200, LIST),
        "/download/HTML1/full": (200, b"<!doctype html><p>1,no such list"),
    }
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        if self.path == "/download/CUT00/full":
            self.send_response(200)
            self.send_header("Content-Length", str(len(LIST)))
            self.end_headers()
            self.wfile.write(LIST[:-5])
            return
        if self.path == "/download/ASTRAY/full":
            self.send_response(302)
            self.send_header("Location", "http://[")
            self.end_headers()
            return
        status, body = self.answers.get(self.path, (404, b"no"))
        self.answer(status, body)


@pytest.fixture
def server() -> Iterator[str]:
    Tranco.asked.clear()
    with serving(Tranco) as address:
        yield address


def test_a_list_is_downloaded_once(server: str, tmp_path: Path) -> None:
    first = tranco.fetch_ranking("tranco:W93G9:2", server, tmp_path / "cache")
    assert first == tranco.Ranking("W93G9", 2, f"{server}/download/W93G9/full", LIST)
    assert tranco.fetch_ranking("tranco:W93G9", server, tmp_path / "cache").count is None
    assert Tranco.asked == ["/download/W93G9/full"]
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["W93G9.csv"]


def test_the_latest_is_one_with_a_name(server: str, tmp_path: Path) -> None:
    assert tranco.fetch_ranking("tranco:latest:1", server, tmp_path).id == "W93G9"
    tranco.fetch_ranking("tranco:latest", server, tmp_path)
    assert Tranco.asked == ["/top-1m-id", "/download/W93G9/full", "/top-1m-id"]


@pytest.mark.parametrize("source", ["tranco:", "tranco:../etc", "tranco:W93G9:0", "tranco:W93G9:x", "tranco:a b"])
def test_names_that_are_none(source: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a Tranco list is tranco:ID"):
        tranco.fetch_ranking(source, "http://127.0.0.1:9", tmp_path)


def test_downloads_that_fail(server: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="was answered 404"):
        tranco.fetch_ranking("tranco:GONE1", server, tmp_path)
    with pytest.raises(InputError, match=r"is no list of rank,domain"):
        tranco.fetch_ranking("tranco:HTML1", server, tmp_path)
    with pytest.raises(InputError, match="cannot be downloaded"):
        tranco.fetch_ranking("tranco:W93G9", "http://127.0.0.1:9", tmp_path)
    with pytest.raises(InputError, match="5 bytes less than it says came"):
        tranco.fetch_ranking("tranco:CUT00", server, tmp_path)
    with pytest.raises(InputError, match="cannot be downloaded"):
        tranco.fetch_ranking("tranco:ASTRAY", server, tmp_path)
    gc.collect()  # an answer that was left open is told here, not in a later test
    assert list(tmp_path.iterdir()) == []


def test_a_ranking_is_a_site_list(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tranco, "SERVER", "http://127.0.0.1:9")  # it is in the cache
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    tranco.fetch_ranking("tranco:W93G9", server)
    listed = read_site_list("tranco:W93G9:2")
    assert listed.sites == (Site("google.test", None, 1), Site("xn--bcher-kva.test", None, 2))
    assert listed.origin == {"id": "W93G9", "url": f"{tranco.SERVER}/download/W93G9/full"}
    assert Tranco.asked == ["/download/W93G9/full"]
