"""A situation observed: its server is started, and each host requested on a connection that was opened for each."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec

from originset.crawler.probe.http3_client import Http3Connection
from originset.crawler.probe.tls_client import ProbeAnswer, ProbeConnection
from originset.crawler.testbed.server_lab.lab_servers import running, version_of
from originset.crawler.testbed.server_lab.situation_text import (
    ADDRESS,
    DOMAIN,
    HOSTS,
    OTHER_ADDRESS,
    Answers,
    Situation,
)
from originset.crawler.testbed.servers.certificate_authority import Authority
from originset.data.errors import ProbeError, TestbedError

_CERTIFICATES = {"all": HOSTS, "wildcard": ("*",), **{host: (host,) for host in HOSTS}}
_CERTIFICATE_LISTS = {
    "certificates.txt": """\
all.pem www.lab.test other.lab.test
all.pem [verify required ca-file client-ca.pem] static.lab.test
""",
    "certificates-apart.txt": """\
www.pem
static.pem [verify required ca-file client-ca.pem]
""",
}
_HTTPS = 443
_BEHIND = ("127.0.0.1", 8001)
_SITES = {hashlib.sha256(f"{host}{end}".encode()).hexdigest(): host for host in HOSTS for end in ("", "\n")}


@contextlib.contextmanager
def lab_addresses() -> Iterator[None]:
    """The lab's addresses are this machine's, in a namespace of ``run_inside``.

    Raises:
        TestbedError: they cannot be.
    """
    _ip("add")
    try:
        yield
    finally:
        _ip("del")


def prepare_folder(folder: Path, authority: Authority | None = None) -> Authority:
    """Put into a folder all that configurations of the lab name; the authority that clients are to trust."""
    authority = authority or Authority(folder / "authority")
    for name, hosts in _CERTIFICATES.items():
        issued = authority.issue([f"{host}.{DOMAIN}" for host in hosts])
        (folder / f"{name}.pem").write_bytes(issued.chain.read_bytes() + issued.key.read_bytes())
    for name, text in _CERTIFICATE_LISTS.items():
        (folder / name).write_text(text)
    (folder / "client-ca.pem").write_bytes(authority.root.read_bytes())
    for host in HOSTS:
        (folder / host).mkdir()
        (folder / host / "index.html").write_text(host)
    return authority


@contextlib.contextmanager
def running_situation(situation: Situation, folder: Path, authority: Authority | None = None) -> Iterator[Authority]:
    """Start a situation's server, and the one behind it, in a folder of their own; the authority to trust.

    In a namespace of ``run_inside``, whose port 443 is everybody's from then on.

    Raises:
        MissingDependency: a server is not installed.
        TestbedError: it does not come up.
    """
    folder.mkdir()
    authority = prepare_folder(folder, authority)
    addresses = sorted({situation.address_of(host) for host in HOSTS})
    Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").write_text("0")
    with contextlib.ExitStack() as stack:
        if situation.behind is not None:
            stack.enter_context(running(*situation.behind, folder, [_BEHIND]))
        front = running(situation.server, situation.configuration, folder, [(address, _HTTPS) for address in addresses])
        stack.enter_context(front)
        yield authority


def observe(situation: Situation, folder: Path) -> Situation:
    """The situation with what its server, of the installed version, answers. ``folder`` is new.

    Raises:
        MissingDependency: the server is not installed.
        TestbedError: it does not come up.
    """
    with running_situation(situation, folder) as authority:
        answers = asyncio.run(_answers(situation, authority.root, ProbeConnection))
        http3 = asyncio.run(_answers(situation, authority.root, Http3Connection)) if _listens_for_quic() else {}
    return msgspec.structs.replace(situation, version=version_of(situation.server), answers=answers, http3=http3)


def _listens_for_quic() -> bool:
    """Whether a socket of the lab's namespace is bound to UDP port 443."""
    lines = [line for name in ("udp", "udp6") for line in Path("/proc/net", name).read_text().splitlines()[1:]]
    return any(line.split()[1].endswith(f":{_HTTPS:04X}") for line in lines)


async def _answers(situation: Situation, ca_file: Path, kind: type[ProbeConnection | Http3Connection]) -> Answers:
    """Each request has a connection of its own, since a server may close it with its answer.

    Where the host itself gets no answer on a connection for it, the others are not asked for.
    """
    found = {}
    for opened_for in HOSTS:
        address = situation.address_of(opened_for)
        found[opened_for] = dict.fromkeys(HOSTS, "none")
        for host in sorted(HOSTS, key=opened_for.__ne__):
            try:
                async with kind(address, _HTTPS, f"{opened_for}.{DOMAIN}", ca_file) as connection:
                    found[opened_for][host] = _text(await connection.get(f"{host}.{DOMAIN}", "/"))
            except ProbeError:
                if host == opened_for:
                    break
    return found


def _text(answer: ProbeAnswer) -> str:
    site = _SITES.get(answer.body_sha256) if answer.status == 200 else None
    return str(answer.status) if site is None else f"{answer.status} {site}"


def _ip(verb: str) -> None:
    for address in (ADDRESS, OTHER_ADDRESS):
        done = subprocess.run(
            ["ip", "address", verb, f"{address}/32", "dev", "lo"], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise TestbedError(f"ip failed: {done.stderr.strip()}")
