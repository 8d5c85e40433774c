"""docs/servers.md, made from the table: ``python -m originset.cli.writers.servers_page > docs/servers.md``."""

from __future__ import annotations

import sys

from originset.cli.writers.capabilities import BY_ADDRESS, CAPABILITIES

_HEAD = """\
# Which servers can send ORIGIN frames

Made from `cli/writers/capabilities.py` by `make docs`; do not edit. It is about HTTP/2 (RFC 8336) unless a line says
otherwise. *no* stands on the server's source or its maintainers' word, *unknown* on finding nothing: absence of a
mention is no proof. `originset plan config --server NAME` writes a file for those that can, and refuses the others with
the same words.

| --server | server | sends ORIGIN frames | source |
|---|---|---|---|
"""


def page() -> str:
    """The whole page, as Markdown."""
    rows = "".join(
        f"| {name} | {one.title} | {one.sends}{f', since {one.since}' if one.since else ''} | {one.source} |\n"
        for name, one in sorted(CAPABILITIES.items(), key=lambda item: (item[1].sends != "yes", item[0]))
    )
    return f"{_HEAD}{rows}\nWhere a server cannot, {BY_ADDRESS.replace('what helps there: ', '')}.\n"


if __name__ == "__main__":
    sys.stdout.write(page())
