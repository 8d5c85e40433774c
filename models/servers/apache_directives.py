"""The syntax of Apache httpd's configuration files: directives, and sections that hold others."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from originset.data.errors import InputError
from originset.models.servers.configuration_files import ConfigurationFolder
from originset.models.servers.listeners import Place

_WORD = re.compile(r'"((?:[^"\\]|\\.)*)"|\'((?:[^\'\\]|\\.)*)\'|(\S+)')
_SECTION = re.compile(r"<(\w++)(.*)>")
_MAX_DEPTH = 50


@dataclass(slots=True)
class Directive:
    """A directive, or a section, whose name has ``<`` before it; names are in lower case."""

    place: Place
    name: str
    arguments: tuple[str, ...]
    block: list[Directive] = field(default_factory=list)


def directives(path: Path, folder: ConfigurationFolder) -> list[Directive]:
    """The directives of a file, in order.

    Raises:
        InputError: a section is not closed, or not opened; with the line.
    """
    top: list[Directive] = []
    opened: list[Directive] = []
    name = folder.name(path)
    for number, line in _lines(folder.text(path)):
        block = opened[-1].block if opened else top
        if line.startswith("</"):
            if not opened or opened.pop().name[1:] != line[2:].rstrip("> \t").lower():
                raise InputError(str(path), "not-apache", f"line {number} closes what is not open")
        elif line.startswith("<"):
            found = _SECTION.fullmatch(line)
            if found is None or len(opened) >= _MAX_DEPTH:
                raise InputError(str(path), "not-apache", f"line {number} is no section, or nested too deeply")
            block.append(Directive(Place(name, number), f"<{found[1].lower()}", _words(found[2])))
            opened.append(block[-1])
        else:
            first, *rest = _words(line) or ("",)
            block.append(Directive(Place(name, number), first.lower(), tuple(rest)))
    if opened:
        raise InputError(str(path), "not-apache", f"line {opened[-1].place.line} opens what is not closed")
    return top


def _lines(text: str) -> list[tuple[int, str]]:
    """Lines with their numbers, joined where one ends in a backslash; without empty ones and comments."""
    lines: list[tuple[int, str]] = []
    start, joined = 1, ""
    for number, line in enumerate(text.split("\n"), 1):
        start = start if joined else number
        if line.rstrip("\r").endswith("\\"):
            joined += line.rstrip("\r")[:-1] + " "
            continue
        whole, joined = (joined + line).strip(), ""
        if whole and not whole.startswith("#"):
            lines.append((start, whole))
    return lines


def _words(text: str) -> tuple[str, ...]:
    return tuple(double or single or bare for double, single, bare in _WORD.findall(text))
