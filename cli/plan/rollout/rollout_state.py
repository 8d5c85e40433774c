"""How far a rollout is: ``state.json`` in its folder, plain JSON, written before and after each command."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from originset.cli.common.files import make_folder, write_text
from originset.data.errors import UsageError
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
    """The state of a rollout in a folder."""

    def __init__(self, folder: Path, rollout: Path) -> None:
        self.folder = folder
        self.path = folder / "state.json"
        try:
            digest = hashlib.sha256(rollout.read_bytes()).hexdigest()
        except OSError as error:
            raise UsageError(f"{rollout} cannot be read ({error.strerror})") from error
        if not self.path.exists():
            self.state = RolloutState(rollout_sha256=digest)
            return
        self.state = read_json(self.path, RolloutState, "the state of a rollout", most_bytes=_MAX_STATE_BYTES)
        if self.state.rollout_sha256 != digest:
            raise UsageError(f"{self.path} is of another rollout than {rollout}", "name another folder with --out")

    @contextlib.contextmanager
    def locked(self) -> Iterator[RolloutState]:
        """The state, while no other command changes it.

        Raises:
            UsageError: another command carries out the rollout, or the folder cannot be made.
        """
        make_folder(self.folder)
        handle = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UsageError(f"another command carries out the rollout in {self.folder}") from error
        else:
            yield self.state
        finally:
            os.close(handle)

    def save(self) -> None:
        """Write it, whole or not at all.

        Raises:
            UsageError: it cannot be written.
        """
        write_text(self.path, json.dumps(msgspec.to_builtins(self.state), indent=1, ensure_ascii=True) + "\n")

    def ended(self, command: list[str], exit_code: int) -> None:
        """Write that a command ended."""
        time = datetime.now(UTC).isoformat(timespec="seconds")
        self.state.history.append(Run(time=time, ring=self.state.ring, command=command, exit_code=exit_code))
        self.save()
