"""The process that runs a testbed's servers.

    python -m originset.crawler.testbed.servers.server_process FOLDER ONE_WAY_MS DOWN UP

With ONE_WAY_MS other than 0 a relay before the servers makes for latency; DOWN and UP are the bits a second that it
lets through, 0 for all. It says ``ready`` when all listen, answers every line on its standard input once everything
that reached it before is in the logs, and ends when its standard input does, so that it cannot outlive the lab, which
starts it.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import msgspec

from originset.crawler.testbed.scenario import Scenario
from originset.crawler.testbed.server_logs import ServerLog
from originset.crawler.testbed.servers.dns_server import DnsServer
from originset.crawler.testbed.servers.latency_relay import OFFSET, Link, Relay
from originset.crawler.testbed.servers.node_server import NodeServer
from originset.crawler.testbed.servers.web_server import WebServer, certificate_folder

SCENARIO = "scenario.json"
CERTIFICATES = "certificates"
LOGS = "logs"

# A record is written a few turns of the event loop after its bytes arrived: TLS, stream, handler.
_TURNS = 20


async def _run(folder: Path, one_way_ms: float, down: float, up: float) -> None:
    scenario = msgspec.json.decode((folder / SCENARIO).read_bytes(), type=Scenario)
    log = ServerLog(folder / LOGS)
    relay = Relay(one_way_ms / 1000, Link(down), Link(up)) if one_way_ms else None
    await DnsServer(scenario, log).start(53 if relay is None else 53 + OFFSET)
    if relay is not None:
        await relay.udp(scenario.dns_address, 53)
        await relay.tcp(scenario.dns_address, 53)
    certificates = certificate_folder(folder / CERTIFICATES, scenario)
    await WebServer(scenario, certificates, log).start(relay)
    node = await NodeServer.start(scenario, certificates, folder, folder / LOGS, relay)
    _write_line("ready")
    loop = asyncio.get_running_loop()
    control = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(control), sys.stdin)
    while await control.readline():
        for _ in range(_TURNS):
            await asyncio.sleep(0)
        if node is not None:
            await node.written()
        _write_line("written")


def _write_line(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(_run(Path(sys.argv[1]), *map(float, sys.argv[2:5])))
