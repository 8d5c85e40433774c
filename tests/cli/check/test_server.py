"""``originset check server`` as a user runs it: against the testbed's servers."""

import json
import shlex
from pathlib import Path
from xml.etree import ElementTree as ET

import polars as pl
import pytest
from holding_server import UNASKED, HoldingServer

from originset.cli.check.server import command
from originset.cli.check.server_report import CHECKED, github, junit, sarif
from originset.cli.pages.commands_page import split_help
from originset.crawler.testbed.servers.certificate_authority import Authority

pytestmark = pytest.mark.testbed


def test_a_server_that_keeps_its_word(run, testbed) -> None:
    authority = testbed.authority.root
    done = run("check", "server", "www.gazette.example", "--ca-file", authority, "--format", "json")
    rows = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    assert "1 server checked: no fault found" in done.stderr
    assert {row["result"] for row in rows} <= {"seen", "note"}
    seen = {(row["test"], row["subject"]): row["detail"] for row in rows}
    assert seen["protocol", "www.gazette.example"] == "h2 over TLSv1.3"
    assert "covers the host" in seen["certificate", "www.gazette.example"]
    origins = sorted(testbed.scenario.hosts["www.gazette.example"].origin_set)
    size = sum(2 + len(origin) for origin in origins)
    announced = seen["origin_set", "www.gazette.example"].partition(": ")
    assert announced[0] == f"{len(origins)} origins in {size} bytes"
    assert sorted(announced[2].split(", ")) == origins
    answered = {subject for test, subject in seen if test == "answer"}
    assert {origin.removeprefix("https://") for origin in origins} <= answered
    others = [detail for (test, subject), detail in seen.items() if test == "answer" and "first request" in detail]
    assert others
    assert all("as a connection's first request; the same after www.gazette.example" in one for one in others), others


def test_a_server_without_a_frame(run, testbed) -> None:
    host = testbed.scenario.hosts["media.gazette.example"]
    where = f"{host.addresses[0]}:443"
    call = ("check", "server", host.name, "--connect", where, "--ca-file", testbed.authority.root)
    done = run(*call)
    assert done.returncode == 1, done.stderr
    assert "no_frame" in done.stdout
    assert "1 server checked: 1 fault" in done.stderr
    none = run(*call, "--expect", "none", "--format", "json")
    assert (none.returncode, {row["result"] for row in json.loads(none.stdout)}) == (0, {"seen"}), none.stderr
    announcing = run(
        "check", "server", "www.gazette.example", "--ca-file", testbed.authority.root, "--expect", "none",
        "--format", "json",
    )  # fmt: skip
    assert announcing.returncode == 1
    (fault,) = [row for row in json.loads(announcing.stdout) if row["result"] == "fault"]
    assert (fault["test"], fault["subject"]) == ("unexpected_frame", "www.gazette.example")


def test_many_servers_in_each_format(run, testbed) -> None:
    """One that is as it should be, one with a fault, one that refuses the connection, one that DNS does not have."""
    hosts = testbed.scenario.hosts
    good, bad = hosts["www.gazette.example"].addresses[0], hosts["media.gazette.example"].addresses[0]
    call = ("check", "server", "www.gazette.example", "--ca-file", testbed.authority.root)
    places = ("--connect", good, "--connect", "127.0.0.1:1")
    done = run(*call, *places, "--format", "json")
    assert done.returncode == 3, done.stderr
    assert {(row["address"], row["port"]) for row in json.loads(done.stdout)} == {(good, 443), ("127.0.0.1", 1)}
    assert "1 server checked: no fault found" in done.stderr
    assert "not checked: www.gazette.example at 127.0.0.1 port 1: Connection refused" in done.stderr
    names = ("media.gazette.example", "nowhere.test")
    texts = {name: run(*call, *names, "--format", name) for name in ("json", "junit", "sarif", "github")}
    assert {done.returncode for done in texts.values()} == {1}
    rows = json.loads(texts["json"].stdout)
    assert [row["subject"] for row in rows if row["result"] == "failed"] == ["nowhere.test"]
    assert [(row["test"], row["address"]) for row in rows if row["result"] == "fault"] == [("no_frame", bad)]

    suites = ET.fromstring(texts["junit"].stdout).findall("testsuite")  # noqa: S314 - our own
    counts = {suite.get("name"): (suite.get("tests"), suite.get("failures"), suite.get("errors")) for suite in suites}
    tests = {
        where: str(sum(row["address"] == address for row in rows))
        for where, address in (
            (f"www.gazette.example at {good} port 443", good),
            (f"media.gazette.example at {bad} port 443", bad),
            ("nowhere.test", None),
        )
    }
    assert counts == {
        f"www.gazette.example at {good} port 443": (tests[f"www.gazette.example at {good} port 443"], "0", "0"),
        f"media.gazette.example at {bad} port 443": (tests[f"media.gazette.example at {bad} port 443"], "1", "0"),
        "nowhere.test": ("1", "0", "1"),
    }
    (failure,) = [case for suite in suites for case in suite.iter("failure")]
    assert failure.get("type") == "no_frame"

    log = json.loads(texts["sarif"].stdout)
    assert log["version"] == "2.1.0"
    results = [one for one in log["runs"][0]["results"] if one["level"] == "error"]
    assert sorted(one["ruleId"] for one in results) == ["connection", "no_frame"]
    assert {one["ruleId"] for one in log["runs"][0]["results"]} == {
        rule["id"] for rule in log["runs"][0]["tool"]["driver"]["rules"]
    }
    errors = [line for line in texts["github"].stdout.splitlines() if line.startswith("::error ")]
    assert sorted(line.partition("::")[2].partition("::")[0] for line in errors) == [
        "error title=originset%3A connection",
        "error title=originset%3A no_frame",
    ]


def test_strangers_texts_stay_texts() -> None:
    """A server's redirect is a stranger's: it ends no line, closes no element, is no command, and is valid XML."""
    evil = "302 to ]]></system-out>\x00\x1b[2J\n::error::x\ufffe"
    server = {"site": "a.test", "address": "192.0.2.1", "port": 443, "subject": "a.test", "detail": evil}
    rows = pl.DataFrame(
        [
            server | {"test": "answer", "result": "seen"},
            server | {"test": "misdirected", "result": "fault"},
        ],
        schema=CHECKED,
    )
    root = ET.fromstring(junit(rows))  # noqa: S314 - our own
    assert [case.get("name") for case in root.iter("testcase")] == ["answer a.test", "misdirected a.test"]
    assert "\\x1b[2J" in root.findtext(".//system-out", "")
    (line,) = github(rows)
    assert line.startswith("::error title=originset%3A misdirected::a.test at 192.0.2.1 port 443: ")
    assert line.isprintable()
    assert "\\x1b" in json.loads(sarif(rows))["runs"][0]["results"][0]["message"]["text"]


def test_its_example(run) -> None:
    """Nobody is at that address here."""
    words = shlex.split(split_help(command)[1])
    done = run(*words[1:], "--max-time", "1", "--format", "json")
    assert done.returncode == 3, done.stderr
    assert [row["result"] for row in json.loads(done.stdout)] == ["failed"]
    assert "www.example.com at 192.0.2.10" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["www.gazette.example"], 3, "certificate verify failed"),
        (["nowhere.test"], 3, "has no IP address"),
        (["a.test", "--connect", "127.0.0.1:1"], 3, "Connection refused"),
        (["a.test", "--connect", "a.test"], 2, "is no address"),
        (["a.test", "--connect", "[::1]:99999"], 2, "is no address"),
        (["a.test", "--path", "x\r\ny"], 2, "is no path"),
        (["a.test", "--ca-file", __file__], 2, "holds no CA certificates in PEM"),
        (["a.test", "--expect", "none", "--plan", __file__], 2, "contradict"),
        ([], 2, "Name a HOST, or a ring"),
        (["a.test", "--ring", "1"], 2, "Name a HOST, or a ring"),
        (["a.test", "--rollout", __file__, "--inventory", __file__, "--ring", "1"], 2, "and no HOST"),
        (["--rollout", __file__, "--ring", "1"], 2, "--rollout takes --inventory and --ring"),
        (["--rollout", __file__, "--inventory", __file__, "--ring", "1"], 2, "is not a rollout"),
    ],
)
def test_calls_that_cannot_work(run, testbed, arguments: list[str], code: int, said: str) -> None:
    done = run("check", "server", *arguments)
    assert (done.returncode, "failed" in done.stdout) == (code, code == 3)
    assert said in done.stderr
    assert testbed.sites


@pytest.mark.promise("check-ends")
@pytest.mark.timeout(60)
def test_a_server_that_only_pings(run, tmp_path: Path) -> None:
    """With more of them than are looked at together: none is given more time than all have."""
    authority = Authority(tmp_path)
    sites = [f"s{number}.site.test" for number in range(9)]
    with HoldingServer(authority.issue(sites), unasked=UNASKED["pings"], pause=0.1) as server:
        place = ("--connect", f"127.0.0.1:{server.port}", "--ca-file", authority.root)
        done = run("check", "server", *sites, *sites, *place, "--max-time", "1")
    assert done.returncode == 3
    assert done.stderr.count("did not show what it announces within") == 8
    assert done.stderr.count("was not asked: no time was left") == 1
    assert done.stderr.startswith("0 servers checked\n")
