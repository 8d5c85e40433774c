"""``originset serve``: ``explain`` and a study's queries, in a browser on this machine."""

from __future__ import annotations

import contextlib
import secrets
import signal
import socket
import tempfile
from pathlib import Path
from types import FrameType
from typing import NoReturn

import click
from click.core import ParameterSource

from originset.cli.common.command_tree import STUDY_FOLDER, Command
from originset.cli.common.output import note, say
from originset.cli.serve.application import application
from originset.cli.serve.http_server import http_server
from originset.data.errors import UsageError
from originset.data.studies.database import open_database
from originset.data.studies.study import Study

_LOOPBACK = "127.0.0.1"
_TOKEN_BYTES = 32


@click.command(cls=Command)
@click.argument("folder", metavar="[STUDY]", required=False, type=STUDY_FOLDER)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    show_default="one that is free",
    help="Listen at this port of 127.0.0.1.",
)
@click.pass_context
def command(ctx: click.Context, folder: Path | None, *, port: int) -> None:
    """Show recordings and a study in a browser.

    Prints a URL for a browser on this machine. The page takes HARs and NetLogs and answers as explain does. With a
    study, which is STUDY or the one of --study, it also shows the ladder, pages, hosts and causes, each with its query.
    Nothing leaves the machine, and uploaded files are removed when their page is made. The URL has a token: who has it
    can read the study until Ctrl-C stops the server.

    Example: originset serve S
    """
    study = _study(ctx, folder)
    if study is not None:
        with open_database(study):
            pass  # what is wrong with it is said before a browser asks
    for ending in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, _raise_interrupt)  # uvicorn raises the first again when it has ended
    with tempfile.TemporaryDirectory(prefix="originset-") as uploads, _listening_socket(port) as listener:
        authority = f"{_LOOPBACK}:{listener.getsockname()[1]}".removesuffix(":80")
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        say(f"http://{authority}/{token}/")
        note(f"study: {'none' if study is None else study.root}; Ctrl-C stops the server")
        server = http_server(application(study, Path(uploads), authority, token))
        with contextlib.suppress(KeyboardInterrupt):
            server.run(sockets=[listener])


def _study(ctx: click.Context, folder: Path | None) -> Study | None:
    """The study that is named, else the one that --study or its default names if it is there."""
    if folder is not None:
        return Study(folder)
    study: Study = ctx.obj
    named = ctx.find_root().get_parameter_source("folder") is not ParameterSource.DEFAULT
    return study if named or study.manifest_path.exists() else None


def _listening_socket(port: int) -> socket.socket:
    try:
        return socket.create_server((_LOOPBACK, port))
    except OSError as error:
        raise UsageError(f"port {port} of {_LOOPBACK} cannot be used ({error.strerror})", "name another") from error


def _raise_interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt
