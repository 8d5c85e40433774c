"""A rollout's state: what exit codes decide, what is run again after a kill, what nobody may do at the same time."""

import fcntl
import json
import os
import stat
from pathlib import Path

import pytest

from originset.cli.plan.rollout import ring_execution
from originset.cli.plan.rollout.ring_commands import RingCommand, RolloutFiles
from originset.cli.plan.rollout.rollout_state import StateFile
from originset.data.errors import InputError, UsageError
from originset.data.files.nofollow import NotRegularError

PROGRAM = '#!/bin/sh\necho "$@" >> "$0.calls"\n! grep -q "^$1 $2\\$" "$0.fails" 2>/dev/null\n'


class Rollout:
    """A rollout whose conditions exit with what ``codes`` has for them, else 0, and whose files are not written."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.program = folder / "deploy"
        self.program.write_text(PROGRAM)
        self.program.chmod(0o700)
        (folder / "rings.json").write_text("{}")
        self.codes: dict[str, int] = {}
        self.files = RolloutFiles(folder / "rings.json", folder / "inventory.csv", folder / "r", program=self.program)
        monkeypatch.setattr(ring_execution, "_originset", self._code)

    def _code(self, words: tuple[str, ...]) -> int:
        task = words[words.index("--step") + 1] if "--step" in words else words[2 if words[1] == "rollout" else 1]
        return self.codes.get(task, 0)

    def state_file(self) -> StateFile:
        return StateFile(self.files, rings=2)

    def begin(self, ring: int = 1) -> StateFile:
        file = self.state_file()
        with file.locked() as state:
            if state.direction == "rest":
                state.ring, state.place, state.direction = ring, 0, "forward"
        return file

    def next(self, ring: int = 1) -> int:
        return ring_execution.carry_out(self.begin(ring), self.files)

    @property
    def calls(self) -> list[str]:
        return [" ".join(line.split()[:2]) for line in Path(f"{self.program}.calls").read_text().splitlines()]

    @property
    def state(self) -> dict:
        return json.loads((self.folder / "r" / "state.json").read_text())


@pytest.fixture
def rollout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rollout:
    return Rollout(tmp_path, monkeypatch)


def test_a_ring_from_its_first_check_to_its_comparison(rollout: Rollout) -> None:
    assert rollout.next() == ring_execution.DONE
    assert rollout.calls == ["certificates 1", "origins 1", "traffic 1"]
    assert (rollout.state["ring"], rollout.state["direction"]) == (1, "rest")
    assert [one["exit_code"] for one in rollout.state["history"]] == [0] * 9
    assert [one["command"] for one in rollout.state["history"]] == [list(one.words) for one in rollout.files.forward(1)]


@pytest.mark.parametrize(
    ("failing", "back"),
    [
        ("today", []),
        ("certificates", ["certificates-back 1"]),
        ("origin", ["origins-back 1", "certificates-back 1"]),
        ("compare", ["origins-back 1", "certificates-back 1"]),
    ],
)
def test_a_condition_that_fails_takes_back_what_was_begun(rollout: Rollout, failing: str, back: list[str]) -> None:
    rollout.codes[failing] = 1
    if failing == "today":  # nothing was begun: nothing is to be checked
        assert rollout.next() == ring_execution.TAKEN_BACK
        assert not Path(f"{rollout.program}.calls").exists()
    else:
        assert rollout.next() == ring_execution.TAKEN_BACK
        assert rollout.calls[-len(back) :] == back
        assert any(call.startswith("traffic") for call in rollout.calls) == (failing == "compare")
    assert (rollout.state["ring"], rollout.state["direction"]) == (0, "rest")
    assert "exit code 1: originset" in rollout.state["problem"]


@pytest.mark.promise("out-follows-no-link")
@pytest.mark.parametrize("leads_to", ["theirs", "nowhere"])
def test_a_link_in_the_place_of_a_folder_is_not_followed(rollout: Rollout, leads_to: str) -> None:
    (rollout.folder / "theirs").mkdir()
    (rollout.folder / "theirs" / "kept").touch()
    (rollout.folder / "r").mkdir()
    (rollout.folder / "r" / "ring-1-requests").symlink_to(rollout.folder / leads_to)
    with pytest.raises(NotRegularError, match="symbolic link"):
        rollout.next()
    assert (rollout.folder / "theirs" / "kept").exists()
    assert not (rollout.folder / "nowhere").exists()
    assert not Path(f"{rollout.program}.calls").exists()


def test_a_program_that_fails_is_taken_back_too(rollout: Rollout) -> None:
    Path(f"{rollout.program}.fails").write_text("origins 1\n")
    assert rollout.next() == ring_execution.TAKEN_BACK
    assert rollout.calls == ["certificates 1", "origins 1", "origins-back 1", "certificates-back 1"]


def test_what_is_not_decided_waits_and_is_measured_again(rollout: Rollout) -> None:
    rollout.codes["origin"] = 3
    assert rollout.next() == ring_execution.WAITS
    assert rollout.next() == ring_execution.WAITS
    assert rollout.calls == ["certificates 1", "origins 1"]
    rollout.codes = {"compare": 3}
    assert rollout.next() == ring_execution.WAITS
    rollout.codes = {}
    assert rollout.next() == ring_execution.DONE
    assert rollout.calls == ["certificates 1", "origins 1", "traffic 1", "traffic 1"]


def test_a_kill_costs_the_command_that_was_run(rollout: Rollout, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before each command in turn: files that it had begun are written anew, what was done is not done again."""
    run = ring_execution._exit_code
    for place, command in enumerate(rollout.files.forward(1)):

        def killed(file: StateFile, one: RingCommand, doomed: RingCommand = command) -> int:
            if one != doomed:
                return run(file, one)
            if one.writes is not None:
                one.writes.mkdir(parents=True)
                (one.writes / "half").touch()
            raise KeyboardInterrupt

        monkeypatch.setattr(ring_execution, "_exit_code", killed)
        with pytest.raises(KeyboardInterrupt):
            rollout.next()
        if place:
            assert rollout.state["place"] == place
    monkeypatch.setattr(ring_execution, "_exit_code", run)
    assert rollout.next() == ring_execution.DONE
    assert rollout.calls == ["certificates 1", "origins 1", "traffic 1"]
    assert not list((rollout.folder / "r").rglob("half"))


def test_what_cannot_be_taken_back_is_tried_again_from_there(rollout: Rollout) -> None:
    rollout.codes["origin"] = 1
    Path(f"{rollout.program}.fails").write_text("certificates-back 1\n")
    with pytest.raises(UsageError, match="ring 1 is not taken back: exit code 1"):
        rollout.next()
    assert rollout.state["direction"] == "backward"
    Path(f"{rollout.program}.fails").unlink()
    file = rollout.state_file()
    with file.locked():
        assert ring_execution.take_back(file, rollout.files) == ring_execution.TAKEN_BACK
    assert rollout.calls[-3:] == ["origins-back 1", "certificates-back 1", "certificates-back 1"]
    assert (rollout.state["ring"], rollout.state["direction"]) == (0, "rest")


def test_files_that_cannot_be_written_take_nothing_back(rollout: Rollout) -> None:
    rollout.codes["config"] = 2
    with pytest.raises(UsageError, match="ring 1 stops before: originset plan config"):
        rollout.next()
    assert rollout.state["direction"] == "forward"
    rollout.codes = {}
    assert rollout.next() == ring_execution.DONE
    assert rollout.calls == ["certificates 1", "origins 1", "traffic 1"]


def test_two_commands_do_not_carry_it_out_at_once(rollout: Rollout) -> None:
    (rollout.folder / "r").mkdir()
    handle = os.open(rollout.folder / "r", os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    with pytest.raises(UsageError, match="another command carries out"):
        rollout.begin()
    os.close(handle)
    rollout.begin()


def test_a_state_of_another_rollout_and_one_that_is_none(rollout: Rollout) -> None:
    rollout.next()
    (rollout.folder / "rings.json").write_text("{ }")
    with pytest.raises(UsageError, match="is of another rollout"):
        rollout.begin()
    for content in ('{"ring": "x"}', '{"rollout_sha256": "", "place": -1}'):
        (rollout.folder / "r" / "state.json").write_text(content)
        with pytest.raises(InputError, match="is not the state of a rollout"):
            rollout.begin()


@pytest.mark.parametrize(
    ("numbers", "problem"),
    [
        ({"ring": 3}, "ring is 3, not in the range 0 to 2"),
        ({"ring": 0, "direction": "forward"}, "ring is 0, not in the range 1 to 2"),
        ({"ring": 1, "direction": "forward", "place": 10}, "place is 10, not in the range 0 to 9"),
        ({"ring": 1, "direction": "backward", "reached": 9, "place": 5}, "place is 5, not in the range 0 to 4"),
        ({"ring": 1, "direction": "backward", "reached": 11}, "reached is 11, not in the range 0 to 10"),
    ],
)
def test_numbers_that_no_rollout_reaches(rollout: Rollout, numbers: dict, problem: str) -> None:
    rollout.next()
    (rollout.folder / "r" / "state.json").write_text(json.dumps(rollout.state | numbers))
    with pytest.raises(InputError, match=problem):
        rollout.begin()


def test_nobody_else_reads_the_commands_that_were_run(rollout: Rollout) -> None:
    rollout.next()
    assert stat.S_IMODE((rollout.folder / "r" / "state.json").stat().st_mode) == 0o600


def test_what_another_command_did_before_the_lock_is_read(rollout: Rollout) -> None:
    late = rollout.state_file()
    rollout.next()
    with late.locked() as state:
        assert (state.ring, state.direction) == (1, "rest")
