"""docs/commands.md, made from the commands' own help (``make docs``)."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator

import click

from originset.cli.main import main

_WIDTH = 100
_EXAMPLE = "Example: "
_HEAD = """\
# Commands

Made from the commands' own help by `make docs`; do not edit. Every example below is run by a test. Rows go to stdout,
remarks and progress to stderr. Exit codes: 0 done, 1 a check failed or something was left over, 2 wrong usage or
unusable input, 130 interrupted.
"""


def commands() -> Iterator[tuple[str, click.Command]]:
    """The program, its commands and their subcommands, each with the words that call it."""
    yield from _subcommands("originset", main)


def split_help(command: click.Command) -> tuple[str, str]:
    """A command's help without its example, and the example as a user would type it.

    Raises:
        ValueError: the last line of the help is not an example.
    """
    description, mark, example = inspect.cleandoc(command.help or "").rpartition(f"\n\n{_EXAMPLE}")
    if not mark or "\n" in example:
        raise ValueError(f"the last line of the help of {command.name} does not begin with {_EXAMPLE!r}")
    return description, example


def page() -> str:
    """The whole page, as Markdown."""
    return _HEAD + "".join(f"\n{_section(words, command)}" for words, command in commands())


def _subcommands(words: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    yield words, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            if (child := command.get_command(context, name)) is not None:
                yield from _subcommands(f"{words} {name}", child)


def _section(words: str, command: click.Command) -> str:
    names = main.context_settings["help_option_names"]
    context = click.Context(command, info_name=words, terminal_width=_WIDTH, help_option_names=names)
    formatter = context.make_formatter()
    command.format_usage(context, formatter)
    command.format_options(context, formatter)
    description, example = split_help(command)
    return f"## {words}\n\n{description}\n\n```sh\n{example}\n```\n\n```text\n{formatter.getvalue()}```\n"


if __name__ == "__main__":
    sys.stdout.write(page())
