"""Options of commands that contact servers: whom they trust, how fast they ask, for how long, and whom they may."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from originset.cli.common.files import FILE
from originset.cli.common.finite_range import FiniteRange
from originset.data.errors import InputError

_F = TypeVar("_F", bound=Callable[..., Any])

_MOST_SECONDS = 86_400


def _ca_certificates(_ctx: click.Context, _option: click.Parameter, path: Path | None) -> Path | None:
    """The file, once it is seen to hold certificates.

    Raises:
        InputError: it holds none.
    """
    try:
        ssl.create_default_context(cafile=path)
    except OSError as error:  # ssl.SSLError is one
        raise InputError(str(path), "not-certificates", "holds no CA certificates in PEM") from error
    return path


ca_file_option = click.option(
    "--ca-file",
    type=FILE,
    callback=_ca_certificates,
    metavar="PEM",
    help="CA certificates to trust instead of the system's.",
)


def rate_option(default: float) -> Callable[[_F], _F]:
    """Add ``--rate``: connections a second."""
    return click.option(
        "--rate",
        type=FiniteRange(min=0.1, max=50),
        default=default,
        show_default=True,
        metavar="N",
        help="At most N connections per second.",
    )


def max_time_option(default: float) -> Callable[[_F], _F]:
    """Add ``--max-time``, in seconds."""
    return click.option(
        "--max-time",
        type=FiniteRange(1, _MOST_SECONDS),
        default=default,
        show_default=True,
        metavar="SECONDS",
        help="Time for all contacts with servers and resolvers together. What remains is left out.",
    )


allow_private_option = click.option(
    "--allow-private",
    is_flag=True,
    help="Also contact IP addresses that are not public, ports other than 443 and 8443, and names of local networks.",
)
