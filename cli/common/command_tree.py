"""Commands and groups of commands: each finds ``--study``, suggests what a mistyped name means, knows old spellings."""

from __future__ import annotations

import ast
import importlib
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import click

from originset.cli.common.old_spellings import new_spelling
from originset.data.errors import MissingDependency, UsageError
from originset.data.extras import missing_package
from originset.data.studies.study import Study

_F = TypeVar("_F", bound=Callable[..., Any])

STUDY_FOLDER = click.Path(file_okay=False, path_type=Path)


def _use_study(ctx: click.Context, _param: click.Parameter, value: Path | None) -> None:
    if value is not None:
        ctx.obj = Study(value)


def study_option(function: _F) -> _F:
    """Add ``--study`` to a command; without it, the option before the command's name is used."""
    return click.option(
        "--study",
        type=STUDY_FOLDER,
        expose_value=False,
        callback=_use_study,
        help="The study's folder. It can also stand before the command's name.",
    )(function)


class _KnowsOldSpellings(click.Command):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does.

        Raises:
            UsageError: an option of an earlier version is given.
        """
        given_args = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption:
            _refuse_old_spelling(ctx, given_args)
            raise


class Command(_KnowsOldSpellings):
    """A command that takes ``--debug`` before or after its name."""

    def __init__(self, *, params: Sequence[click.Parameter] | None = None, **more: Any) -> None:  # noqa: ANN401 - click's
        # The console entry point reads it anywhere on the command line; here it only has to be accepted.
        debug = click.Option(["--debug"], is_flag=True, expose_value=False, hidden=True)
        super().__init__(params=[*(params or ()), debug], **more)


class _NotInstalled(click.Command):
    """A command that takes any arguments, to say which package it lacks."""

    def __init__(self, name: str, missing: MissingDependency) -> None:
        super().__init__(
            name,
            add_help_option=False,
            context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
        )
        self.missing = missing

    def invoke(self, _ctx: click.Context) -> NoReturn:
        """Raise :class:`MissingDependency`."""
        raise self.missing


class Group(_KnowsOldSpellings, click.Group):
    """A group of commands, each in a module that has it as ``command`` and is imported when the command is called.

    polars, DuckDB and selenium take a second to import together. ``modules``: the commands' names, in the order in
    which they are listed, and their modules. A list of them is made of the docstrings in the modules' source.
    """

    def __init__(self, *args: Any, modules: Mapping[str, str], **more: Any) -> None:  # noqa: ANN401 - click's
        super().__init__(*args, **more)
        self.modules = modules

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """The commands' names, in the order of the work."""
        return list(self.modules)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command with this name; one whose extra is not installed says so when it is called."""
        if cmd_name not in self.modules:
            return None
        try:
            command: click.Command = importlib.import_module(self.modules[cmd_name]).command
        except ModuleNotFoundError as error:
            if (missing := missing_package(error)) is None:
                raise
            return _NotInstalled(cmd_name, missing)
        return command

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """As click does, of commands that are not imported for it."""
        limit = formatter.width - 6 - max(map(len, self.modules))
        helps = {name: click.Command(name, help=_docstring(module)) for name, module in self.modules.items()}
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.get_short_help_str(limit)) for name, command in helps.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does.

        Raises:
            UsageError: a command of an earlier version is named.
            click.UsageError: there is no such command; names those that are spelled alike.
        """
        if args[0] not in self.modules and not args[0].startswith("-"):
            _refuse_old_spelling(ctx, args)
            near = get_close_matches(args[0], self.modules)
            suggestion = f" Did you mean {' or '.join(near)}?" if near else ""
            raise click.UsageError(f"No such command {args[0]!r}.{suggestion}", ctx)
        return super().resolve_command(ctx, args)


def subgroup(modules: Mapping[str, str]) -> Callable[[Callable[..., None]], Group]:
    """Decorate a function as a group of commands with ``--study``; its docstring is the group's help."""

    def decorate(function: Callable[..., None]) -> Group:
        return click.group(cls=Group, modules=modules)(study_option(function))

    return decorate


def _docstring(module: str) -> str | None:
    """The docstring of the function ``command`` in a module's source; the module is not imported."""
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(module)
    for node in ast.parse(Path(spec.origin).read_bytes()).body:
        if isinstance(node, ast.FunctionDef) and node.name == "command":
            return ast.get_docstring(node)
    return None


def _refuse_old_spelling(ctx: click.Context, args: Sequence[str]) -> None:
    words = ctx.command_path.split()
    replacement = new_spelling(words[1:], args)
    if replacement is not None:
        old, new = replacement
        raise UsageError(f"{words[0]} {old} is now: {words[0]} {new}")
