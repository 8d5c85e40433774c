"""docs/servers.md, from the table and the lab's answers: ``python -m originset.cli.writers.servers_page``."""

from __future__ import annotations

import sys

from originset.cli.writers.capabilities import BY_ADDRESS, CAPABILITIES, HTTP3_LIBRARIES
from originset.crawler.testbed.server_lab.situation_text import Situation, situations

_HEAD = """\
# Which servers can send ORIGIN frames

Made from `cli/writers/capabilities.py` and the files of `crawler/testbed/server_lab/texts` by `make docs`; do not edit.
The first table is about HTTP/2 (RFC 8336) unless a line says otherwise. *no* stands on the server's source or its
maintainers' word, *unknown* on finding nothing: absence of a mention is no proof. `originset plan config --server NAME`
writes a file for those that can, and refuses the others with the same words.

| --server | server | sends ORIGIN frames | source |
|---|---|---|---|
"""

_HTTP3 = """
## Over HTTP/3

Whether a server can send ORIGIN frames over HTTP/3 depends on its library. Chromium heeds them from version 131 on
([browser-rules.md](browser-rules.md)).

| library | sends ORIGIN frames (RFC 9412) | source |
|---|---|---|
"""

_LAB = """
# What servers do with a request for another host

Browsers send it on an open connection where the certificate covers both hosts and DNS leads both to one address,
whatever the server says. Each line is a configuration of a few lines, run and asked by `make servers`: a request for
`static`, for `www` and for `other`, which most of the configurations lack, on connections opened for another host.
*served*: the host's own site answers. *site of www*: the wrong site answers. *closed*: no answer. *no connection*: the
handshake fails, as the server asks for a client certificate there or has no certificate for that name. The last column
is of servers that listen for QUIC, too. The configuration, with the directive that decides, is behind the link.
`originset check lint` says the same of a configuration before it is deployed.

Of the servers that it does not read (nghttpx, Apache Traffic Server, Varnish, h2o, lighttpd, programs of one's own) a
list says enough: `check lint --server list`, with a row for each host. Hosts have the same `upstream` where one server
answers for all of them by the request's host, and different ones where the handshake's server name decides
(`sni-fwd` of nghttpx). `client_certificate` is what is demanded for that host (`verify_client` in sni.yaml of Traffic
Server). Several situations have such a list, below their configuration.

| situation | server | static on www's | www on static's | other on www's | static on www's, HTTP/3 |
|---|---|---|---|---|---|
"""

_PAIRS = (("www", "static"), ("static", "www"), ("www", "other"))
_TEXTS = "../crawler/testbed/server_lab/texts"


def page() -> str:
    """The whole page, as Markdown."""
    rows = "".join(
        f"| {name} | {one.title} | {one.sends}{f', since {one.since}' if one.since else ''} | {one.source} |\n"
        for name, one in sorted(CAPABILITIES.items(), key=lambda item: (item[1].sends != "yes", item[0]))
    )
    by_address = f"\nWhere a server cannot, {BY_ADDRESS.replace('what helps there: ', '')}.\n"
    libraries = "".join(f"| {name} | {sends} | {source} |\n" for name, (sends, source) in HTTP3_LIBRARIES.items())
    return f"{_HEAD}{rows}{by_address}{_HTTP3}{libraries}{_LAB}{''.join(map(_situation_row, situations()))}"


def _situation_row(situation: Situation) -> str:
    outcomes = " | ".join(situation.outcome(*pair) for pair in _PAIRS)
    _, _, title = situation.title.partition(": ")
    over_http3 = situation.outcome_over_http3("www", "static") if situation.http3 else ""
    return f"| [{title}]({_TEXTS}/{situation.name}.md) | {situation.version} | {outcomes} | {over_http3} |\n"


if __name__ == "__main__":
    sys.stdout.write(page())
