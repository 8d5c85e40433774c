"""What ``config --server node`` writes, deployed: the frame on the wire, and Firefox's connections before and after."""

import asyncio
import contextlib
import json
import os
import shutil
import socket
import ssl
import struct
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import h2.config
import h2.connection
import h2.events
import pytest

from originset.crawler.browsers.firefox import Firefox
from originset.crawler.probe.server_observation import origins_in
from originset.crawler.probe.tls_client import ProbeConnection
from originset.crawler.testbed import scenario_file
from originset.crawler.testbed.servers.certificate_authority import Authority, Issued
from originset.crawler.testbed.testbed import Testbed

SERVER = Path(__file__).parents[2] / "fixtures" / "servers" / "origin_server.mjs"
PLANNED = ["https://api.site.test", "https://static.cdn.test", "https://www.site.test"]

# Sites of two hosts at two addresses of one AS, with one certificate or two; the test's own server stands at both.
SCENARIO = """
title = "two addresses, one certificate or two"
dns = "192.0.2.54"

[certificate.both]
names = ["www.site.test", "static.cdn.test", "api.site.test"]

[host."www.site.test"]
addresses = ["104.19.1.10"]
certificate = "both"
external = true

[host."static.cdn.test"]
addresses = ["104.19.2.20"]
certificate = "both"
external = true

[certificate.www]
names = ["www.split.test"]

[certificate.static]
names = ["static.split.test"]

[host."www.split.test"]
addresses = ["104.19.1.11"]
certificate = "www"
external = true

[host."static.split.test"]
addresses = ["104.19.2.21"]
certificate = "static"
external = true

[site."www.site.test"]
loads = [{ style = "https://static.cdn.test/style.css" }]

[site."www.split.test"]
loads = [{ style = "https://static.split.test/style.css" }]
"""


class Node:
    """A running server."""

    def __init__(self, process: "subprocess.Popen[str]", port: int) -> None:
        self.process = process
        self.port = port

    def line(self) -> dict[str, Any]:
        """The next line that it prints: ready, or a request."""
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())


@contextlib.contextmanager
def node(issued: Issued, module: Path | None, port: int, *addresses: str) -> Iterator[Node]:
    if shutil.which("node") is None:
        pytest.skip("Node is not installed")
    command = ["node", SERVER, issued.chain, issued.key, str(port), module or "-", *addresses]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            running = Node(process, port)
            for address in addresses:
                ready = running.line()
                assert ready["ready"] == address
                running.port = ready["port"]
            yield running
        finally:
            process.kill()


@pytest.fixture
def module(run, tmp_path: Path) -> Path:
    """The file that a user of the study deploys."""
    path = tmp_path / "origins.mjs"
    done = run("plan", "config", "--server", "node", "--site", "www.site.test", "--out", path)
    assert done.returncode == 0, done.stderr
    return path


def frames_of_type_12(address: tuple[str, int], context: ssl.SSLContext, name: str) -> list[tuple[int, int, bytes]]:
    """Stream, flags and payload of every ORIGIN frame that comes before the answer to a first request."""
    context.set_alpn_protocols(["h2"])
    found = []
    with socket.create_connection(address) as plain, context.wrap_socket(plain, server_hostname=name) as tls:
        connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
        connection.initiate_connection()
        connection.send_headers(
            1, [(":method", "GET"), (":scheme", "https"), (":authority", name), (":path", "/")], end_stream=True
        )
        while True:
            tls.sendall(connection.data_to_send())
            for event in connection.receive_data(tls.recv(65_536)):
                if isinstance(event, h2.events.UnknownFrameReceived) and event.frame.type == 12:
                    found.append((event.frame.stream_id, event.frame.flag_byte, event.frame.body))
                if isinstance(event, h2.events.ResponseReceived):
                    return found


async def payloads_read(address: str, port: int, name: str, trust: Path) -> list[bytes]:
    async with ProbeConnection(address, port, name, str(trust)) as connection:
        return connection.origin_frames.payloads


@pytest.mark.parametrize("deployed", [True, False])
def test_the_server_sends_exactly_the_planned_frame(module: Path, tmp_path: Path, deployed: bool) -> None:
    authority = Authority(tmp_path / "authority")
    issued = authority.issue(["www.site.test", "static.cdn.test", "api.site.test"])
    context = ssl.create_default_context(cafile=str(authority.root))
    with node(issued, module if deployed else None, 0, "127.0.0.1") as server:
        frames = frames_of_type_12(("127.0.0.1", server.port), context, "www.site.test")
        payloads = asyncio.run(payloads_read("127.0.0.1", server.port, "www.site.test", authority.root))
    payload = b"".join(struct.pack("!H", len(origin)) + origin.encode() for origin in PLANNED)
    assert frames == ([(0, 0, payload)] if deployed else [])
    assert payloads == ([payload] if deployed else [])
    assert list(origins_in(payloads)) == (PLANNED if deployed else [])


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Testbed]:
    with Testbed(scenario_file.parse(SCENARIO), tmp_path_factory.mktemp("wire") / "testbed") as running:
        yield running


@dataclass
class Deployed:
    """What stands at some of a page's addresses."""

    certificate: Issued
    addresses: tuple[str, ...]
    module: Path | None = None


def originset(lab: Testbed, study: Path, *arguments: str | Path) -> str:
    command = [sys.executable, "-m", "originset", "--study", study, *arguments]
    environment = {**os.environ, **lab.environment}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


def plan_of(lab: Testbed, site: str, study: Path, *servers: Deployed) -> dict[str, Any]:
    """The plan for a page as Chromium was seen to load it."""
    sites = study.with_name(f"{study.name}.txt")
    sites.write_text(f"{site}\n")
    with contextlib.ExitStack() as stack:
        for one in servers:
            stack.enter_context(node(one.certificate, one.module, 443, *one.addresses))
        originset(lab, study, "crawl", sites, "--jobs", "1", "--resolver", "none")
    originset(lab, study, "analyze")
    originset(lab, study, "plan", "site", site, "--out", study.with_name(f"{study.name}.json"))
    return json.loads(study.with_name(f"{study.name}.json").read_text())


def connections_of_firefox(lab: Testbed, site: str, *servers: Deployed) -> int:
    """How many connections carried the page's requests, all over HTTP/2."""
    due = {"/", "/style.css", "/image.svg", "/own.svg"}
    with contextlib.ExitStack() as stack:
        running = [stack.enter_context(node(one.certificate, one.module, 443, *one.addresses)) for one in servers]
        firefox = stack.enter_context(Firefox(lab.authority.root, environment=lab.environment))
        loaded = firefox.load(f"https://{site}/")
        assert {one.status for one in loaded} == {200}
        requests = []
        for server in running:
            # Of several servers each has what is on its own host.
            own = (
                due
                if len(running) == 1
                else ({"/", "/own.svg"} if server is running[0] else {"/style.css", "/image.svg"})
            )
            found: list[dict[str, Any]] = []
            while not own <= {request["path"] for request in found}:
                found.append(server.line())
            requests += [request | {"server": id(server)} for request in found]
    assert {request["protocol"] for request in requests} == {"2.0"}
    assert len({request["host"] for request in requests}) == 2
    return len({(request["server"], request["connection"]) for request in requests})


@pytest.mark.testbed
@pytest.mark.browser
def test_firefox_saves_what_the_plan_says(lab: Testbed, tmp_path: Path) -> None:
    site, module = "www.site.test", tmp_path / "origins.mjs"
    before = Deployed(lab.certificate_of(site), ("104.19.1.10", "104.19.2.20"))
    plan = plan_of(lab, site, tmp_path / "S", before)
    originset(lab, tmp_path / "S", "plan", "config", "--server", "node", "--plan", tmp_path / "S.json", "--out", module)
    (server,) = plan["servers"]
    assert {entry["origin"] for entry in server["announce"]} == {"https://www.site.test", "https://static.cdn.test"}
    used = [connections_of_firefox(lab, site, replace(before, module=chosen)) for chosen in (None, module)]
    assert used[0] - used[1] == server["connections_saved_firefox"] == 1


@pytest.mark.testbed
@pytest.mark.browser
def test_firefox_saves_what_the_plan_says_of_a_name_to_add(
    lab: Testbed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The operator's whole way: the certificate first, the names announced once it covers them."""
    site, second, module = "www.split.test", "static.split.test", tmp_path / "origins.mjs"
    monkeypatch.setenv("SECOND", second)
    before = [
        Deployed(lab.certificate_of(site), ("104.19.1.11",)),
        Deployed(lab.certificate_of(second), ("104.19.2.21",)),
    ]
    first = plan_of(lab, site, tmp_path / "first", *before)
    (addition,) = first["additions"]
    assert (addition["name"], addition["validatable_by"]) == (second, "site")
    asked = ("plan", "certificate", "--for", "json", "--plan", tmp_path / "first.json")
    (wanted,) = json.loads(originset(lab, tmp_path / "first", *asked))["certificates"]
    issued = Deployed(lab.authority.issue(wanted["names"]), ("104.19.1.11", "104.19.2.21"))
    then = plan_of(lab, site, tmp_path / "then", issued)
    assert then["additions"] == []
    originset(
        lab, tmp_path / "then", "plan", "config", "--server", "node", "--plan", tmp_path / "then.json", "--out", module
    )
    used = [
        connections_of_firefox(lab, site, *before),
        connections_of_firefox(lab, site, replace(issued, module=module)),
    ]
    assert (
        used[0] - used[1]
        == addition["connections_saved_firefox"]
        == then["servers"][0]["connections_saved_firefox"]
        == 1
    )
