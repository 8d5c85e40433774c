"""The ``originset`` command: finds the sub-command, hands it the study, turns errors into one line."""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path

import click

import originset
from originset.cli.common.command_tree import STUDY_FOLDER, Group
from originset.data.errors import OriginsetError
from originset.data.files.atomic_files import disk_fault
from originset.data.sanitising.printable import printable
from originset.data.studies.study import Study

# In the order of the work. Each command has a file of its own, each group a folder.
COMMANDS = {
    "demo": "originset.cli.demo",
    "crawl": "originset.cli.crawl",
    "import": "originset.cli.import_",
    "analyze": "originset.cli.analyze",
    "query": "originset.cli.query",
    "study": "originset.cli.study",
    "explain": "originset.cli.explain",
    "serve": "originset.cli.serve_command",
    "plan": "originset.cli.plan",
    "check": "originset.cli.check",
    "experiment": "originset.cli.experiment",
    "lab": "originset.cli.lab",
}

INTERRUPTED = 130


@click.group(
    cls=Group,
    modules=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--study",
    "folder",
    type=STUDY_FOLDER,
    envvar="ORIGINSET_STUDY",
    default=Path("study"),
    show_default=True,
    show_envvar=True,
    help="The study's folder. It can also stand after the command's name.",
)
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.version_option(originset.__version__, prog_name="originset")
@click.pass_context
def main(ctx: click.Context, folder: Path, debug: bool) -> None:
    """Measure, model and explain HTTP connection coalescing.

    A study is a folder: crawl or import fills it, analyze builds its database, query and the commands of study show
    what is in it. explain, study compare and check budget read HAR files and need no study.

    Example: originset --study S import page.har && originset --study S analyze && originset --study S query
    """
    del debug  # read by run(), which sees every error
    ctx.obj = Study(folder)


def run() -> None:
    """The console entry point: exits with the codes that README.md documents."""
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
        # The reader of the output has closed the pipe (`| head`).
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
    """Let an error of writing to stdout (by click, rich or :func:`run`) name stdout as its file."""
    if isinstance(error, OSError) and error.filename is None and error.__traceback__ is not None:
        *_, (innermost, _) = traceback.walk_tb(error.__traceback__)
        package = str(innermost.f_globals.get("__name__")).partition(".")[0]
        if package in {"click", "rich"} or innermost.f_code is run.__code__:
            error.filename = "standard output"


def _leave_stdout() -> None:
    """Redirect stdout to nowhere, so that the interpreter does not try to write the rest again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(line: str, code: int, debug: bool) -> int:
    if debug:
        for place in traceback.format_exc().splitlines():
            click.echo(printable(place), err=True)
    click.echo(f"originset: {printable(line)}", err=True)
    return code
