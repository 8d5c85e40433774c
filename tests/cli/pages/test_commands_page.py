"""docs/commands.md is what the commands' help says, and every example in it does what it says when it is typed."""

from __future__ import annotations

import gzip
import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import click
import psutil
import pytest
from hand_made_har import write_har
from json_schemas import output_of, validator

from originset.cli import main
from originset.cli.pages.commands_page import commands, page, split_help
from originset.crawler.testbed.namespace import in_namespace

EXAMPLES = {words: split_help(command)[1] for words, command in commands()}
# Those that take long, and what fetches from a server that a test has put there.
ELSEWHERE = {
    "originset check server": "check/test_server.py",
    "originset demo": "test_demo.py",
    "originset experiment run": "experiment/test_run.py",
    "originset experiment verify": "experiment/test_verify.py",
    "originset lab": "lab/test_lab_run.py",
    "originset lab run": "lab/test_lab_run.py",
    "originset lab shell": "lab/test_lab_run.py",
    "originset plan rollout next": "plan/rollout/test_rollout_in_testbed.py",
    "originset serve": "test_serve_command.py",
    "originset study artifact": "study/test_artifact.py",
    "originset study reference update": "study/test_reference.py",
}
NEED_A_TESTBED = {"originset crawl", "originset study enrich"}
HERE = sorted(set(EXAMPLES) - set(ELSEWHERE) - NEED_A_TESTBED)

WWW, STATIC, IMAGES, FONTS = "104.16.1.10", "104.16.1.11", "104.16.1.12", "142.250.74.100"
REQUESTS = [
    ("https://www.example.com/", WWW, "1"),
    ("https://static.example.com/main.css", STATIC, "2"),
    ("https://images.example.com/1.png", IMAGES, "3"),
    ("https://fonts.example.net/serif.woff2", FONTS, "4"),
]


def writes_json(command: click.Command) -> bool:
    kinds = [option.type for option in command.params if option.name == "output_format"]
    return any(isinstance(kind, click.Choice) and "json" in kind.choices for kind in kinds)


def har(path: Path, connections: int) -> Path:
    """The page of www.example.com; the last of its requests share the last of so many connections."""
    asked = [(url, address, str(min(int(number), connections))) for url, address, number in REQUESTS]
    read = json.loads(write_har(path, asked).read_text())
    for entry in read["log"]["entries"]:
        entry["_securityDetails"] = {
            "protocol": "TLS 1.3", "subjectName": "www.example.com", "issuer": "Example CA", "validFrom": 1767225600,
            "validTo": 1798761600, "sanList": ["www.example.com", "static.example.com"],
        }  # fmt: skip
    path.write_text(json.dumps(read))
    return path


def call(monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    """What a shell does with a line of commands, in this process: as many processes are slow."""
    for is_and, words in groupby(shlex.split(line), lambda word: word == "&&"):
        if not is_and:
            monkeypatch.setattr(sys, "argv", list(words))
            with pytest.raises(SystemExit) as ended:
                main.run()
            assert not ended.value.code, line


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all that the examples name."""
    folder = tmp_path_factory.mktemp("examples") / "folder"
    for name in ("runs/1", "more-hars", "connection-coalescing-imc22/data"):
        (folder / name).mkdir(parents=True)
    har(folder / "page.har", 4)
    har(folder / "before.har", 4)
    har(folder / "after.har", 2)
    har(folder / "more-hars" / "other.har", 3)
    (folder / "runs" / "1" / "page.har.gz").write_bytes(gzip.compress((folder / "page.har").read_bytes()))
    (folder / "budget.toml").write_text("[budget]\nconnections = 4\n")
    (folder / "nginx.conf").write_text(
        "http { server { listen 443 ssl http2; ssl_certificate www.pem; server_name www.example.com a.example.com; } }"
    )
    (folder / "sites.txt").write_text("bank.test\n")
    shares = folder / "connection-coalescing-imc22" / "data" / "figure-1-dataframe-asn-share.csv"
    shares.write_text("ASes,Count\n1,50\n3,25\n,25\n")
    days = [(f"2026-01-{day:02}T12:00:00Z", day) for day in range(1, 32)]
    lines = [
        {"time": time, "group": group, "connection": f"{day}-{n}", "host": "cdn.example.com"}
        for time, day in days
        for group, count in (("control", 4), ("experiment", 2 if 11 <= day <= 24 else 4))
        for n in range(count)
    ]
    (folder / "certificates.csv").write_text(
        "certificate,names,key_holder,shared\na,www.example.com,cdn,\nf,fonts.example.net,cdn,true\n"
    )
    (folder / "traffic.csv").write_text("site,host,connections\nwww.example.com,fonts.example.net,10\n")
    for name, count in (("t", 100), ("u", 10)):
        (folder / name).write_text(f"site,host,connections\nwww.example.com,fonts.example.net,{count}\n")
    (folder / "deploy").write_text("#!/bin/sh\nexit 1\n")
    (folder / "tls.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        call(
            patch,
            "originset plan inventory certificates.csv --pairs traffic.csv --rollout rings.json --control-domain x.org",
        )
        call(patch, "originset --study S import page.har && originset --study S analyze")
        for name in ("old.json", "new.json"):
            call(patch, f"originset --study S plan site www.example.com --out {name}")
        for number, name in enumerate(("before.har", "after.har", "more-hars"), start=1):
            call(patch, f"originset --study part{number} import {name}")
    return folder


@pytest.fixture
def folder(furnished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, to be in."""
    shutil.copytree(furnished, tmp_path / "folder")
    monkeypatch.chdir(tmp_path / "folder")
    return tmp_path / "folder"


def made_by(line: str, folder: Path) -> list[Path]:
    words = shlex.split(line)
    return [folder / words[number + 1] for number, word in enumerate(words) if word == "--out"]


_contacts: list[str] = []
_ASKING = {"socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"}
sys.addaudithook(lambda event, given: _contacts.append(f"{event} {given}") if event in _ASKING else None)


@pytest.fixture
def nobody_contacted() -> Iterator[None]:
    """No packet leaves by the only way out of the tests' namespace, and Python asks for no name or connection."""
    _contacts.clear()
    if in_namespace():  # who was looked for by earlier tests is asked after no more
        subprocess.run(["ip", "neigh", "flush", "dev", "uplink"], check=True)
    sent = _packets_sent()
    yield
    assert _contacts == []
    assert _packets_sent() == sent


def _packets_sent() -> int | None:
    """By the way out of the tests' namespace; None where the tests are in none."""
    return psutil.net_io_counters(pernic=True)["uplink"].packets_sent if in_namespace() else None


@pytest.mark.promise("no-contact-unasked")
@pytest.mark.parametrize("words", HERE)
@pytest.mark.usefixtures("nobody_contacted")
def test_the_example_of(words: str, folder: Path, monkeypatch: Any, capsys: Any) -> None:
    line = EXAMPLES[words]
    if words in {"originset", "originset import"}:
        shutil.rmtree(folder / "S")  # they begin one
    call(monkeypatch, line)
    made = made_by(line, folder)
    for path in made:
        assert any(path.iterdir()) if path.is_dir() else path.stat().st_size > 0
    told = capsys.readouterr()
    assert made or told.out or told.err


AS_JSON = [
    *(words for words, command in commands() if words in HERE and writes_json(command)),
    "originset study enrich --dry-run",
]
# To analyse a recording again tells nothing more of what is written: some are asked of the study instead.
WITH_STDOUT = {
    "originset query": "originset query",
    "originset study schema": "originset study schema",
    "originset study compare": "originset study compare S S",
    "originset check budget": "originset --study S check budget budget.toml",
    "originset study enrich --dry-run": "originset --study S study enrich --dry-run",
    "originset plan site": "originset --study S plan site www.example.com",
    "originset plan inventory": "originset plan inventory certificates.csv --pairs traffic.csv",
}


@pytest.mark.parametrize("words", AS_JSON)
def test_as_json_it_is_as_its_schema_says(words: str, folder: Path, monkeypatch: Any, capsys: Any) -> None:
    line = f"{WITH_STDOUT.get(words, EXAMPLES.get(words))} --format json"
    call(monkeypatch, line.replace(" --format csv", ""))
    output = output_of(shlex.split(line.rpartition("&&")[2]))
    assert output is not None
    validator(output).validate(json.loads(capsys.readouterr().out.splitlines()[-1]))


def test_every_command_that_writes_json_has_a_schema() -> None:
    lines = [f"{words} --dry-run --format json" for words, command in commands() if writes_json(command)]
    assert [line for line in lines if output_of(shlex.split(line)) is None] == []


@pytest.mark.browser
def test_the_example_of_crawl(testbed: Any, folder: Path, monkeypatch: Any, capsys: Any) -> None:
    for name, value in testbed.environment.items():
        monkeypatch.setenv(name, value)
    call(monkeypatch, EXAMPLES["originset crawl"])
    assert "crawl: 1 ok" in capsys.readouterr().err


def test_the_example_of_enrich(testbed: Any, folder: Path, monkeypatch: Any, capsys: Any) -> None:
    """In the testbed somebody is at these addresses, and nobody has heard of these names."""
    call(monkeypatch, EXAMPLES["originset study enrich"])
    told = capsys.readouterr()
    assert "nothing was contacted" in told.err
    assert "queried DNS for 4 names; " in told.err


def test_the_others_are_run_elsewhere() -> None:
    assert set(ELSEWHERE) <= set(EXAMPLES)
    for name in ELSEWHERE.values():
        assert "split_help(" in (Path(__file__).parents[1] / name).read_text(), name


def test_the_page_has_every_command() -> None:
    text = page()
    for words, line in EXAMPLES.items():
        assert f"\n## {words}\n" in text
        assert f"\n```sh\n{line}\n```\n" in text
