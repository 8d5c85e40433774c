"""JSON files of a known shape, read up to a bound; what is wrong with one is said with its place."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TypeVar

import msgspec

from originset.data.errors import InputError
from originset.data.files.nofollow import open_regular

_T = TypeVar("_T")

_KINDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "null": "null",
    "array": "a list",
    "object": "an object",
}
_PLACE = re.compile(r" - at `\$\.?([^`]+)`$")
_WRONG_KIND = re.compile(r"Expected `([^`]+)`, got `([^`]+)`")
_MISSING = re.compile(r"Object missing required field `([^`]+)`")
_BYTE = re.compile(r"\(byte (\d+)\)$")


def read_json(path: Path, kind: type[_T], what: str, *, most_bytes: int) -> _T:
    """The content of a file, decoded as ``kind``; ``what`` is what it should be, such as "a plan".

    Raises:
        InputError: it cannot be read, is a link or a pipe, has more than ``most_bytes``, or is not ``what``.
    """
    try:
        with open(open_regular(path.parent, path.name), "rb") as file:  # noqa: PTH123 - it is open already
            content = file.read(most_bytes + 1)
    except OSError as error:
        raise InputError(str(path), "unreadable", f"cannot be read ({error.strerror})") from error
    if len(content) > most_bytes:
        raise InputError(str(path), "too-large", f"is too large for {what}: it has more than {most_bytes} bytes")
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        reason = f"not-{what.replace(' ', '-')}"
        raise InputError(str(path), reason, f"is not {what}: {json_problem(error)}") from error


def json_problem(error: Exception) -> str:
    """What is wrong with JSON, and where, by what msgspec raised: ``servers[0].server is a list, not text``."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, UnicodeError):
        return "it has text that is not UTF-8"
    if not isinstance(error, msgspec.ValidationError):
        byte = _BYTE.search(str(error))
        return f"it is not JSON at byte {byte[1]}" if byte else "it ends before its JSON does"
    place = _PLACE.search(str(error))
    where = "it" if place is None else place[1].replace("...", "")
    if missing := _MISSING.match(str(error)):
        return f"{where} lacks {missing[1]}"
    if kinds := _WRONG_KIND.match(str(error)):
        expected, given = ([_KINDS.get(one, one) for one in group.split(" | ")] for group in kinds.groups())
        return f"{where} is {' or '.join(given)}, not {' or '.join(expected)}"
    return f"{where} has a value that is not one of those permitted"
