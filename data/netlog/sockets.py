"""The records that a NetLog is read into: connections and the requests sent on them."""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

# Prefixes of a socket group's name (net/socket/client_socket_pool.cc); the names are those that NetLog uses elsewhere.
_PRIVACY_MODES = {
    "": "disabled",
    "pm/": "enabled",
    "pmwocc/": "enabled without client certs",
    "pmpsa/": "enabled partitioned state allowed",
}
_GROUP = re.compile(
    r"(?P<privacy>pm[a-z]*/)?(?P<scheme>https?|wss?)://(?P<host>[^ <]+?)(?::(?P<port>\d+))? <(?P<key>.*)>$"
)
_DESTINATION = re.compile(r"(?:https?|wss?)://(?P<host>\[[^\]]+\]|[^:/]+)(?::\d+)?$")
_PEM_BEGIN, _PEM_END = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"


@dataclass(frozen=True, slots=True)
class Group:
    """A key of Chromium's socket pools: what a connection has to share to be shared."""

    host: str
    partition_key: str
    privacy_mode: str


@dataclass(slots=True)
class Socket:
    """One transport connection: a TCP socket with what ran on it, or a QUIC session. Times in NetLog's ms."""

    id: int
    host: str | None = None
    partition_key: str | None = None
    privacy_mode: str | None = None
    remote: tuple[str, int] | None = None
    local_port: int | None = None
    protocol: str | None = None
    tls: bool = False
    tls_version: str | None = None
    resumed: bool | None = None
    ech: bool | None = None
    chain: list[bytes] | None = None  # DER, as sent
    verified: list[bytes] | None = None  # DER, as the browser completed it
    opened: int | None = None
    established: int | None = None
    closed: int | None = None
    used: bool = False
    origin_set: list[str] | None = None
    origin_received: int | None = None  # when the first ORIGIN frame came
    misdirected: list[str] = field(default_factory=list)  # hosts for which it answered 421
    pooled_by_ip: list[str] = field(default_factory=list)  # hosts that joined it because their addresses name its own
    pooled_by_origin: list[str] = field(default_factory=list)  # hosts that joined it because of its ORIGIN frame
    error: str | None = None


@dataclass(slots=True)
class SentRequest:
    """A request as the network stack knows it: one per address, so a redirect makes another."""

    url: str
    method: str
    started: int
    partition_key: str  # of its top-level site
    main_frame: bool
    credentials: str | None = None  # include, omit
    socket: int | None = None
    open_before_log: bool = False  # what carried it was open before the log begins
    source: int | None = None  # of the URL_REQUEST, which a request and those that it is redirected to share


def parse_group(name: object) -> Group | None:
    """The parts of a socket group's name such as ``pm/https://site.test <https://site.test same_site>``."""
    match = _GROUP.match(name) if isinstance(name, str) else None
    if match is None:
        return None
    privacy = match["privacy"] or ""
    return Group(match["host"].strip("[]").lower(), match["key"], _PRIVACY_MODES.get(privacy, privacy.rstrip("/")))


def parse_stream_key(key: object) -> Group | None:
    """The group of an HttpStreamKey (net/http/http_stream_key.cc), by which HappyEyeballsV3's stream pool goes."""
    if not isinstance(key, dict):
        return None
    match = _DESTINATION.match(str(key.get("destination", "")))
    if match is None:
        return None
    partition_key, privacy_mode = str(key.get("network_anonymization_key", "")), str(key.get("privacy_mode", ""))
    return Group(match["host"].strip("[]").lower(), partition_key, privacy_mode)


def top_site(partition_key: str | None) -> str | None:
    """The top-level site of a network anonymization key such as ``https://site.test cross_site``."""
    return None if partition_key is None else partition_key.split(" ")[0]


def endpoint(text: object) -> tuple[str, int] | None:
    """(address, port) of ``104.16.1.10:443`` or ``[2606:4700::1]:443``; None where it is neither."""
    if not isinstance(text, str):
        return None
    host, _, port = text.rpartition(":")
    try:
        number = int(port)
        return (str(ipaddress.ip_address(host.strip("[]").partition("%")[0])), number) if number < 1 << 16 else None
    except ValueError:
        return None


def pem_to_der(pem: str) -> list[bytes]:
    """The certificates of a PEM text, in order."""
    bodies = [rest.partition(_PEM_END) for rest in pem.split(_PEM_BEGIN)[1:]]
    try:
        return [base64.b64decode(body) for body, end, _ in bodies if end]
    except ValueError:  # binascii.Error is one
        return []


def certificate_id(der: bytes) -> str:
    """A certificate's identity in a study: SHA-256 of its DER."""
    return hashlib.sha256(der).hexdigest()


def host_of(url: str) -> str | None:
    """The host of a URL; None where it has none."""
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def note_pooled_hosts(sockets: Mapping[int, Socket], requests: Iterable[SentRequest]) -> None:
    """Note for each connection which other hosts joined it, and why.

    Over HTTP/2 there is one reason: their addresses lead there. Over HTTP/3 the log names the hosts that joined for
    that reason; an ORIGIN frame explains the others.
    """
    carried = [(sockets.get(request.socket or -1), host_of(request.url)) for request in requests]
    # A request that is retried elsewhere no longer names the connection that it joined first.
    refused = [(socket, host) for socket in sockets.values() for host in socket.misdirected]
    announced = {
        socket.id: {host_of(origin) for origin in socket.origin_set} for socket in sockets.values() if socket.origin_set
    }
    noted = {(socket.id, host) for socket in sockets.values() for host in (socket.host, *socket.pooled_by_ip)}
    for socket, host in (*carried, *refused):
        if socket is None or host is None or (socket.id, host) in noted:
            continue
        noted.add((socket.id, host))
        if socket.protocol == "h2":
            socket.pooled_by_ip.append(host)
        elif host in announced.get(socket.id, ()):
            socket.pooled_by_origin.append(host)
