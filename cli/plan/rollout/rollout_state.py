"""How far a rollout is: ``state.json`` in its folder, plain JSON, written before and after each command."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Annotated, Literal

import msgspec

from originset.cli.common.files import make_folder, write_text
from originset.cli.plan.rollout.ring_commands import RolloutFiles
from originset.data.errors import InputError, UsageError
from originset.data.files.json_file import read_json

_MAX_STATE_BYTES = 64 << 20

#: ``forward``: a ring is carried out. ``backward``: one is taken back. ``rest``: neither.
Direction = Literal["forward", "backward", "rest"]


_Count = Annotated[int, msgspec.Meta(ge=0)]


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A command that was run; ``time``: when it ended (RFC 3339, UTC)."""

    time: str
    ring: int
    command: list[str]
    exit_code: int


class RolloutState(msgspec.Struct, kw_only=True):
    """``ring``: the one under way, or the last one that is done (0: none). ``place``: the command that is to be run.

    ``reached``: of a ring that is taken back, how many of its commands were begun. ``problem``: why it was taken back.
    """

    rollout_sha256: str
    ring: _Count = 0
    direction: Direction = "rest"
    place: _Count = 0
    reached: _Count = 0
    problem: str | None = None
    history: list[Run] = []
    format: Literal["originset-rollout-state"] = "originset-rollout-state"
    version: Literal[1] = 1


class StateFile:
    """The state of a rollout of ``rings`` rings, in its folder; ``state`` is as :meth:`locked` found it."""

    def __init__(self, files: RolloutFiles, rings: int) -> None:
        self.path = files.folder / "state.json"
        self._files, self._rings = files, rings
        try:
            self._digest = hashlib.sha256(files.rollout.read_bytes()).hexdigest()
        except OSError as error:
            raise UsageError(f"{files.rollout} cannot be read ({error.strerror})") from error
        self.state = RolloutState(rollout_sha256=self._digest)

    def read(self) -> RolloutState:
        """The state in the file; that of a rollout which is not begun if there is none.

        Raises:
            InputError: it cannot be read, is no state, or has numbers that no state of this rollout has.
            UsageError: it is of another rollout.
        """
        if not self.path.exists():
            return RolloutState(rollout_sha256=self._digest)
        state = read_json(self.path, RolloutState, "the state of a rollout", most_bytes=_MAX_STATE_BYTES)
        if state.rollout_sha256 != self._digest:
            problem = f"{self.path} is of another rollout than {self._files.rollout}"
            raise UsageError(problem, "name another folder with --out")
        self._require_ranges(state)
        return state

    def _require_ranges(self, state: RolloutState) -> None:
        steps = len(self._files.forward(state.ring))
        back = state.direction == "backward"
        largest = {
            "ring": self._rings,
            "reached": steps + 1,
            "place": len(self._files.backward(state.ring, state.reached)) if back else steps,
        }
        for name, most in largest.items():
            value, least = getattr(state, name), int(name == "ring" and state.direction != "rest")
            if not least <= value <= most:
                detail = f"is not the state of a rollout: {name} is {value}, not in the range {least} to {most}"
                raise InputError(str(self.path), "not-the-state-of-a-rollout", detail)

    @contextlib.contextmanager
    def locked(self) -> Iterator[RolloutState]:
        """The state, while no other command changes it.

        Raises:
            UsageError: another command carries out the rollout, or the folder cannot be made; and as :meth:`read`.
            InputError: as :meth:`read`.
        """
        make_folder(self.path.parent)
        handle = os.open(self.path.parent, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UsageError(f"another command carries out the rollout in {self.path.parent}") from error
        else:
            self.state = self.read()
            yield self.state
        finally:
            os.close(handle)

    def save(self) -> None:
        """Write it, whole or not at all.

        Raises:
            UsageError: it cannot be written.
        """
        text = json.dumps(msgspec.to_builtins(self.state), indent=1, ensure_ascii=True)
        write_text(self.path, f"{text}\n", private=True)

    def ended(self, command: list[str], exit_code: int) -> None:
        """Write that a command ended."""
        time = datetime.now(UTC).isoformat(timespec="seconds")
        self.state.history.append(Run(time=time, ring=self.state.ring, command=command, exit_code=exit_code))
        self.save()
