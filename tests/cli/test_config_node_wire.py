"""What ``config --server node`` writes, deployed: the frame on the wire, and Firefox's connections before and after."""

import contextlib
import json
import os
import shutil
import socket
import ssl
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h2.config
import h2.connection
import h2.events
import pytest

from originset.crawler.firefox import Firefox
from originset.crawler.preflight.client import Connection
from originset.crawler.preflight.observation import origins_in
from originset.crawler.testbed import scenario_file
from originset.crawler.testbed.authority import Authority, Issued
from originset.crawler.testbed.lab import Testbed

SERVER = Path(__file__).parents[1] / "fixtures" / "servers" / "origin_server.mjs"
PLANNED = ["https://api.site.test", "https://static.cdn.test", "https://www.site.test"]

# Two addresses of one AS, one certificate; the test's own server stands at both.
ADDRESSES = ("104.16.1.10", "104.17.2.20")
SCENARIO = """
title = "two addresses, one certificate"
dns = "192.0.2.54"

[certificate.both]
names = ["www.site.test", "static.cdn.test", "api.site.test"]

[host."www.site.test"]
addresses = ["104.16.1.10"]
certificate = "both"
external = true

[host."static.cdn.test"]
addresses = ["104.17.2.20"]
certificate = "both"
external = true

[site."www.site.test"]
loads = [{ style = "https://static.cdn.test/style.css" }]
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
    done = run("config", "--server", "node", "--site", "www.site.test", "--out", path)
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


@pytest.mark.parametrize("deployed", [True, False])
def test_the_server_sends_exactly_the_planned_frame(module: Path, tmp_path: Path, deployed: bool) -> None:
    authority = Authority(tmp_path / "authority")
    issued = authority.issue(["www.site.test", "static.cdn.test", "api.site.test"])
    context = ssl.create_default_context(cafile=str(authority.root))
    with node(issued, module if deployed else None, 0, "127.0.0.1") as server:
        frames = frames_of_type_12(("127.0.0.1", server.port), context, "www.site.test")
        with Connection("127.0.0.1", server.port, "www.site.test", str(authority.root)) as connection:
            payloads = connection.origin_frames.payloads
    payload = b"".join(struct.pack("!H", len(origin)) + origin.encode() for origin in PLANNED)
    assert frames == ([(0, 0, payload)] if deployed else [])
    assert payloads == ([payload] if deployed else [])
    assert list(origins_in(payloads)) == (PLANNED if deployed else [])


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Testbed]:
    with Testbed(scenario_file.parse(SCENARIO), tmp_path_factory.mktemp("wire") / "testbed") as running:
        yield running


@pytest.fixture(scope="module")
def originset(
    lab: Testbed, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """Call ``originset`` with a study of its own."""
    folder = tmp_path_factory.mktemp("measured") / "S"

    def call(*arguments: str | Path) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "originset", "--study", folder, *arguments]
        environment = {**os.environ, **lab.environment}
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True)

    return call


@pytest.fixture(scope="module")
def planned(lab: Testbed, originset: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The plan for the page as Chromium was seen to load it, nothing deployed."""
    sites = tmp_path_factory.mktemp("sites") / "sites.txt"
    sites.write_text("www.site.test\n")
    with node(lab.certificate_of("www.site.test"), None, 443, *ADDRESSES):
        originset("crawl", sites, "--jobs", "1", "--resolver", "none")
    originset("analyze")
    return json.loads(originset("plan", "--site", "www.site.test", "--out", "-").stdout)


@pytest.mark.testbed
@pytest.mark.browser
def test_firefox_saves_what_the_plan_says(
    lab: Testbed, planned: dict[str, Any], originset: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "plan.json").write_text(json.dumps(planned))
    deployed_module = tmp_path / "origins.mjs"
    originset("config", "--server", "node", "--plan", tmp_path / "plan.json", "--out", deployed_module)
    (server,) = planned["servers"]
    assert {entry["origin"] for entry in server["announce"]} == {"https://www.site.test", "https://static.cdn.test"}
    used = {deployed: connections_of_firefox(lab, deployed) for deployed in (None, deployed_module)}
    assert used[None] - used[deployed_module] == server["connections_saved_firefox"] == 1


def connections_of_firefox(lab: Testbed, module: Path | None) -> int:
    """How many connections carried the page's requests."""
    with (
        node(lab.certificate_of("www.site.test"), module, 443, *ADDRESSES) as server,
        Firefox(lab.authority.root, environment=lab.environment) as firefox,
    ):
        loaded = firefox.load("https://www.site.test/")
        assert {one.status for one in loaded} == {200}
        requests = []
        while not {"/", "/style.css", "/image.svg", "/own.svg"} <= {request["path"] for request in requests}:
            requests.append(server.line())
    assert {request["protocol"] for request in requests} == {"2.0"}
    assert {request["host"] for request in requests} == {"www.site.test", "static.cdn.test"}
    return len({request["connection"] for request in requests})
