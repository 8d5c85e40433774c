"""Files that users name: those that commands read, and how they are written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from originset.data.errors import UsageError
from originset.data.files import nofollow
from originset.data.files.atomic_files import replacing

#: The type of options and arguments that name an existing file.
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)

_F = TypeVar("_F", bound=Callable[..., Any])


def out_option(function: _F) -> _F:
    """Add ``--out``, for a command that else writes to stdout."""
    place = click.Path(dir_okay=False, path_type=Path)
    return click.option("--out", type=place, metavar="FILE", help="Write there instead of to stdout.")(function)


def make_folder(path: Path) -> None:
    """Make a folder and those above it, if it does not exist.

    Raises:
        UsageError: it cannot be made.
    """
    try:
        nofollow.make_folder(path)
    except OSError as error:
        raise UsageError(f"{path} cannot be made ({error.strerror})", "name another folder with --out") from error


def write_text(path: Path, text: str, *, private: bool = False) -> None:
    """Write a file in UTF-8, whole or not at all; arguments and errors are those of :func:`write_bytes`."""
    write_bytes(path, text.encode(), private=private)


def write_text_or_print(path: Path, text: str) -> None:
    """Write a file as :func:`write_text` does, or to stdout if the path is ``-``."""
    if path == Path("-"):
        click.echo(text, nl=False)
    else:
        write_text(path, text)


def write_bytes(path: Path, content: bytes, *, private: bool = False) -> None:
    """Write a file, whole or not at all; a device or a pipe, such as /dev/stdout, is written to directly.

    ``private``: nobody but its owner can read it.

    Raises:
        UsageError: the place cannot be written, or is a symbolic link.
    """
    try:
        if _is_device(path):
            path.write_bytes(content)
            return
        require_no_link(path)
        path.parent.stat()  # a folder that is not there is a slip of the pen: none is made
        with replacing(path, private=private) as temporary:
            temporary.write_bytes(content)
    except OSError as error:
        raise UsageError(f"{path} cannot be written ({error.strerror})", "name another place with --out") from error


def require_no_link(path: Path) -> None:
    """Check that ``path`` is not a symbolic link, because somebody else may have chosen its target.

    Raises:
        UsageError: it is one.
    """
    if path.is_symlink():
        raise UsageError(f"{path} is a symbolic link", "remove it, or name the file itself with --out")


def _is_device(path: Path) -> bool:
    # /dev/stdout and /dev/fd/3 are links that the kernel's own folder has.
    return path.exists() and (
        path.absolute().parent.is_relative_to("/dev") or not (path.is_symlink() or path.is_file())
    )
