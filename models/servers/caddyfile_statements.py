"""The syntax of Caddyfiles: statements with their blocks, and what ``import`` puts in its place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from originset.data.errors import InputError
from originset.models.servers.configuration_files import MAX_DEPTH, ConfigurationFolder
from originset.models.servers.listeners import Place

_TOKEN = re.compile(r'"((?:[^"\\]|\\.)*)"|`([^`]*)`|(\S+)')
_SNIPPET = re.compile(r"\(([^()\s]+)\)")
# What an import would hand over.
_OF_IMPORT = re.compile(r"\{(args|block)")
_MAX_NESTING = 50
#: How many statements imports may put in their places: snippets that import one another twice grow without end.
_MAX_STATEMENTS = 20_000


@dataclass(slots=True)
class Statement:
    """A line's words; ``block``: what stands between its braces."""

    place: Place
    words: tuple[str, ...]
    block: list[Statement] = field(default_factory=list)

    @property
    def text(self) -> str:
        """It and its block, in one line."""
        return " ".join((*self.words, *(one.text for one in self.block)))


def statements(path: Path, folder: ConfigurationFolder) -> list[Statement]:
    """A Caddyfile's statements; in the place of an ``import`` those of the snippet, or of the files, that it names.

    An import that names neither, or that has arguments, stays as it is; a snippet's definition does not.

    Raises:
        InputError: braces do not match, or imports are nested too deeply or grow without end.
    """
    return list(_Imports(folder).expanded(_parsed(path, folder), is_top=True))


class _Imports:
    """``snippets``: the blocks of those that were defined so far."""

    def __init__(self, folder: ConfigurationFolder) -> None:
        self._folder = folder
        self._snippets: dict[str, list[Statement]] = {}
        self._seen = 0

    def expanded(self, block: Sequence[Statement], depth: int = 0, *, is_top: bool = False) -> Iterator[Statement]:
        """``is_top``: the block is a file, or stands for a part of one, so that snippets are defined in it."""
        for one in block:
            self._seen += 1
            if depth > MAX_DEPTH or self._seen > _MAX_STATEMENTS:
                raise InputError(str(one.place), "not-a-caddyfile", "is imported too deeply, or too often")
            name = _SNIPPET.fullmatch(one.words[0]) if len(one.words) == 1 else None
            if name is not None and is_top:
                self._snippets[name[1]] = one.block
                continue
            found = self._imported(one) if one.words[:1] == ("import",) else None
            if found is None:
                yield Statement(one.place, one.words, list(self.expanded(one.block, depth + 1)))
            else:
                yield from self.expanded(found, depth + 1, is_top=is_top)

    def _imported(self, one: Statement) -> list[Statement] | None:
        if len(one.words) != 2 or one.block:
            return None
        snippet = self._snippets.get(one.words[1])
        if snippet is not None:
            return None if any(_OF_IMPORT.search(each.text) for each in snippet) else snippet
        # Paths are relative to the file that imports.
        paths = self._folder.matching(str(Path(one.place.file).parent / one.words[1]))
        return None if paths is None else [each for path in paths for each in _parsed(path, self._folder)]


def _parsed(path: Path, folder: ConfigurationFolder) -> list[Statement]:
    file, text = folder.name(path), folder.text(path)
    top = Statement(Place(file, 0), ())
    opened = [top]
    for number, line in enumerate(text.replace("\\\n", "  ").split("\n"), 1):
        words = _words(line)
        if words == ("}",):
            if len(opened) == 1:
                raise InputError(file, "not-a-caddyfile", f"line {number} closes what is not open")
            opened.pop()
        elif words:
            opens = words[-1] == "{"
            one = Statement(Place(file, number), words[:-1] if opens else words)
            opened[-1].block.append(one)
            if (opens and not one.words and (len(opened) > 1 or len(top.block) > 1)) or "}" in words:
                raise InputError(file, "not-a-caddyfile", f"line {number} has a brace where none is read here")
            if opens:
                opened.append(one)
            if len(opened) > _MAX_NESTING:
                raise InputError(file, "not-a-caddyfile", f"line {number} is nested too deeply")
    if len(opened) > 1:
        raise InputError(file, "not-a-caddyfile", f"line {opened[-1].place.line} opens what is not closed")
    return top.block


def _words(line: str) -> tuple[str, ...]:
    """The words of a line, up to a comment."""
    words: list[str] = []
    for found in _TOKEN.finditer(line):
        if found[0].startswith("#"):
            break
        words.append(found[1] if found[1] is not None else found[2] if found[2] is not None else found[3])
    return tuple(words)
