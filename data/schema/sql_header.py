"""The header comments of the ``.sql`` files: what the rows are, then, a line each, facts, parameters and columns.

::

    -- What the rows are, in one or more lines.
    -- paper: figure 1
    -- parameter top = 100: what it changes, used below as $top
    -- column: what it holds [unit]
    --   and more of it
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_FACTS = ("paper", "scope", "kept as")
_KEYED = re.compile(r"(paper|scope|kept as|parameter \w+(?: = .+?)?|[a-z]\w*): (.+)")


@dataclass(slots=True)
class SqlHeader:
    """A header: its description; ``facts``, the values of ``paper``, ``scope`` and ``kept as``; parameters; columns.

    ``parameters``: meanings by definition, such as ``top = 100``. ``columns``: meanings by name.
    """

    description: str = ""
    facts: dict[str, str] = field(default_factory=dict)
    parameters: dict[str, str] = field(default_factory=dict)
    columns: dict[str, str] = field(default_factory=dict)


def read_header(sql: str) -> SqlHeader:
    """The header of a query: the comment that it begins with."""
    header = SqlHeader()
    into, key = None, ""
    for line in _comment(sql):
        if line.startswith("  ") and into is not None:
            into[key] += f" {line.strip()}"
        elif match := _KEYED.fullmatch(line):
            key, meaning = match[1], match[2]
            if key in _FACTS:
                into = header.facts
            elif key.startswith("parameter "):
                into, key = header.parameters, key.removeprefix("parameter ")
            else:
                into = header.columns
            into[key] = meaning
        else:
            header.description = f"{header.description} {line.strip()}".strip()
    return header


def _comment(sql: str) -> Iterator[str]:
    for line in sql.splitlines():
        if not line.startswith("--"):
            return
        yield line.removeprefix("--").removeprefix(" ").rstrip()
