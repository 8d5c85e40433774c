"""The ``originset`` command: finds the sub-command, hands it the study, turns errors into one line."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from pathlib import Path

import click

import originset
from originset.data.errors import OriginsetError
from originset.data.files.atomic_files import disk_fault
from originset.data.sanitising.printable import printable
from originset.data.studies.study import Study

# One file a command, imported only when it is called: polars, DuckDB and selenium take a second to import together.
COMMANDS = {
    "analyze": "originset.cli.analyze",
    "artifact": "originset.cli.artifact",
    "certificate": "originset.cli.certificate",
    "check": "originset.cli.check",
    "compare": "originset.cli.compare",
    "config": "originset.cli.config",
    "crawl": "originset.cli.crawl",
    "demo": "originset.cli.demo",
    "doctor": "originset.cli.doctor",
    "enrich": "originset.cli.enrich",
    "experiment": "originset.cli.experiment",
    "explain": "originset.cli.explain",
    "figures": "originset.cli.figures",
    "import": "originset.cli.import_",
    "merge": "originset.cli.merge",
    "model": "originset.cli.model",
    "plan": "originset.cli.plan",
    "query": "originset.cli.query",
    "reference": "originset.cli.reference",
    "report": "originset.cli.report",
    "scenario": "originset.cli.scenario",
}

INTERRUPTED = 130


class _Commands(click.Group):
    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(COMMANDS[cmd_name]).command
        return command


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--study",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    envvar="ORIGINSET_STUDY",
    default=Path("study"),
    show_default=True,
    show_envvar=True,
    help="The study's folder.",
)
@click.option("--debug", is_flag=True, help="Show a traceback where there is an error.")
@click.version_option(originset.__version__, prog_name="originset")
@click.pass_context
def main(ctx: click.Context, folder: Path, debug: bool) -> None:
    """Measure, model and explain HTTP connection coalescing.

    The way of the data: crawl or import, then analyze; then query, figures, plan and config.

    Example: originset --study S import page.har && originset --study S analyze && originset --study S query
    """
    del debug  # read by run(), which sees every error
    ctx.obj = Study(folder)


def run() -> None:
    """The console entry: ends the process with the exit code that README.md promises."""
    debug = "--debug" in sys.argv[1:]
    try:
        code = main.main(prog_name="originset", standalone_mode=False)
        sys.stdout.flush()
    except OriginsetError as error:
        code = _fail(f"error: {error}", error.exit_code, debug)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        code = error.exit_code
    except click.ClickException as error:
        if isinstance(error, click.UsageError) and error.ctx is not None:
            click.echo(error.ctx.get_usage(), err=True)
        code = _fail(f"error: {error.format_message()}", error.exit_code, debug)
    except (click.Abort, KeyboardInterrupt):
        code = _fail("interrupted", INTERRUPTED, debug=False)
    except BrokenPipeError:
        # The reader of our output left (`| head`): nothing to say, and nobody to say it to.
        _leave_stdout()
        code = 0
    except Exception as error:  # noqa: BLE001 - the edge of the program
        _name_stdout(error)
        if (fault := disk_fault(error)) is not None:
            code = _fail(f"error: {fault[0]}; {fault[1]}, then run the same again", 2, debug)
            _leave_stdout()
        else:
            code = _fail(f"internal error: {error!r}; run it again with --debug and report it", 1, debug)
    sys.exit(code)


def _name_stdout(error: Exception) -> None:
    """Have an error that names no file name stdout, if it comes from what writes there: click, rich or :func:`run`."""
    if isinstance(error, OSError) and error.filename is None and error.__traceback__ is not None:
        *_, (innermost, _) = traceback.walk_tb(error.__traceback__)
        package = str(innermost.f_globals.get("__name__")).partition(".")[0]
        if package in {"click", "rich"} or innermost.f_code is run.__code__:
            error.filename = "standard output"


def _leave_stdout() -> None:
    """What could not be written is not tried again as the interpreter ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(line: str, code: int, debug: bool) -> int:
    if debug:
        for place in traceback.format_exc().splitlines():
            click.echo(printable(place), err=True)
    click.echo(f"originset: {printable(line)}", err=True)
    return code
