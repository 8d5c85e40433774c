"""Options of commands that contact servers: one meaning in all of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
from click.testing import CliRunner

from originset.cli.main import main


def _ca_file_options(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Option]]:
    for name in group.list_commands(context := click.Context(group)):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from _ca_file_options(command, (*path, name))
        elif command is not None:
            for option in command.params:
                if isinstance(option, click.Option) and option.name == "ca_file":
                    yield (*path, name), option


def test_a_file_without_certificates_is_refused_by_every_command(tmp_path: Path) -> None:
    empty = tmp_path / "empty.pem"
    empty.write_text("")
    commands = dict(_ca_file_options(main))
    assert ("check", "pairs") in commands
    assert ("study", "enrich") in commands
    for path, option in commands.items():
        assert option.help == "CA certificates to trust instead of the system's.", path
        done = CliRunner().invoke(main, [*path, "--ca-file", str(empty)])
        assert str(done.exception) == f"{empty}: holds no CA certificates in PEM", path
