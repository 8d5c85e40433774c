"""The command: an experiment in the testbed against its prediction; a log of one's own as numbers and figures.

5 sites a group; 200 with ``ORIGINSET_SOAK=full``.
"""

import csv
import datetime as dt
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from originset.cli.experiment import command
from originset.data.errors import OriginsetError


def experiment(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    call = [sys.executable, "-m", "originset", "experiment", *map(str, arguments)]
    return subprocess.run(call, capture_output=True, text=True, check=False)


def test_a_log_gives_numbers_and_figures(tmp_path) -> None:
    log, out = tmp_path / "log.csv", tmp_path / "out"
    rows = ["time,group,connection,host"]
    for day in range(1, 31):
        for n in range(20):
            rows.append(f"2026-01-{day:02}T{n:02}:00:00Z,control,{day}-{n},cdn.example")
            # Half of the experiment's are opened for the page while the change lasts, the 11th to the 20th.
            host = "www.example" if 11 <= day <= 20 and n % 2 else "cdn.example"
            rows.append(f"2026-01-{day:02}T{n:02}:00:00Z,experiment,{day}-{n},{host}")
    log.write_text("\n".join(rows))
    window = ("--window", "2026-01-11", "2026-01-20")
    done = experiment("--from-log", log, *window, "--host", "cdn.example", "--out", out, "--format", "json")
    assert done.returncode == 0, done.stderr
    found = {row["number"]: row["value"] for row in json.loads(done.stdout)}
    assert (found["before, control"], found["during, control"], found["during, experiment"]) == (20, 20, 10)
    assert found["during against before"] == found["during against after"] == -50
    assert {path.name for path in out.iterdir()} == {
        "numbers.csv",
        *(f"figure-8.{kind}" for kind in ("csv", "pdf", "png", "svg")),
    }
    # At every second hour the control opened none.
    done = experiment("--from-log", log, *window, "--host", "cdn.example", "--every", "10m", "--out", out)
    assert done.returncode == 2
    assert "--every" in done.stderr


def test_what_is_missing_is_said(tmp_path) -> None:
    log = tmp_path / "log"
    log.write_text("{}\n")
    for arguments, said in (
        ((), "--from-log"),
        (("--from-log", log, "--sites", "3"), "one of"),
        (("--verify-plan", log, "--sites", "3"), "one of"),
        (("--verify-plan", log, "--host", "a"), "leave them out"),
        (("--sites", "3", "--host", "a"), "leave them out"),
        (("--from-log", log), "--window"),
        (("--from-log", log, "--window", "soon", "later"), "not two times"),
        (("--from-log", log, "--window", "2026-01-02", "2026-01-01"), "ends before it begins"),
        (("--from-log", log, "--window", "2026-01-01", "2026-01-02", "--every", "fast"), "no length of time"),
        (("--from-log", log, "--window", "2026-01-01", "2026-01-02"), "line 1"),
    ):
        done = CliRunner().invoke(command, [*map(str, arguments), "--out", str(tmp_path / "out")])
        assert said in (done.output if done.exit_code == 2 else str(done.exception))
        assert done.exit_code == 2 or isinstance(done.exception, OriginsetError)


MARK = "ORIGINSET_NAMESPACE"
FULL = os.environ.get("ORIGINSET_SOAK") == "full"


def own_namespace() -> dict[str, str]:
    """Other tests' testbeds are in the namespace of this run: the command is to make one of its own."""
    return {name: value for name, value in os.environ.items() if name != MARK}


def run(mode: str, sites: int, out: Path) -> tuple[subprocess.CompletedProcess[str], dict[str, dict]]:
    call = [sys.executable, "-m", "originset", "experiment", "--sites", str(sites), "--mode", mode]
    call += ["--out", str(out), "--format", "json"]
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
    # What it writes is what --from-log reads, and says the same: the phase with the change as one period.
    lines = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    times = [line["time"] for line in lines if line["connection"].startswith("during")]
    seconds = math.ceil(max(times) - min(times)) + 1
    # On a fast machine the next phase begins within that second: an hour lies between phases here.
    shift = {"before": -3600, "during": 0, "after": 3600}
    apart = [line | {"time": line["time"] + shift[_phase(line, shift)]} for line in lines]
    (out / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in apart))
    ends = [dt.datetime.fromtimestamp(time, dt.UTC).isoformat() for time in (min(times), min(times) + seconds)]
    read = experiment(
        *("--from-log", out / "log.jsonl", "--window", *ends, "--every", f"{seconds}s"),
        *("--host", "cdn.shared.test", "--out", out / "again", "--format", "json"),
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
    judge(mode, 200 if FULL else 5, tmp_path / "out")
