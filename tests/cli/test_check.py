"""``originset check`` as a user runs it: against the testbed's servers."""

import json
from pathlib import Path

import pytest
from holding_server import UNASKED, HoldingServer

from originset.crawler.testbed.servers.certificate_authority import Authority

pytestmark = pytest.mark.testbed


def test_a_server_that_keeps_its_word(run, testbed) -> None:
    authority = testbed.authority.root
    done = run("check", "--site", "www.gazette.example", "--ca-file", authority, "--format", "json")
    found = json.loads(done.stdout)
    assert "announces 2 origins" in done.stderr
    assert (done.returncode, [row for row in found if row["fails"]]) == (0, []), found


def test_a_server_without_a_frame(run, testbed) -> None:
    host = testbed.scenario.hosts["media.gazette.example"]
    where = f"{host.addresses[0]}:443"
    done = run("check", "--site", host.name, "--connect", where, "--ca-file", testbed.authority.root)
    assert done.returncode == 1, done.stderr
    assert "no_frame" in done.stdout
    assert "1 faults" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--site", "www.gazette.example"], 1, "certificate verify failed"),
        (["--site", "nowhere.test"], 2, "has no address"),
        (["--site", "a.test", "--connect", "a.test"], 2, "is no address"),
        (["--site", "a.test", "--connect", "[::1]:99999"], 2, "is no address"),
        (["--site", "a.test", "--connect", "127.0.0.1:1"], 1, "Connection refused"),
        (["--site", "a.test", "--path", "x\r\ny"], 2, "is no path"),
    ],
)
def test_calls_that_cannot_work(run, testbed, arguments: list[str], code: int, said: str) -> None:
    done = run("check", *arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr
    assert testbed.sites


@pytest.mark.promise("check-ends")
@pytest.mark.timeout(60)
def test_a_server_that_only_pings(run, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    with HoldingServer(authority.issue(["www.site.test"]), unasked=UNASKED["pings"], pause=0.1) as server:
        place = ("--connect", f"127.0.0.1:{server.port}", "--ca-file", authority.root)
        done = run("check", "--site", "www.site.test", *place, "--timeout", "1")
    assert (done.returncode, done.stdout) == (1, "")
    assert "did not show what it announces within 1 seconds" in done.stderr
