"""Node's HTTP/2 at those addresses of a scenario that ask for it: a second implementation of the ORIGIN frame."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Mapping
from pathlib import Path

from originset.crawler.programs import require_programs
from originset.crawler.testbed import server_logs
from originset.crawler.testbed.scenario import Host, Scenario
from originset.crawler.testbed.servers.certificate_authority import Issued
from originset.crawler.testbed.servers.latency_relay import OFFSET, Relay
from originset.crawler.testbed.servers.responses import content_of
from originset.data.errors import TestbedError

_SCRIPT = Path(__file__).with_name("node_server.mjs")

# Its connections are numbered apart from ours, which start from 1.
_FIRST_CONNECTION = 1_000_000


class NodeServer:
    """One process for all addresses; it ends when its standard input does, so with us."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def start(
        cls,
        scenario: Scenario,
        certificates: Mapping[str, Issued],
        folder: Path,
        logs: Path,
        relay: Relay | None,
    ) -> NodeServer | None:
        """Listen on 443 of the addresses of Node's hosts, or behind the relay there; None if the scenario has none.

        Raises ``MissingDependency`` without Node, ``TestbedError`` where it does not start.
        """
        hosts = [host for host in scenario.hosts.values() if host.implementation == "node"]
        if not hosts:
            return None
        require_programs("node")
        config = folder / "node.json"
        described = _config(scenario, hosts, certificates, logs, 443 if relay is None else 443 + OFFSET)
        config.write_text(json.dumps(described))
        process = await asyncio.create_subprocess_exec(
            "node", str(_SCRIPT), str(config), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        server = cls(process)
        if await server._word() != b"ready\n":
            raise TestbedError("Node's server did not start")
        if relay is not None:
            for address in {address for host in hosts for address in host.addresses}:
                await relay.tcp(address, 443)
        return server

    async def written(self) -> None:
        """Return once everything that reached it before is in the logs."""
        if self._process.stdin is not None:
            self._process.stdin.write(b"\n")
            await self._word()

    async def _word(self) -> bytes:
        return b"" if self._process.stdout is None else await self._process.stdout.readline()


def _config(
    scenario: Scenario, hosts: list[Host], certificates: Mapping[str, Issued], logs: Path, port: int
) -> dict[str, object]:
    return {
        "port": port,
        "addresses": list(dict.fromkeys(address for host in hosts for address in host.addresses)),
        "fallback": hosts[0].certificate,
        "firstConnection": _FIRST_CONNECTION,
        "handshakes": str(server_logs.log_path(logs, server_logs.TlsHandshake)),
        "requests": str(server_logs.log_path(logs, server_logs.LoggedRequest)),
        "certificates": {
            name: {"chain": str(certificates[name].chain), "key": str(certificates[name].key)}
            for name in {host.certificate or "" for host in hosts}
        },
        "hosts": {
            host.name: {
                "addresses": list(host.addresses),
                "certificate": host.certificate,
                "origins": None if host.promised is None else list(host.promised),
                "answersFor": [one.name for one in hosts if host.answers_for(one.name)],
                "ownConnection": host.own_connection,
                "delayMs": host.delay_ms,
                "answers": {path: _answer(scenario, host, path) for name, path in scenario.served if name == host.name},
            }
            for host in hosts
        },
    }


def _answer(scenario: Scenario, host: Host, path: str) -> dict[str, object]:
    answer = content_of(scenario.served[host.name, path], host)
    body = base64.b64encode(answer.body).decode("ascii")
    return {"status": answer.status, "headers": dict(answer.headers), "body": body}
