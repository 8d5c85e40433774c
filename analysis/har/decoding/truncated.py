"""What is whole in a HAR that was cut off: its JSON up to the last complete entry."""

from __future__ import annotations

import re

# Strings are matched whole, so that brackets in them are ignored; an unterminated one is matched to the end.
# Possessive, so that a long one takes no memory for backtracking.
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\Z)?|[{}\[\],:]', re.DOTALL)
_CLOSED_BY = {ord("{"): b"}", ord("["): b"]"}
_WITHIN = [ord("{"), ord("{"), ord("[")]


def whole_entries(text: bytes) -> tuple[bytes, int] | None:
    """A complete JSON text of the whole entries of a truncated file, and the byte offset where the rest is lost.

    None if no entry is whole, so that nothing of the file can be used. Only ``log.entries`` is searched.
    """
    open_brackets: list[int] = []
    keys: list[bytes] = []  # the last key at each depth
    last = b""
    end = None
    for token in _TOKEN.finditer(text):
        kind = text[token.start()]
        if kind == 0x22:
            last = token[0]
        elif kind in b"{[":
            open_brackets.append(kind)
            keys.append(b"")
        elif kind in b"}]":
            if not open_brackets or _CLOSED_BY[open_brackets.pop()] != token[0]:
                return None
            keys.pop()
            if open_brackets == _WITHIN and keys[:2] == [b'"log"', b'"entries"'] and kind == 0x7D:
                end = token.end()
        elif kind == 0x3A and open_brackets and open_brackets[-1] == 0x7B:
            keys[-1] = last
        if len(open_brackets) > 1000:
            return None
    # The file can be cut off after the entries: other whole parts before the cut cannot be read without the rest.
    return None if end is None else (text[:end] + b"]}}", end)
