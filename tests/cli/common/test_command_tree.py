"""Groups list their commands without importing them."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Iterator

import click
import pytest

from originset.cli.common.command_tree import Group, _docstring
from originset.cli.main import main

LISTS = """
import sys
from originset.cli.main import main
main(["--help"], standalone_mode=False)
print(*sys.modules)
"""


def groups(group: Group) -> Iterator[Group]:
    yield group
    for name in group.modules:
        command = group.get_command(click.Context(group), name)
        if isinstance(command, Group):
            yield from groups(command)


@pytest.mark.slow
def test_each_command_is_listed_as_it_describes_itself() -> None:
    for group in groups(main):
        for name, module in group.modules.items():
            command = group.get_command(click.Context(group), name)
            assert command is not None
            assert command.help is not None
            assert _docstring(module) == inspect.cleandoc(command.help), module
            assert not command.hidden, "it would be listed"


@pytest.mark.slow
def test_help_imports_no_command() -> None:
    done = subprocess.run([sys.executable, "-c", LISTS], capture_output=True, text=True, check=True)
    help_text, _, modules = done.stdout.rpartition("\n  lab ")
    assert "explain" in help_text
    assert {"polars", "duckdb", "selenium", "originset.cli.explain"}.isdisjoint(modules.split())
