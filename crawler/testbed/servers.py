"""The process that runs a testbed's servers; the lab starts ``python -m originset.crawler.testbed.servers FOLDER``.

It says ``ready`` when all listen, answers every line on its standard input once everything that reached it before is
in the logs, and ends when its standard input does, so that it cannot outlive the lab.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import msgspec

from originset.crawler.testbed.dns_server import DnsServer
from originset.crawler.testbed.node_server import NodeServer
from originset.crawler.testbed.scenario import Scenario
from originset.crawler.testbed.truth import Log
from originset.crawler.testbed.web_server import WebServer, certificates_in

SCENARIO = "scenario.json"
CERTIFICATES = "certificates"
LOGS = "logs"

# A record is written a few turns of the event loop after its bytes arrived: TLS, stream, handler.
_TURNS = 20


async def _run(folder: Path) -> None:
    scenario = msgspec.json.decode((folder / SCENARIO).read_bytes(), type=Scenario)
    log = Log(folder / LOGS)
    await DnsServer(scenario, log).start()
    certificates = certificates_in(folder / CERTIFICATES, scenario)
    await WebServer(scenario, certificates, log).start()
    node = await NodeServer.start(scenario, certificates, folder, folder / LOGS, 443)
    _say("ready")
    loop = asyncio.get_running_loop()
    control = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(control), sys.stdin)
    while await control.readline():
        for _ in range(_TURNS):
            await asyncio.sleep(0)
        if node is not None:
            await node.written()
        _say("written")


def _say(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(_run(Path(sys.argv[1])))
