"""Configurations that `check lint` reads: nginx, Apache, HAProxy, Caddy, Envoy, the Gateway API, and lists of hosts."""

from __future__ import annotations

import random
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path

from lab_lint import READERS, lab_folder

from doors import Bound
from originset.crawler.testbed.server_lab.lab_servers import SERVERS
from originset.crawler.testbed.server_lab.situation_text import situations
from originset.models.servers.configuration_files import ConfigurationFolder
from originset.models.servers.gateway_resources import read_gateway
from originset.models.servers.host_list import read_host_list
from originset.models.servers.listeners import Configuration
from originset.models.servers.shared_connections import shared_connections

FOLDERS = ("models/servers",)
LONGEST = 1 << 12
MEMORY = Bound(16 << 20, 4_000)
LINES = Bound(100_000, 2_000)

_KINDS: dict[str, Callable[[Path, ConfigurationFolder], Configuration]] = {
    **READERS, "gateway": read_gateway, "list": read_host_list,
}  # fmt: skip
_NAMES = tuple(_KINDS)
_WORD = re.compile(rb"[\w.*$-]+")
_GATEWAY = """apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: g}
spec:
  listeners:
  - {name: a, port: 443, protocol: HTTPS, hostname: "*.a.test", tls: {certificateRefs: [{name: c}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r}
spec:
  parentRefs: [{name: g}]
  hostnames: [x.a.test, y.a.test]
  rules: [{backendRefs: [{name: s, port: 80}]}]
"""
_LIST = """host,address,certificate,upstream,client_certificate
a.test,192.0.2.1,a.test b.test c.test,one,
b.test,192.0.2.1,b.test,one,our CA
c.test,192.0.2.1,missing.pem,two,
"""


def read(data: bytes, *, whole: bool) -> None:
    """The first byte says which server's, the rest is the text. Raises InputError where it is refused."""
    if not data:
        return
    folder = _folder()
    path = folder / "linted.conf"
    path.write_bytes(data[1:])
    found = _KINDS[_NAMES[data[0] % len(_NAMES)]](path, ConfigurationFolder(folder))
    if whole or sum(len(listener.hosts) for listener in found.listeners) < 30:
        for _ in shared_connections(found):
            pass


@cache
def _folder() -> Path:
    return lab_folder(Path(tempfile.mkdtemp(prefix="originset-fuzz-", dir="/dev/shm")))


def _of(kind: str, text: bytes) -> bytes:
    return bytes([_NAMES.index(kind)]) + text


def seeds() -> Iterator[bytes]:
    """The lab's configurations, a Gateway with a route, a list."""
    for situation in situations():
        if situation.server in READERS:
            preamble = SERVERS[situation.server].preamble.replace("{folder}", ".")
            yield _of(situation.server, (preamble + situation.configuration).encode())
    yield _of("gateway", _GATEWAY.encode())
    yield _of("list", _LIST.encode())


def mutate(source: random.Random, data: bytes) -> bytes:
    """People's mistakes: a line lost, doubled or moved, a word in another's place."""
    kind, lines = data[:1], data[1:].split(b"\n")
    for _ in range(source.choice((1, 2, 4))):
        place, other = (source.randrange(len(lines)) for _ in range(2))
        what = source.randrange(5)
        if what == 0 and len(lines) > 1:
            del lines[place]
        elif what == 1:
            lines.insert(place, lines[other])
        elif what == 2:
            lines[place] = lines[place][: source.randrange(len(lines[place]) + 1)]
        else:
            words, others = [*_WORD.finditer(lines[place])], _WORD.findall(lines[other])
            if words and others:
                word = source.choice(words)
                lines[place] = lines[place][: word.start()] + source.choice(others) + lines[place][word.end() :]
    return kind + b"\n".join(lines)


def bombs(size: int) -> Mapping[str, bytes]:
    """For each server: nesting, one sign, blocks and names over and over, references that double."""
    signs = {"braces": b"a {", "quotes": b'"', "backslashes": b"\\", "spaces": b" ", "lines": b"\n", "dollars": b"${a}",
             "angles": b"<a b>\n", "brackets": b"[", "words": b"a ", "items": b"- ", "commas": b","}  # fmt: skip
    found = {f"{kind}-{name}": _of(kind, sign * (size // len(sign))) for kind in _NAMES for name, sign in signs.items()}
    blocks = {
        "nginx": b"server { listen 443 ssl http2; server_name %d.test; ssl_certificate all.pem; }\n",
        "apache": b"<VirtualHost *>\nServerName %d.test\nSSLEngine on\nSSLCertificateFile all.pem\n</VirtualHost>\n",
        "haproxy": b"frontend f%d\n  bind :443 ssl crt all.pem alpn h2\n",
        "caddy": b"%d.test {\n\ttls all.pem\n}\n",
        "list": b"%d.test,192.0.2.1,a.test,one\n",
    }
    for kind, block in blocks.items():
        text = b"".join(block % n for n in range(min(60, size // len(block))))
        found[f"{kind}-hosts"] = _of(kind, (b"host,address,certificate,upstream\n" if kind == "list" else b"") + text)
    found["list-row"] = _of("list", b"host,address,certificate,upstream\na.test,192.0.2.1," + b"a.test " * (size // 7))
    found["nginx-names"] = _of("nginx", b"http { server { server_name " + b"a.test " * (size // 7) + b"; } }")
    found["caddy-imports"] = _of("caddy", b"(a) {\n" + b"\timport a\n" * (size // 10) + b"}\na.test {\n\timport a\n}\n")
    return found
