"""The rules' command: what it says, and what is left of it when it is ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import psutil
import pytest

from originset.crawler.testbed.rules import rule_catalogue
from originset.crawler.testbed.rules.__main__ import _require_comparable
from originset.data.errors import UsageError

pytestmark = pytest.mark.slow

COMMAND = [sys.executable, "-m", "originset.crawler.testbed.rules"]


def processes_of(folder: Path) -> list[str]:
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        words = " ".join(process.info["cmdline"] or [])
        if str(folder) in words and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(words)
    return found


def eventually(condition) -> bool:
    deadline = time.monotonic() + 60
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.1)
    return bool(condition())


@pytest.mark.testbed
@pytest.mark.browser
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_outlives_it(number: signal.Signals, tmp_path: Path) -> None:
    command = subprocess.Popen(
        [*COMMAND, "address-same", "--loads", "1000", "--out", str(tmp_path)],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stderr=subprocess.DEVNULL,
    )
    assert eventually(lambda: any("firefox" in one for one in processes_of(tmp_path)))
    assert eventually(lambda: any("chromium" in one for one in processes_of(tmp_path)))
    command.send_signal(number)
    assert command.wait(60) == (128 + number if number == signal.SIGTERM else -number)
    assert eventually(lambda: not processes_of(tmp_path))
    if number == signal.SIGTERM:
        assert list(tmp_path.iterdir()) == []


def test_a_rule_that_is_not_there_is_one_line() -> None:
    done = subprocess.run([*COMMAND, "address-samee"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "there is no rule address-samee; the rules are the files in crawler/testbed/rules/texts"
    ]


def test_some_rules_are_observed_as_the_others_were() -> None:
    before = rule_catalogue.observations()
    _require_comparable(before, before)
    for other in ({"loads": 3}, {"latency": "lte, by relay"}, {"versions": {**before.versions, "firefox": "999.0"}}):
        with pytest.raises(UsageError, match="observe all"):
            _require_comparable(before, msgspec.structs.replace(before, **other))


def test_the_page_shows_every_rule() -> None:
    page = subprocess.check_output([*COMMAND[:2], "originset.crawler.testbed.rules.page"], text=True)
    rows = [line for line in page.partition("## Versions")[0].splitlines() if line.startswith("| [")]
    assert [row.partition("]")[0].removeprefix("| [") for row in rows if "texts/" in row] == sorted(
        rule_catalogue.rule_names(), key=lambda rule: (rows_order(rule), rule)
    )
    assert "not observed" not in page
    for version in rule_catalogue.observations().versions.values():
        assert version in page


def rows_order(rule: str) -> int:
    sections = ["address", "certificate", "origin", "credentials", "frame", "protocol", "http3"]
    return sections.index(rule.partition("-")[0])
