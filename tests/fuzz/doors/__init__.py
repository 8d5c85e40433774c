"""Doors: where strangers' bytes come in, and the models in SQL; each is one function from bytes to what reads them.

A door is a module with ``read(data, whole=...)``, which ends with a value or with an error of ``data/errors.py``:
anything else that it raises is a finding. ``whole`` has it take the steps that cost milliseconds, too. ``FOLDERS`` are
those whose branches lie behind the door, ``LONGEST`` is the longest input in bytes, ``MEMORY`` and ``LINES`` bound what
reading may take: bytes of memory and lines of Python for each byte of input, beside what any input takes.
``seeds()`` are small inputs that are well-formed, ``bombs(size)`` deliberately bad ones of some ``size`` bytes,
``mutate`` changes inputs with regard to their structure where changing bytes alone would get nowhere.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol

NAMES = (
    "har_text", "truncated_har", "archive_rows", "netlog", "certificate_names", "origin_frames", "dns_answers",
    "server_configurations", "drawn_models",
)  # fmt: skip


class Read(Protocol):
    """How a door is called."""

    def __call__(self, data: bytes, *, whole: bool) -> None: ...


@dataclass(frozen=True, slots=True)
class Bound:
    """What reading may take: so much for any input, and so much for each of its bytes."""

    fixed: int
    per_byte: int

    def of(self, size: int) -> int:
        """For an input of ``size`` bytes."""
        return self.fixed + self.per_byte * size


@dataclass(frozen=True, slots=True)
class Door:
    """One of the modules here."""

    name: str
    read: Read
    seeds: Callable[[], Iterator[bytes]]
    bombs: Callable[[int], Mapping[str, bytes]]
    folders: tuple[str, ...]
    longest: int
    memory: Bound
    lines: Bound
    mutate: Callable[[random.Random, bytes], bytes] | None


def door(name: str) -> Door:
    """The door of that name."""
    module = import_module(f"doors.{name}")
    return Door(
        name, module.read, module.seeds, module.bombs, module.FOLDERS, module.LONGEST, module.MEMORY, module.LINES,
        getattr(module, "mutate", None),
    )  # fmt: skip
