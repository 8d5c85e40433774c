"""Options of commands that work on the certificates of a rollout's rings, and the folder that they write."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import click

from originset.cli.common.files import FILE, make_folder
from originset.data.errors import UsageError
from originset.models.plans.inventory.ring_changes import RingChange

inventory_option = click.option(
    "--inventory", type=FILE, metavar="FILE", help="With a rollout: the certificates, as for plan inventory."
)

ring_option = click.option(
    "--ring", type=click.IntRange(min=1), metavar="N", help="With a rollout: this ring alone.  [default: all rings]"
)

# What Kubernetes takes for a resource's name, and every file system for a file's (RFC 1123 section 2.1).
_NO_NAME = re.compile(r"[^a-z0-9]+")
_LONGEST_NAME = 50


def named_changes(folder: Path, changes: list[RingChange]) -> Iterator[tuple[str, RingChange]]:
    """Each certificate after the name of its file, without an ending; ``folder``, the ring's, is made."""
    make_folder(folder)
    for place, one in enumerate(changes, 1):
        called = _NO_NAME.sub("-", one.change.certificate.lower()).strip("-")[:_LONGEST_NAME]
        yield f"{place:05}-{called}".rstrip("-"), one


def require_empty(folder: Path) -> None:
    """Make a folder if it is not there.

    Raises:
        UsageError: it cannot be made, or something is in it.
    """
    make_folder(folder)
    if any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty", "name a new folder with --out")


def write_new(path: Path, content: bytes, mode: int = 0o666) -> None:
    """Write a file that was not there.

    Raises:
        UsageError: it cannot be written.
    """
    try:
        with open(path, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            file.write(content)
    except OSError as error:
        raise UsageError(f"{path} cannot be written ({error.strerror})", "name another folder with --out") from error
