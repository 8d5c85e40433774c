"""The recipes of docs/howto-operator.md: what servers that are configured so write is a log for ``experiment log``."""

from __future__ import annotations

import asyncio
import http.client
import json
import re
import socket
import ssl
import subprocess
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from originset.crawler.probe.tls_client import ProbeConnection
from originset.crawler.testbed.server_lab.lab_servers import program_of
from originset.crawler.testbed.servers.certificate_authority import Authority
from originset.data.errors import MissingDependency
from originset.queries.operator_log import Window, new_connections

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs" / "howto-operator.md"
_SECTION = PAGE.read_text().partition("## Logs for experiment log\n")[2].partition("\n## ")[0]
#: Of each server its configuration and a line as it comes out.
RECIPES = {
    title: re.findall(r"```[a-z]+\n(.*?)```", text, re.DOTALL)
    for title, text in re.findall(r"### (\w+)\n(.*?)(?=\n### |\Z)", _SECTION, re.DOTALL)
}
HOSTS = ("static.edge.example", "www.shop.example")
ENVOY = """\
static_resources:
  listeners:
  - address: {{socket_address: {{address: 127.0.0.1, port_value: {port}}}}}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: all
          route_config:
            virtual_hosts:
            - {{name: all, domains: ["*"], routes: [{{match: {{prefix: /}}, direct_response: {{status: 204}}}}]}}
          http_filters:
          - name: envoy.filters.http.router
            typed_config: {{"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}}
{recipe}"""


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def nginx(recipe: str, folder: Path, port: int) -> list[str]:
    recipe = recipe.replace("/var/log/nginx", str(folder))
    (folder / "nginx.conf").write_text(
        f"daemon off; pid {folder}/pid; error_log {folder}/errors;\nevents {{}}\n"
        f"http {{\n{recipe}\nserver {{ listen 127.0.0.1:{port}; location / {{ return 204; }} }}\n}}\n"
    )
    return ["nginx", "-p", str(folder), "-c", str(folder / "nginx.conf")]


def haproxy(recipe: str, folder: Path, port: int) -> list[str]:
    lines = "".join(f"  {line}\n" for line in recipe.splitlines())
    (folder / "haproxy.cfg").write_text(
        "global\n  log stdout format raw local0\ndefaults\n  mode http\n  timeout client 5s\n"
        f"frontend f\n  bind 127.0.0.1:{port}\n  log global\n{lines}  http-request return status 204\n"
    )
    return ["haproxy", "-f", str(folder / "haproxy.cfg")]


def h2o(recipe: str, folder: Path, port: int) -> list[str]:
    recipe = recipe.replace("/var/log/h2o", str(folder))
    hosts = json.dumps({"default": {"paths": {"/": {"file.dir": str(folder)}}}})
    (folder / "h2o.yaml").write_text(f"listen: {{host: 127.0.0.1, port: {port}}}\nuser: root\n{recipe}hosts: {hosts}\n")
    return ["h2o", "-c", str(folder / "h2o.yaml")]


def envoy(recipe: str, folder: Path, port: int) -> list[str]:
    """Envoy's, which is installed beside this Python."""
    lines = textwrap.indent(recipe.replace("/var/log/envoy", str(folder)), " " * 10)
    (folder / "envoy.yaml").write_text(ENVOY.format(port=port, recipe=lines))
    return [
        program_of("envoy"),
        "-c",
        str(folder / "envoy.yaml"),
        "--disable-hot-restart",
        "-l",
        "warn",
        "--file-flush-interval-msec",
        "100",
    ]


@contextmanager
def running(command: list[str], folder: Path, port: int) -> Iterator[None]:
    """A server that is up."""
    with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
        process = subprocess.Popen(command, cwd=folder, stdout=out, stderr=err)
    try:
        for _ in range(200):
            with socket.socket() as tried:
                if tried.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert process.poll() is None, (folder / "stderr").read_text()
            time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.wait(timeout=20)


def connections(log: Path, folder: Path) -> tuple[int, int]:
    """New connections, all of them and those of the first host."""
    found = []
    start = datetime.now(UTC) - timedelta(hours=1)
    for host in (None, HOSTS[0]):
        room = folder / f"room {host}"
        room.mkdir()
        window = Window(start, start + timedelta(hours=2))
        found.append(new_connections(log, window, room, host=host, every_s=7200).rows["Control"].sum())
    return found[0], found[1]


def wait_for(log: Path) -> None:
    """Until the four requests are in it."""
    for _ in range(200):
        if log.exists() and sum(log.read_text().count(host) for host in HOSTS) >= 4:
            return
        time.sleep(0.05)


def ask(connection: http.client.HTTPConnection, host: str) -> None:
    connection.request("GET", "/", headers={"Host": host})
    connection.getresponse().read()


@pytest.mark.parametrize(
    ("title", "configured", "log"),
    [
        ("nginx", nginx, "coalescing.jsonl"),
        ("HAProxy", haproxy, "stdout"),
        ("h2o", h2o, "coalescing.jsonl"),
        ("Envoy", envoy, "coalescing.jsonl"),
    ],
)
def test_a_servers_log(title, configured, log: str, tmp_path: Path) -> None:
    try:
        program_of(title.lower())
    except MissingDependency as missing:
        pytest.skip(str(missing))
    port = free_port()
    with running(configured(RECIPES[title][0], tmp_path, port), tmp_path, port):
        first, second = (http.client.HTTPConnection("127.0.0.1", port, timeout=20) for _ in range(2))
        ask(first, HOSTS[0])
        ask(first, HOSTS[1])
        ask(second, HOSTS[1])
        ask(second, HOSTS[0])
        first.close()
        second.close()
        wait_for(tmp_path / log)
    lines = [json.loads(line) for line in (tmp_path / log).read_text().splitlines() if line.startswith("{")]
    asked = [one for one in lines if one["host"] in HOSTS]
    assert [one["host"] for one in asked] == [HOSTS[0], HOSTS[1], HOSTS[1], HOSTS[0]]
    assert set(asked[0]) == set(json.loads(RECIPES[title][1]))
    (tmp_path / "asked").write_text("".join(f"{json.dumps(one)}\n" for one in asked))
    assert connections(tmp_path / "asked", tmp_path) == (2, 1)


def test_nodes_log(tmp_path: Path) -> None:
    """Over HTTP/2 and over HTTP/1.1."""
    authority, port = Authority(tmp_path), free_port()
    issued = authority.issue(HOSTS)
    (tmp_path / "server.mjs").write_text(
        'import { createSecureServer } from "node:http2";\nimport { readFileSync } from "node:fs";\n'
        f"const key = readFileSync({json.dumps(str(issued.key))});\n"
        f"const cert = readFileSync({json.dumps(str(issued.chain))});\n"
        "const server = createSecureServer({ key, cert, allowHTTP1: true });\n"
        f'{RECIPES["Node"][0]}server.on("request", (_, answer) => answer.end("x"));\n'
        f'server.listen({port}, "127.0.0.1");\n'
    )

    async def over_http2() -> None:
        async with ProbeConnection("127.0.0.1", port, HOSTS[0], str(authority.root)) as connection:
            assert connection.protocol == "h2"
            for host in HOSTS:
                await connection.get(host, "/")

    with running(["node", str(tmp_path / "server.mjs")], tmp_path, port):
        asyncio.run(over_http2())
        context = ssl.create_default_context(cafile=str(authority.root))
        context.check_hostname = False
        older = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=20)
        ask(older, HOSTS[1])
        ask(older, HOSTS[0])
        older.close()
        wait_for(tmp_path / "coalescing.jsonl")
    assert connections(tmp_path / "coalescing.jsonl", tmp_path) == (2, 1)


@pytest.mark.parametrize("title", sorted(RECIPES))
def test_the_line_that_the_page_shows(title: str, tmp_path: Path) -> None:
    (tmp_path / "log").write_text(RECIPES[title][1])
    start = datetime(2026, 11, 4, 8, tzinfo=UTC)
    window = Window(start, start + timedelta(hours=8))
    rows = new_connections(tmp_path / "log", window, tmp_path, host=HOSTS[0], every_s=8 * 3600).rows
    assert (rows["Control"].to_list(), rows["Time"].to_list()) == ([1], [start.replace(tzinfo=None)])


def test_there_is_a_recipe_for_each_server() -> None:
    assert set(RECIPES) == {"nginx", "HAProxy", "h2o", "Node", "Envoy"}
