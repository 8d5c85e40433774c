"""The commands that carry out a ring of a rollout, and those that take it back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

#: ``condition``: 0 goes on, 1 takes the ring back, anything else waits. ``files``: writes files, is repeated from the
#: start. ``program``: the operator's own; 0 goes on, anything else takes the ring back.
Kind = Literal["condition", "files", "program"]


@dataclass(frozen=True, slots=True)
class RingCommand:
    """One command; ``words``: as it is run, the first is the program.

    ``writes``: the folder that it makes. ``repeats``: after waiting, so many commands before it are run again.
    """

    kind: Kind
    words: tuple[str, ...]
    writes: Path | None = None
    repeats: int = 0


@dataclass(frozen=True, slots=True)
class RolloutFiles:
    """What the commands work with; ``before``: the traffic of before the rollout; ``program``: the operator's own."""

    rollout: Path
    inventory: Path
    folder: Path
    before: Path | None = None
    program: Path | None = None
    requests_for: tuple[str, ...] = ("--for", "csr")
    server: str = "node"
    checks: tuple[str, ...] = ()

    def forward(self, ring: int) -> list[RingCommand]:
        """The commands that carry out a ring."""
        requests, origins = self.folder / f"ring-{ring}-requests", self.folder / f"ring-{ring}-origins"
        traffic = self.folder / f"ring-{ring}-traffic.csv"
        one = ("--inventory", str(self.inventory), "--ring", str(ring))
        rings = str(self.rollout)
        compare = (
            "originset",
            "plan",
            "rollout",
            "compare",
            rings,
            *one,
            "--before",
            str(self.before),
            "--during",
            str(traffic),
        )
        return [
            self._check(ring, "today"),
            RingCommand(
                "files",
                ("originset", "plan", "requests", rings, *one, *self.requests_for, "--out", str(requests)),
                requests,
            ),
            self._program("certificates", ring, requests),
            self._check(ring, "certificates"),
            RingCommand(
                "files",
                (
                    "originset",
                    "plan",
                    "config",
                    "--server",
                    self.server,
                    "--rollout",
                    rings,
                    *one,
                    "--out",
                    str(origins),
                ),
                origins,
            ),
            self._program("origins", ring, origins),
            self._check(ring, "origin"),
            self._program("traffic", ring, traffic),
            RingCommand("condition", compare, repeats=1),
        ]

    def backward(self, ring: int, begun: int) -> list[RingCommand]:
        """The commands that take a ring back of which ``begun`` commands were begun, the last one first."""
        commands = []
        forward = self.forward(ring)
        places = {one.words[1]: place for place, one in enumerate(forward) if one.kind == "program"}
        if begun > places["origins"]:
            commands += [self._program("origins-back", ring, self.folder / f"ring-{ring}-origins")]
            # Its certificates may be what was wrong: only that nobody announces the names counts.
            commands += [self._check(ring, "today")]
        if begun > places["certificates"]:
            commands += [self._program("certificates-back", ring, self.folder / f"ring-{ring}-requests")]
            commands += [self._check(ring, "today")]
        return commands

    def _check(self, ring: int, step: str) -> RingCommand:
        words = ("originset", "check", "server", "--rollout", str(self.rollout), "--inventory", str(self.inventory))
        return RingCommand("condition", (*words, "--ring", str(ring), "--step", step, *self.checks))

    def _program(self, task: str, ring: int, place: Path) -> RingCommand:
        return RingCommand("program", (str(self.program or "PROGRAM"), task, str(ring), str(place)))
