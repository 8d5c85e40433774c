"""Strangers' texts on their way to a terminal, which obeys control characters and turns lines around.

Control characters (C0 and C1), marks of direction and the like, separators of lines, and what Unicode has no
character for are written as they are in a Python program: as a backslash with the number.
"""

from __future__ import annotations

import os
import re
import unicodedata
from pathlib import PurePath

_BEYOND_ASCII = re.compile(r"[^\n -~]")


def printable(text: str) -> str:
    """A text in one line without characters that a terminal interprets."""
    if text.isprintable():
        return text
    return "".join(c if _is_harmless(c) else c.encode("unicode_escape").decode() for c in text)


def printable_lines(text: str) -> str:
    """The same line by line."""
    return "\n".join(map(printable, text.split("\n")))


def printable_json(text: str) -> str:
    """JSON with the same value, in which characters that a terminal interprets are JSON escapes."""
    return _BEYOND_ASCII.sub(lambda found: found[0] if _is_harmless(found[0]) else _json_escape(found[0]), text)


def is_utf8(path: PurePath) -> bool:
    """Whether all of a path's bytes are UTF-8; a name on a disk can have any others."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True


def path_text(path: PurePath) -> str:
    """A path as text that can be written anywhere: bytes of a name that are not UTF-8 are escapes."""
    return os.fsencode(path).decode(errors="backslashreplace")


def _is_harmless(character: str) -> bool:
    # Spaces of other widths are not printable to Python; terminals show them.
    return character.isprintable() or unicodedata.category(character) == "Zs"


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[place]:02x}{units[place + 1]:02x}" for place in range(0, len(units), 2))
