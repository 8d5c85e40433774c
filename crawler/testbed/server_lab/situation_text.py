"""A situation's file: a server, its configuration, and what it answered.

The file is Markdown: a title, perhaps a paragraph (why; where people met it), code blocks, and a section with what was
observed. The first block's language is the server that browsers meet (one of
:data:`originset.crawler.testbed.server_lab.lab_servers.SERVERS`); a second server is behind it, and listens at
127.0.0.1:8001. A block ``list`` is what ``check lint --server list`` is to be told of a server whose configuration it
does not read.

All situations have the hosts of :data:`HOSTS`, in the configuration below ``lab.test``. Connections to each are opened
to :data:`ADDRESS`, but to that of ``static`` at :data:`OTHER_ADDRESS` if the configuration has that address. The answer
of a host's site is the host's first label. A server's folder holds:

- ``all.pem``, a certificate for all hosts, its chain and key; ``wildcard.pem``, for ``*.lab.test``; ``www.pem``,
  ``static.pem`` and ``other.pem``, for one host each;
- ``client-ca.pem``, whose client certificates to trust; no client has one;
- ``certificates.txt``, HAProxy's list of certificates, which asks for client certificates for ``static``, and
  ``certificates-apart.txt``, the same of ``www`` and ``static`` with a certificate for each;
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
    r"# (?P<title>[^\n]+)\n\n(?P<why>(?:[^\n#`][^\n]*\n)*)\n?(?P<blocks>(?:```\w+\n.*?```\n\n?)+)"
    r"(?:## Observed with (?P<version>[^\n]+)\n\n(?P<rows>[^#]*))?(?:## Over HTTP/3\n\n(?P<http3>.*))?",
    re.DOTALL,
)
_BLOCK = re.compile(r"```(\w+)\n(.*?)```\n", re.DOTALL)
_ROW = re.compile(r"^\| (\w+) \| (.+) \|$", re.MULTILINE)

#: For the host that a connection was opened for, the answer to a request for each host: a status and, for 200, whose
#: site answered; ``none`` where there was no connection or no answer.
Answers = Mapping[str, Mapping[str, str]]


class Situation(msgspec.Struct, frozen=True):
    """One file. ``version``: the server's, with which the answers were observed; None if they were not.

    ``behind``: the server behind it, with its configuration. ``host_list``: what ``check lint`` is to read in the place
    of the configuration. ``http3``: the answers over HTTP/3; empty where the server does not listen for QUIC.
    """

    name: str
    title: str
    why: str
    server: str
    configuration: str
    behind: tuple[str, str] | None
    host_list: str | None
    version: str | None
    answers: Answers
    http3: Answers = {}

    def address_of(self, host: str) -> str:
        """Where connections to a host are opened."""
        return OTHER_ADDRESS if host == "static" and OTHER_ADDRESS in self.configuration else ADDRESS

    def outcome(self, opened_for: str, requested: str) -> str:
        """What became of a request on a connection that was opened for another host, in the table's words."""
        return _outcome(self.answers, opened_for, requested)

    def outcome_over_http3(self, opened_for: str, requested: str) -> str:
        """The same over HTTP/3."""
        return _outcome(self.http3, opened_for, requested)


def _outcome(answers: Answers, opened_for: str, requested: str) -> str:
    answer, own = answers[opened_for][requested], answers[requested][requested]
    if answers[opened_for][opened_for] == "none":
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
    blocks = _BLOCK.findall(found["blocks"])
    listed = [text for language, text in blocks if language == "list"]
    (server, configuration), *behind = [block for block in blocks if block[0] != "list"] or [("", "")]
    if not server or len(behind) > 1 or len(listed) > 1:
        raise InputError(f"{name}.md", "bad-situation", "is not one server, perhaps with one behind it and a list")
    try:
        answers, http3 = _answers(found["rows"]), _answers(found["http3"])
    except ValueError as error:
        raise InputError(f"{name}.md", "bad-situation", "has a row with other than an answer for each host") from error
    return Situation(
        name, found["title"], found["why"].strip(), server, configuration, behind[0] if behind else None,
        listed[0] if listed else None, found["version"], answers, http3,
    )  # fmt: skip


def _answers(table: str | None) -> Answers:
    rows = [row for row in _ROW.findall(table or "") if row[0] in HOSTS]
    return {host: dict(zip(HOSTS, cells.split(" | "), strict=True)) for host, cells in rows}


def serialize(situation: Situation) -> str:
    """The file."""
    why = f"{situation.why}\n\n" if situation.why else ""
    blocks = [(situation.server, situation.configuration)]
    blocks += [situation.behind] if situation.behind else []
    blocks += [("list", situation.host_list)] if situation.host_list else []
    text = f"# {situation.title}\n\n{why}" + "\n".join(f"```{language}\n{content}```\n" for language, content in blocks)
    if situation.version is None:
        return text
    http3 = f"\n## Over HTTP/3\n\n{_table(situation.http3)}" if situation.http3 else ""
    return f"{text}\n## Observed with {situation.version}\n\n{_table(situation.answers)}{http3}"


def _table(answers: Answers) -> str:
    head = f"| connection for | {' | '.join(HOSTS)} |\n|---|{'---|' * len(HOSTS)}\n"
    return head + "".join(f"| {host} | {' | '.join(answers[host][each] for each in HOSTS)} |\n" for host in answers)
