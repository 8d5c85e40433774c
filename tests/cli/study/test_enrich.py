"""``enrich`` and ``explain --live`` as a user runs them, with servers and a resolver of the test's own."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from faulty_server import FaultyServer
from hand_made_har import write_har
from scripted_dns import ScriptedDns

from originset.crawler.testbed.servers.certificate_authority import Authority
from originset.data.studies.database import open_database
from originset.data.studies.shards import shard_paths
from originset.data.studies.study import Study

pytestmark = pytest.mark.testbed

HOME, MOVED, GONE = "104.20.8.1", "104.20.8.2", "104.20.8.3"
PAGE = (
    ("https://www.site.test/", HOME, "1"),
    ("https://img.site.test/a.png", HOME, "2"),
    ("https://cdn.site.test/b.png", GONE, "3"),
    ("https://[::1]/metadata", "169.254.169.254", "4"),
    ("https://inside.test/", "10.0.0.1", "5"),
)


@dataclass
class World:
    dns: ScriptedDns
    har: Path

    @property
    def options(self) -> tuple[str, ...]:
        return ("--resolver", f"127.0.0.1:{self.dns.port}", "--rate", "50")


def answer(name: str, kind: str, _before: int) -> list[str]:
    places = {"www.site.test": HOME, "img.site.test": HOME, "cdn.site.test": MOVED, "inside.test": "10.0.0.1"}
    return [places[name]] if kind == "A" and name in places else []


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    authority = Authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.root))
    issued = authority.issue(["www.site.test", "*.site.test"])
    with ExitStack() as stack:
        for address in (HOME, MOVED, GONE):
            place = [f"{address}/32", "dev", "lo"]
            subprocess.run(["ip", "addr", "add", *place], check=True)
            stack.callback(subprocess.run, ["ip", "addr", "del", *place], check=True)
        for address in (HOME, MOVED):
            stack.enter_context(FaultyServer(address, issued))
        dns = stack.enter_context(ScriptedDns(answer))
        yield World(dns, write_har(tmp_path / "page.har", PAGE))


@pytest.fixture
def study(tmp_path: Path) -> Study:
    """What ``run`` works in."""
    return Study(tmp_path / "S")


def test_a_study_and_what_it_lacks(run, world: World, study: Study) -> None:
    assert run("import", world.har).returncode == 0
    assert run("analyze").returncode == 0
    refused = run("study", "enrich")
    assert (refused.returncode, "permit it with --live" in refused.stderr) == (2, True)
    listed = json.loads(run("study", "enrich", "--dry-run", *world.options, "--format", "json").stdout)
    assert not world.dns.asked, "a dry run contacts nobody"
    assert not shard_paths(study, "live_handshakes")
    told = {(row["host"], row["address"]): row["contacted"] for row in listed if row["what"] == "TLS handshake"}
    assert told["www.site.test", HOME] is True
    assert told["::1", "169.254.169.254"] is False
    assert told["inside.test", "10.0.0.1"] is False

    done = run("study", "enrich", "--live", *world.options)
    assert "queried DNS for 4 names; 3 of 4 TLS handshakes gave a trusted certificate" in done.stderr
    with open_database(study) as database:
        rows = database.sql(
            "SELECT host, server_ip, recorded, address_changed, certificate_id IS NOT NULL, asked_at IS NOT NULL"
            " FROM live_handshakes ORDER BY ALL"
        ).fetchall()
        ages = database.sql("SELECT min(asked_ms), max(asked_ms) FROM dns_queries WHERE source = 'live'").fetchall()[0]
        recorded = database.sql("SELECT count(certificate_id) FROM connections").fetchall()[0]
        found = database.sql(
            "SELECT host, reusable_host, cause, needs, based_on_live FROM redundant_connections ORDER BY connection_id"
        ).fetchall()
        names = database.sql("SELECT DISTINCT name FROM certificate_names ORDER BY name").fetchall()
    assert rows == [
        ("::1", "169.254.169.254", True, None, False, False),
        ("cdn.site.test", MOVED, False, True, True, True),
        ("cdn.site.test", GONE, True, True, False, True),
        ("img.site.test", HOME, True, False, True, True),
        ("inside.test", "10.0.0.1", True, False, False, False),
        ("www.site.test", HOME, True, False, True, True),
    ]
    assert ages[0] > 0, "as old as the recording was"
    assert recorded == (0,), "what was recorded stays as it was"
    assert names == [("*.site.test",), ("www.site.test",)]
    shared = {host: (held, based) for host, held, _, _, based in found}
    assert shared["img.site.test"] == ("www.site.test", True)
    needs = {host: set(lacks) for host, _, _, lacks, _ in found}
    assert needs["img.site.test"].isdisjoint({"certificate names", "DNS answers"})

    before = world.dns.asked.copy()
    again = run("study", "enrich", "--live", *world.options)
    assert "queried DNS for 0 names; 0 of 0 TLS handshakes" in again.stderr
    assert world.dns.asked == before, "what was asked for is not asked for again"
    assert "3 of 4 TLS handshakes" in run("study", "enrich", "--live", "--again", *world.options).stderr
    with open_database(study) as database:
        assert database.sql("SELECT count(*) FROM live_handshakes").fetchall() == [(6,)]


@pytest.mark.promise("live-ends")
@pytest.mark.timeout(120)
def test_what_there_was_no_time_for_is_asked_for_the_next_time(run, world: World, study: Study) -> None:
    assert run("import", world.har).returncode == 0
    slow = run("study", "enrich", "--live", *world.options, "--rate", "0.1", "--max-time", "1")
    assert slow.returncode == 1
    assert "there was no time for 3 hosts; allow more with --max-time" in slow.stderr
    assert "3 of 4 TLS handshakes gave a trusted certificate" in run("study", "enrich", "--live", *world.options).stderr
    with open_database(study) as database:
        assert database.sql("SELECT count(*) FROM live_handshakes").fetchall() == [(6,)]


def test_explained_with_what_is_true_today(run, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authorities = os.environ["SSL_CERT_FILE"]
    monkeypatch.delenv("SSL_CERT_FILE")
    plain = run("explain", world.har)
    assert "as of" not in plain.stdout
    assert not world.dns.asked, "never by default"
    strange = run("explain", "--live", *world.options, world.har)
    before, after = strange.stderr.split("queried DNS for 4 names")
    assert "asking DNS at 127.0.0.1" in before
    assert "www.site.test" in before
    assert re.search(r"no certificate: not trusted: .*: .*www\.site\.test", after)
    (tmp_path / "empty.pem").write_text("")
    assert run("explain", "--live", "--ca-file", tmp_path / "empty.pem", world.har).returncode == 2
    live = run("explain", "--live", "--ca-file", authorities, *world.options, world.har)
    assert "Obtained live, not from the file: 1 certificate and the DNS answers for 4 names, as of 2" in " ".join(
        live.stdout.split()
    )
    assert "1 host had moved to other addresses by then" in " ".join(live.stdout.split())
