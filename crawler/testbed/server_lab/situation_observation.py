"""A situation observed: its server is started, and each host requested on a connection that was opened for each."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec

from originset.crawler.probe.tls_client import ProbeAnswer, ProbeConnection
from originset.crawler.testbed.server_lab.lab_servers import running, version_of
from originset.crawler.testbed.server_lab.situation_text import ADDRESS, DOMAIN, HOSTS, OTHER_ADDRESS, Situation
from originset.crawler.testbed.servers.certificate_authority import Authority
from originset.data.errors import ProbeError, TestbedError

_CERTIFICATES = {"all": HOSTS, "wildcard": ("*",), **{host: (host,) for host in HOSTS}}
_CERTIFICATE_LIST = """\
all.pem www.lab.test other.lab.test
all.pem [verify required ca-file client-ca.pem] static.lab.test
"""
_SITES = {hashlib.sha256(f"{host}{end}".encode()).hexdigest(): host for host in HOSTS for end in ("", "\n")}


@contextlib.contextmanager
def lab_addresses() -> Iterator[None]:
    """The lab's addresses are this machine's, in a namespace of ``run_inside``.

    Raises:
        TestbedError: they cannot be.
    """
    _ip("add")
    Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").write_text("0")
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
    (folder / "certificates.txt").write_text(_CERTIFICATE_LIST)
    (folder / "client-ca.pem").write_bytes(authority.root.read_bytes())
    for host in HOSTS:
        (folder / host).mkdir()
        (folder / host / "index.html").write_text(host)
    return authority


def observe(situation: Situation, folder: Path) -> Situation:
    """The situation with what its server, of the installed version, answers. ``folder`` is new.

    Raises:
        MissingDependency: the server is not installed.
        TestbedError: it does not come up.
    """
    folder.mkdir()
    authority = prepare_folder(folder)
    addresses = sorted({situation.address_of(host) for host in HOSTS})
    with running(situation.server, situation.configuration, folder, addresses):
        answers = {host: asyncio.run(_answers(situation, host, authority.root)) for host in HOSTS}
    return msgspec.structs.replace(situation, version=version_of(situation.server), answers=answers)


async def _answers(situation: Situation, opened_for: str, ca_file: Path) -> dict[str, str]:
    """Each host gets a connection of its own, since a server may close it with its answer."""
    return {host: await _answer(situation.address_of(opened_for), opened_for, host, ca_file) for host in HOSTS}


async def _answer(address: str, opened_for: str, host: str, ca_file: Path) -> str:
    try:
        async with ProbeConnection(address, 443, f"{opened_for}.{DOMAIN}", ca_file) as connection:
            return _text(await connection.get(f"{host}.{DOMAIN}", "/"))
    except ProbeError:
        return "none"


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
