"""A situation's file: a server, its configuration, and what it answered.

The file is Markdown: a title, perhaps a paragraph (why; where people met it), one code block whose language is the
server (one of :data:`originset.crawler.testbed.server_lab.lab_servers.SERVERS`), and a section with what was observed.

All situations have the hosts of :data:`HOSTS`, in the configuration below ``lab.test``. Connections to each are opened
to :data:`ADDRESS`, but to that of ``static`` at :data:`OTHER_ADDRESS` if the configuration has that address. The answer
of a host's site is the host's first label. A server's folder holds:

- ``all.pem``, a certificate for all hosts, its chain and key; ``wildcard.pem``, for ``*.lab.test``; ``www.pem``,
  ``static.pem`` and ``other.pem``, for one host each;
- ``client-ca.pem``, whose client certificates to trust; no client has one;
- ``certificates.txt``, HAProxy's list of certificates, which asks for client certificates for ``static``;
- for each host a folder with an ``index.html``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from originset.data.errors import InputError

DOMAIN = "lab.test"
HOSTS = ("www", "static", "other")
ADDRESS = "104.19.7.10"
OTHER_ADDRESS = "104.19.7.20"

TEXTS = Path(__file__).with_name("texts")

_FILE = re.compile(
    r"# (?P<title>[^\n]+)\n\n(?P<why>(?:[^\n#`][^\n]*\n)*)\n?```(?P<server>\w+)\n(?P<configuration>.*?)```\n"
    r"(?:\n## Observed with (?P<version>[^\n]+)\n\n(?P<rows>.*))?",
    re.DOTALL,
)
_ROW = re.compile(r"^\| (\w+) \| (.+) \|$", re.MULTILINE)

#: For the host that a connection was opened for, the answer to a request for each host: a status and, for 200, whose
#: site answered; ``none`` where there was no connection or no answer.
Answers = Mapping[str, Mapping[str, str]]


class Situation(msgspec.Struct, frozen=True):
    """One file. ``version``: the server's, with which ``answers`` was observed; None if it was not."""

    name: str
    title: str
    why: str
    server: str
    configuration: str
    version: str | None
    answers: Answers

    def address_of(self, host: str) -> str:
        """Where connections to a host are opened."""
        return OTHER_ADDRESS if host == "static" and OTHER_ADDRESS in self.configuration else ADDRESS

    def outcome(self, opened_for: str, requested: str) -> str:
        """What became of a request on a connection that was opened for another host, in the table's words."""
        answer, own = self.answers[opened_for][requested], self.answers[requested][requested]
        if self.answers[opened_for][opened_for] == "none":
            return "no connection"
        if answer == "none":
            return "closed"
        status, _, site = answer.partition(" ")
        if site == requested:
            return "served" if own == answer else "served without client certificate"
        return f"site of {site}" if site else status


def situations() -> list[Situation]:
    """All of them, by name."""
    return [parse(path.stem, path.read_text()) for path in sorted(TEXTS.glob("*.md"))]


def parse(name: str, text: str) -> Situation:
    """A situation's file.

    Raises:
        InputError: it has another form.
    """
    found = _FILE.fullmatch(text)
    if found is None:
        raise InputError(f"{name}.md", "bad-situation", "is no title, configuration and observation")
    rows = [row for row in _ROW.findall(found["rows"] or "") if row[0] in HOSTS]
    answers = {host: dict(zip(HOSTS, cells.split(" | "), strict=False)) for host, cells in rows}
    return Situation(
        name, found["title"], found["why"].strip(), found["server"], found["configuration"], found["version"], answers
    )


def serialize(situation: Situation) -> str:
    """The file."""
    why = f"{situation.why}\n\n" if situation.why else ""
    text = f"# {situation.title}\n\n{why}```{situation.server}\n{situation.configuration}```\n"
    if situation.version is None:
        return text
    head = f"| connection for | {' | '.join(HOSTS)} |\n|---|{'---|' * len(HOSTS)}\n"
    rows = "".join(
        f"| {host} | {' | '.join(situation.answers[host][each] for each in HOSTS)} |\n" for host in situation.answers
    )
    return f"{text}\n## Observed with {situation.version}\n\n{head}{rows}"
