"""``originset check server`` as a user runs it: against the testbed's servers."""

import json
import shlex
from pathlib import Path

import pytest
from holding_server import UNASKED, HoldingServer

from originset.cli.check.server import command
from originset.cli.pages.commands_page import split_help
from originset.crawler.testbed.servers.certificate_authority import Authority

pytestmark = pytest.mark.testbed


def test_a_server_that_keeps_its_word(run, testbed) -> None:
    authority = testbed.authority.root
    done = run("check", "server", "www.gazette.example", "--ca-file", authority, "--format", "json")
    found = json.loads(done.stdout)
    assert "announces 2 origins" in done.stderr
    assert (done.returncode, [row for row in found if row["fails"]]) == (0, []), found


def test_a_server_without_a_frame(run, testbed) -> None:
    host = testbed.scenario.hosts["media.gazette.example"]
    where = f"{host.addresses[0]}:443"
    done = run("check", "server", host.name, "--connect", where, "--ca-file", testbed.authority.root)
    assert done.returncode == 1, done.stderr
    assert "no_frame" in done.stdout
    assert "1 faults" in done.stderr


def test_its_example(run) -> None:
    """Nobody is at that address here."""
    words = shlex.split(split_help(command)[1])
    done = run(*words[1:], "--max-time", "1")
    assert (done.returncode, done.stdout) == (1, "")
    assert "www.example.com at 192.0.2.10" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["www.gazette.example"], 1, "certificate verify failed"),
        (["nowhere.test"], 2, "has no IP address"),
        (["a.test", "--connect", "a.test"], 2, "is no address"),
        (["a.test", "--connect", "[::1]:99999"], 2, "is no address"),
        (["a.test", "--connect", "127.0.0.1:1"], 1, "Connection refused"),
        (["a.test", "--path", "x\r\ny"], 2, "is no path"),
    ],
)
def test_calls_that_cannot_work(run, testbed, arguments: list[str], code: int, said: str) -> None:
    done = run("check", "server", *arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr
    assert testbed.sites


@pytest.mark.promise("check-ends")
@pytest.mark.timeout(60)
def test_a_server_that_only_pings(run, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    with HoldingServer(authority.issue(["www.site.test"]), unasked=UNASKED["pings"], pause=0.1) as server:
        place = ("--connect", f"127.0.0.1:{server.port}", "--ca-file", authority.root)
        done = run("check", "server", "www.site.test", *place, "--max-time", "1")
    assert (done.returncode, done.stdout) == (1, "")
    assert "did not show what it announces within 1 seconds" in done.stderr
