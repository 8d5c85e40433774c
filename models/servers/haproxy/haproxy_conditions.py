"""HAProxy's lines and conditions: what a test looks at, the request or the connection."""

from __future__ import annotations

import re
import shlex

_OF_CONNECTION = re.compile(
    r"\bssl_(?!fc\b|hello_type)\w+|\breq[._]ssl_(?!hello_type)\w+|\b(fc|so|sc\d?|src|dst|fe|be)_\w+|\bdst\b|\blua[.]|\bfilter\b|\$\{?\w"
)
HOST = re.compile(r"(?:req\.)?f?hdr\((?i:host)\)(?:,lower|,field\(1,:\)|,host_only)*")
_SERVER_NAME = re.compile(r"ssl_fc_sni|req\.ssl_sni|req_ssl_sni")
# Python's lexer takes the square of a word's length.
_LONGEST_LINE = 1 << 16


def whole_names(text: str) -> tuple[str, frozenset[str]] | None:
    """What a test that compares whole names looks at, and the names; None: it is another."""
    fetch, *words = text.split(" ")
    kind = "host" if HOST.fullmatch(fetch) else "server name" if _SERVER_NAME.fullmatch(fetch) else None
    while words[:1] == ["-i"] or words[:2] == ["-m", "str"]:
        words = words[1:] if words[0] == "-i" else words[2:]
    if kind is None or not words or any(word.startswith("-") for word in words):
        return None
    return kind, frozenset(word.lower() for word in words)


def depends_on_connection(text: str, acls: dict[str, list[str]]) -> bool:
    """Whether a line, or a test that it names, looks at the connection."""
    tests = [test for word in re.findall(r"[\w.:-]+", text) for test in acls.get(word, ())]
    return any(_OF_CONNECTION.search(one) for one in (text, *tests))


def words_of(line: str) -> list[str]:
    """The words of a line, without comments. Braces, signs of negation and quoted words are words of their own."""
    if len(line) > _LONGEST_LINE:
        return [line.strip()]
    try:
        lexer = shlex.shlex(line, posix=True)
        lexer.whitespace_split, lexer.commenters = True, "#"
        words = list(lexer)
    except ValueError:
        return [line.strip()]
    return [part for word in words for part in (["!", word[1:]] if word[:1] == "!" and len(word) > 1 else [word])]
