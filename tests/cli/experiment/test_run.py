"""``originset experiment run``: an experiment in the testbed, against its prediction.

3 sites a group; 200 with ``ORIGINSET_SOAK=full``.
"""

import csv
import datetime as dt
import json
import math
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from console_entry import originset

from originset.cli.experiment.run import command
from originset.cli.pages.commands_page import split_help

MARK = "ORIGINSET_NAMESPACE"
FULL = os.environ.get("ORIGINSET_SOAK") == "full"


def own_namespace() -> dict[str, str]:
    """Other tests' testbeds are in the namespace of this run: the command is to make one of its own."""
    return {name: value for name, value in os.environ.items() if name != MARK}


def run(mode: str, sites: int, out: Path) -> tuple[subprocess.CompletedProcess[str], dict[str, dict]]:
    example = split_help(command)[1]
    assert "--sites 10 --mode origin --out rehearsal" in example
    given = example.replace("10", str(sites)).replace("origin --out rehearsal", f"{mode} --out {out} --format json")
    call = [sys.executable, "-m", *shlex.split(given)]
    done = subprocess.run(call, capture_output=True, text=True, check=False, env=own_namespace())
    assert done.returncode in (0, 1), done.stderr
    return done, {f"{row['number']}, {row['unit']}": row for row in json.loads(done.stdout)}


def _phase(line: dict, phases: dict[str, int]) -> str:
    return next(phase for phase in phases if line["connection"].startswith(phase))


def judge(mode: str, sites: int, out: Path) -> None:
    done, rows = run(mode, sites, out)
    judged = {what: row for what, row in rows.items() if row["holds"] is not None}
    assert len(judged) == 5
    assert [row for row in judged.values() if not row["holds"]] == []
    assert done.returncode == 0
    # Each page by itself: what it still opens is what its kind must, in this browser.
    still = {"plain": 0, "anonymous": 1, "both": 1 if mode == "ip" else 0}
    loads = list(csv.DictReader((out / "loads.csv").read_text().splitlines()))
    assert len(loads) == 6 * sites
    others = []
    for load in loads:
        changed = (load["group"], load["phase"]) == ("experiment", "during")
        expected = still[load["kind"]] if changed else 1 + (load["kind"] == "both")
        if (load["status"], int(load["new_connections"])) != ("ok", expected):
            others.append(load)
    assert len(others) <= len(loads) // 100, others
    figure = "figure-7a" if mode == "ip" else "figure-7b"
    assert {"predictions.csv", "checks.csv", "numbers.csv", f"{figure}.svg", "figure-8.svg", "figure-9b.svg"} <= {
        path.name for path in out.iterdir()
    }
    predicted = (out / "predictions.csv").stat()
    assert predicted.st_mtime <= (out / "testbed" / "logs" / "requests.jsonl").stat().st_mtime
    # What it writes is what experiment log reads, and says the same: the phase with the change as one period.
    lines = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    times = [line["time"] for line in lines if line["connection"].startswith("during")]
    seconds = math.ceil(max(times) - min(times)) + 1
    # On a fast machine the next phase begins within that second: an hour lies between phases here.
    shift = {"before": -3600, "during": 0, "after": 3600}
    apart = [line | {"time": line["time"] + shift[_phase(line, shift)]} for line in lines]
    (out / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in apart))
    ends = [dt.datetime.fromtimestamp(time, dt.UTC).isoformat() for time in (min(times), min(times) + seconds)]
    read = originset(
        *("experiment", "log", str(out / "log.jsonl"), "--window", *ends),
        *("--every", f"{seconds}s", "--host", "cdn.shared.test", "--out", str(out / "again"), "--format", "json"),
    )
    assert read.returncode == 0, read.stderr
    found = {row["number"]: row["value"] for row in json.loads(read.stdout)}
    for group in ("control", "experiment"):
        assert found[f"during, {group}"] == sum(
            int(load["new_connections"]) for load in loads if (load["group"], load["phase"]) == (group, "during")
        )


@pytest.mark.soak
@pytest.mark.browser
@pytest.mark.testbed
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("mode", ["ip", "origin"])
def test_an_experiment_is_as_predicted_and_can_be_rolled_back(mode, tmp_path) -> None:
    judge(mode, 200 if FULL else 3, tmp_path / "out")
