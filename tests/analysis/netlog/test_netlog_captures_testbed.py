"""NetLogs of today's Chromium: they say what our own capture of the same load says."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from rich.progress import Progress

from originset.analysis.importing.import_run import ImportSummary, import_hars
from originset.analysis.netlog.netlog_captures import netlog_captures
from originset.crawler.browsers.chromium import Chromium
from originset.crawler.browsers.engine import find_binary
from originset.crawler.netlog import stream
from originset.crawler.settings import VisitSettings
from originset.crawler.testbed.testbed import Testbed
from originset.crawler.visits.chromium_visit import visit
from originset.crawler.visits.visit_record import VisitRequest
from originset.data.captures.capture import Extension
from originset.data.studies.shards import scan
from originset.data.studies.study import Study

pytestmark = [pytest.mark.testbed, pytest.mark.browser]

URLS = ("https://www.daily.test/", "https://www.gazette.example/")
TIMES = {"opened_ms", "established_ms", "closed_ms", "origin_ms"}


class _CopyingOs:
    """The module ``os`` for the reader of a browser's NetLog, which keeps a copy of what is read."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def read(self, descriptor: int, size: int) -> bytes:
        chunk = os.read(descriptor, size)
        with self._path.open("ab") as file:
            file.write(chunk)
        return chunk


@dataclass(frozen=True)
class Recording:
    """What one browser's loads were captured as: by ourselves (HAR log, extension), and as a NetLog's text."""

    captures: list[tuple[dict[str, Any], Extension]]
    netlog: bytes


@pytest.fixture(scope="module", params=["", "--enable-features=HappyEyeballsV3"], ids=["pools", "happy_eyeballs"])
def recording(
    request: pytest.FixtureRequest, testbed: Testbed, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Recording]:
    path = tmp_path_factory.mktemp("netlog") / "netlog.json"
    flags = (*testbed.browser_flags, *filter(None, [request.param]))
    settings = VisitSettings(quiet_s=0.2, environment=testbed.environment, extra_flags=flags)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream, "os", _CopyingOs(path))
        with Chromium(settings) as chromium:
            captures = [visit(chromium, VisitRequest(f"{n:016x}", url, url)) for n, url in enumerate(URLS)]
    return Recording(captures, path.read_bytes())


def timeless(extension: Extension) -> tuple[list[object], list[object]]:
    """Connections and lookups without times, whose zero a visit of ours has from DevTools."""
    connections = [
        {name: value for name, value in structs.asdict(one).items() if name not in TIMES}
        for one in sorted(extension.connections, key=lambda one: one.id)
    ]
    queries = [(one.lookup_id, one.host, one.rtype, one.status, one.answers, one.cname_chain, one.attempts,
                one.cache_hits, one.source) for one in extension.dns]  # fmt: skip
    return connections, queries


def test_equal_connections_lookups_and_pooling(recording: Recording) -> None:
    read = netlog_captures(recording.netlog, "netlog.json")
    assert len(read.visits) == len(recording.captures)
    for (har, extension), (log, ours) in zip(read.visits, recording.captures, strict=True):
        assert extension.visit.url == ours.visit.url
        assert extension.visit.final_url == ours.visit.final_url
        assert timeless(extension) == timeless(ours)
        assert extension.certificates == ours.certificates
        sent = sorted((one["request"]["url"], one["connection"]) for one in log["entries"] if "connection" in one)
        assert sorted((one.request.url, one.connection) for one in har.entries if one.connection) == sent
        assert all(connection.first_host for connection in extension.connections)


def imported(folder: Path, *files: Path) -> tuple[Study, ImportSummary]:
    study = Study(folder)
    study.create()
    with study.changing("import", {}), Progress(disable=True) as progress:
        return study, import_hars(study, files, progress)


def test_a_har_and_a_netlog_of_one_load_are_one_visit(recording: Recording, tmp_path: Path) -> None:
    log, ours = recording.captures[0]
    entries = [{name: value for name, value in one.items() if name not in {"connection", "_connectionId"}}
               for one in log["entries"]]  # fmt: skip
    creator = {"creator": {"name": "WebInspector", "version": "537.36"}}
    (tmp_path / "page.har").write_text(json.dumps({"log": {**log, **creator, "entries": entries}}))
    (tmp_path / "netlog.json.gz").write_bytes(gzip.compress(recording.netlog))
    files = [tmp_path / "page.har", tmp_path / "netlog.json.gz"]
    study, summary = imported(tmp_path / "study", *files)
    assert summary.joined == 1
    visits = scan(study, "visits").collect()
    assert sorted(visits["recorder"]) == ["chrome-devtools", "netlog"], "the second page is in the NetLog alone"
    visit_id = visits.filter(recorder="chrome-devtools")["visit_id"][0]
    connections = scan(study, "connections").filter(visit_id=visit_id).collect()
    assert sorted(connections["connection_id"]) == sorted(one.id for one in ours.connections)
    requests = scan(study, "requests").filter(visit_id=visit_id).collect()
    expected = {one["request"]["url"]: int(one["connection"]) for one in log["entries"] if "connection" in one}
    found = requests.filter(requests["connection_id"].is_not_null()).select("url", "connection_id").iter_rows()
    assert dict(found) == expected
    assert requests.height == len(entries)
    again, _ = imported_again(study, *files)
    for table in ("visits", "requests", "connections", "dns_queries"):
        assert scan(again, table).collect().height == scan(study, table).collect().height


def imported_again(study: Study, *files: Path) -> tuple[Study, ImportSummary]:
    with study.changing("import", {}), Progress(disable=True) as progress:
        return study, import_hars(study, files, progress)


def test_a_file_that_chromium_wrote_and_ended(testbed: Testbed, tmp_path: Path) -> None:
    path = tmp_path / "everything.json"
    words = [find_binary(), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}",
             f"--log-net-log={path}", "--net-log-capture-mode=Everything", "--dump-dom", *testbed.browser_flags,
             URLS[0]]  # fmt: skip
    subprocess.run(words, env={**os.environ, **testbed.environment}, check=True, capture_output=True, timeout=60)
    read = netlog_captures(path.read_bytes(), "everything.json")
    assert read.lost is None
    ((har, extension),) = read.visits
    assert extension.visit.final_url == URLS[0]
    assert all(connection.first_host for connection in extension.connections)
    assert {one.host for one in extension.dns} >= {"www.daily.test"}
    assert all(entry.connection for entry in har.entries if entry.response.status)
