"""The files of a form, written to a folder while they arrive."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import BinaryIO, Self

from multipart import MultipartError, MultipartSegment, ParserLimitReached, PushMultipartParser, parse_options_header
from starlette.requests import Request

from originset.data.errors import UsageError

MOST_FILES = 100

# Of a name in UTF-8, at four bytes a character, what a file system takes.
_MOST_CHARACTERS = 60


async def receive_files(request: Request, folder: Path, most_bytes: int) -> list[Path]:
    """The files of a form (multipart/form-data, RFC 7578), each readable by its owner alone, in a folder of its own.

    Their names are those that the browser gives, without what a path could be made of. ``most_bytes``: of all
    together; of a form that is said to be larger nothing is read.

    Raises:
        UsageError: the body is no such form, is too large, or has no file or too many.
        ClientDisconnect: it ended before its end.
    """
    kind, options = parse_options_header(request.headers.get("content-type", ""))
    if kind != "multipart/form-data" or not options.get("boundary"):
        raise UsageError("this is no form with files", "choose files on the page")
    _require_size(int(request.headers.get("content-length", "0")), most_bytes)
    try:
        with (
            _Files(folder) as files,
            PushMultipartParser(options["boundary"], max_segment_count=MOST_FILES, strict=True) as parser,
        ):
            received = 0
            async for chunk in request.stream():
                received += len(chunk)
                _require_size(received, most_bytes)
                files.take(parser, chunk)
    except ParserLimitReached as error:
        raise UsageError(f"the form is beyond a bound ({error})", f"choose {MOST_FILES} files at most") from error
    except (MultipartError, UnicodeError) as error:
        raise UsageError(f"the form cannot be read ({error})", "choose the files again") from error
    if not files.paths:
        raise UsageError("no file was chosen", "choose a HAR or NetLog")
    return files.paths


def _require_size(received: int, most_bytes: int) -> None:
    if received > most_bytes:
        raise UsageError(f"the files have more than {most_bytes:,} bytes together", "choose fewer, or use explain")


class _Files:
    def __init__(self, folder: Path) -> None:
        self.paths: list[Path] = []
        self._folder = folder
        self._open: BinaryIO | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def take(self, parser: PushMultipartParser, chunk: bytes) -> None:
        """Write what a part of the body has of the files."""
        if not chunk:  # the end of the stream; the parser would take it for the form's
            return
        for event in parser.parse(chunk):
            if isinstance(event, MultipartSegment):
                # A form in which no file was chosen has one without a name and content.
                self._open = self._create(event.filename) if event.filename else None
            elif event is None:
                self._close()
            elif self._open is not None:
                self._open.write(event)

    def _create(self, name: str) -> BinaryIO:
        folder = self._folder / str(len(self.paths) + 1)
        folder.mkdir(mode=0o700)
        path = folder / file_name(name)
        self.paths.append(path)
        return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")

    def _close(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None


def file_name(name: str) -> str:
    """A name that a browser gives, as that of a file: no separators, controls, or dots at its beginning."""
    last_part = re.split(r"[/\\]", name)[-1]
    return re.sub(r"[^\w.-]", "_", last_part).lstrip(".")[-_MOST_CHARACTERS:].lstrip(".") or "recording"
