"""The workflows call what people call, and the action for budgets does what its command does."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_calls_make_targets_and_programs_that_exist(path: Path) -> None:
    workflow = yaml.safe_load(path.read_text())
    assert workflow["permissions"] == {"contents": "read"}
    commands = [step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step]
    called = [command for command in commands if command.startswith("make ")]
    assert called or "bash .ci/run" in commands
    assert {command.split()[1] for command in called} <= TARGETS
    for program in (word for command in commands for word in command.split() if word.startswith(".ci/")):
        assert os.access(ROOT / program, os.X_OK) or program == ".ci/run", program


def test_the_action_fails_where_the_budget_is_exceeded(tmp_path: Path) -> None:
    (tmp_path / "originset/bin").mkdir(parents=True)
    (tmp_path / "originset/bin/originset").symlink_to(Path(sys.executable).with_name("originset"))
    (tmp_path / "budget.toml").write_text("[budget]\nconnections = 3\n")
    har = ROOT / "tests/fixtures/hars/originset/daily-cold.har"
    (tmp_path / "page.har").symlink_to(har)
    step = ACTION["runs"]["steps"][-1]
    assert step["shell"] == "bash"
    inputs = {"BUDGET": "budget.toml", "HARS": "page.har"}
    environment = {**inputs, "RUNNER_TEMP": str(tmp_path), "PATH": os.environ["PATH"]}
    call = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    done = subprocess.run(call, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("::error")


def test_inputs_of_the_action_reach_no_shell() -> None:
    """They are values of variables: an expression in a script would be run."""
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step["run"]
