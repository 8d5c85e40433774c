"""nginx: a request's site is the server block with its host's name, whatever the handshake's server name was.

With ``ssl_verify_client`` a request whose host is not the handshake's server name is answered 421
(ngx_http_request.c, ngx_http_set_virtual_server), and so it is where the block compares ``$ssl_server_name``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import crossplane
from crossplane.analyzer import DIRECTIVES

from originset.data.errors import InputError
from originset.data.host_names import address_and_port, is_port, normalise_host
from originset.models.servers.configuration_files import MAX_DEPTH, ConfigurationFolder
from originset.models.servers.listeners import (
    Answer,
    Configuration,
    Endpoint,
    Handshake,
    NotUnderstood,
    Place,
    best_match,
)

# Directives that crossplane does not know, and those of modules by which no request gets to another site.
_FURTHER = {
    "http2", "http3", "quic_retry", "quic_gso", "quic_host_key", "quic_active_connection_id_limit",
    "http3_max_concurrent_streams", "http3_stream_buffer_size", "ssl_reject_handshake", "ssl_conf_command",
    "proxy_ssl_conf_command", "ssl_certificate_cache", "ssl_object_cache_inheritable", "brotli", "brotli_static",
    "brotli_types", "brotli_comp_level", "brotli_buffers", "brotli_window", "brotli_min_length", "more_set_headers",
    "more_clear_headers",
}  # fmt: skip
_CODE = re.compile(r"perl|js_|stream\b|mail\b|ssl_preread")
# What a request's answer may depend on although its host does not: the connection.
_OF_CONNECTION = re.compile(r"\$\{?(ssl_\w+|connection(_\w+)?|proxy_protocol_\w+)\b")
# A map's name; and what differs between the connections of one host, too.
_NOT_OF_NAME = re.compile(r"\$\{?(connection_upgrade|connection(_requests|_time)?|ssl_early_data|ssl_session_reused)\b")
_COMPARES_NAMES = ({"$ssl_server_name", "$host"}, {"$ssl_server_name", "$http_host"})
_UPPER = (
    "ssl_certificate",
    "ssl_verify_client",
    "ssl_client_certificate",
    "ssl_trusted_certificate",
    "http2",
    "error_page",
)


@dataclass(slots=True)
class _Server:
    """A server block: values of its own directives, or those of the http block above it."""

    place: Place
    names: list[str] = field(default_factory=list)
    listens: list[list[str]] = field(default_factory=list)
    values: dict[str, list[list[str]]] = field(default_factory=dict)
    compares_names: bool = False

    def first(self, directive: str) -> str | None:
        """The first argument of a directive's first mention."""
        return self.values[directive][0][0] if self.values.get(directive) else None

    @property
    def replaces_421(self) -> bool:
        """Whether an answer 421 becomes another one."""
        return any("421" in one for one in self.values.get("error_page", ()))

    @property
    def verifies(self) -> str | None:
        """What it demands of clients, None for nothing."""
        mode = self.first("ssl_verify_client")
        if mode in (None, "off"):
            return None
        return f"{mode} {self.first('ssl_client_certificate')} {self.first('ssl_trusted_certificate')}"


@dataclass(slots=True)
class _NginxListener:
    """The server blocks of one address and port; the first is the default unless one says that it is."""

    endpoint: Endpoint
    folder: ConfigurationFolder
    servers: list[_Server]
    default: _Server
    http2: bool

    @property
    def hosts(self) -> dict[str, Place]:
        return {name: server.place for server in reversed(self.servers) for name in server.names}

    def _server(self, host: str) -> _Server:
        found = best_match((name for server in self.servers for name in server.names), host)
        return next((server for server in self.servers if found in server.names), self.default)

    def handshake(self, server_name: str) -> Handshake | None:
        server = self._server(server_name)
        if server.first("ssl_reject_handshake") == "on":
            return None
        files = [one[0] for one in server.values.get("ssl_certificate", [])]
        http2 = self.http2 or server.first("http2") == "on"
        return Handshake(self.folder.certificate(files) if files else None, server.verifies, http2)

    def answer(self, server_name: str, host: str) -> Answer:
        server = self._server(host)
        if server_name != host and (server.compares_names or server.verifies is not None):
            return Answer() if any(one.replaces_421 for one in self.servers) else Answer(status=421)
        return Answer(site=str(server.place))


class _Reader:
    def __init__(self, folder: ConfigurationFolder) -> None:
        self._folder = folder
        self._above: dict[str, list[list[str]]] = {}
        self.servers: list[_Server] = []
        self.not_understood: list[NotUnderstood] = []

    def statements(self, path: Path, depth: int = 0) -> Iterator[tuple[Place, dict[str, Any]]]:
        """The statements of a file, and of those that it includes, in order.

        Raises:
            InputError: it is none of nginx's, or is included too deeply.
        """
        if depth > MAX_DEPTH:
            raise InputError(str(path), "not-nginx", "is included too deeply, or by itself")
        self._folder.text(path)  # its size and encoding
        try:
            parsed = crossplane.parse(
                str(path), single=True, catch_errors=False, check_ctx=False, check_args=False, comments=False
            )
        except (RecursionError, ValueError, IndexError) as error:
            raise InputError(str(path), "not-nginx", "is no nginx configuration") from error
        if parsed["errors"]:
            why = str(parsed["errors"][0]["error"]).replace("\n", " ")
            raise InputError(str(path), "not-nginx", f"is no nginx configuration: {why}")
        yield from self._with_includes(self._folder.name(path), parsed["config"][0]["parsed"], depth)

    def _with_includes(
        self, file: str, block: list[dict[str, Any]], depth: int = 0
    ) -> Iterator[tuple[Place, dict[str, Any]]]:
        for one in block:
            place = Place(file, one["line"])
            if one["directive"] != "include":
                yield place, {**one, "file": file}
                continue
            paths = self._folder.matching(one["args"][0]) if len(one["args"]) == 1 else None
            if paths is None:
                self._note_not_understood(place, one, "leads out of what --folder names, or to no file")
            for path in paths or ():
                yield from self.statements(path, depth + 1)

    def _note_not_understood(self, place: Place, one: dict[str, Any], why: str) -> None:
        self.not_understood.append(
            NotUnderstood(place, f"{one['directive']} {' '.join(one['args'])}".strip() + f" {why}")
        )

    def _inspect(self, place: Place, one: dict[str, Any]) -> None:
        """Note whatever may depend on the connection, in this statement and those within it."""
        name, args = one["directive"], one["args"]
        if _CODE.match(name) or (name not in DIRECTIVES and name not in _FURTHER):
            self._note_not_understood(place, one, "is not known here")
            return
        if name == "ssl" and args != ["off"]:
            self._note_not_understood(place, one, "is not understood: TLS is looked for at listen")
        if name != "log_format" and any(_OF_CONNECTION.search(_NOT_OF_NAME.sub("", each)) for each in args):
            self._note_not_understood(place, one, "depends on the connection")
        if name in ("map", "geo", "split_clients", "types"):  # their blocks hold values, not directives
            for inner in one.get("block", ()):
                if any(_OF_CONNECTION.search(each) for each in (inner["directive"], *inner["args"])):
                    self._note_not_understood(Place(one["file"], inner["line"]), inner, "depends on the connection")
                if inner["directive"] == "include":
                    self._note_not_understood(Place(one["file"], inner["line"]), inner, "is not read here")
            return
        for inner_place, inner in self._with_includes(one["file"], one.get("block", [])):
            self._inspect(inner_place, inner)

    def http(self, one: dict[str, Any]) -> None:
        blocks = []
        for place, inner in self._with_includes(one["file"], one.get("block", [])):
            if inner["directive"] == "server":
                blocks.append((place, inner))
                continue
            self._inspect(place, inner)
            if inner["directive"] in _UPPER:
                self._above.setdefault(inner["directive"], []).append(inner["args"] or [""])
        for place, inner in blocks:
            self._server(place, inner)

    def _server(self, place: Place, one: dict[str, Any]) -> None:
        server = _Server(place)
        for inner_place, inner in self._with_includes(one["file"], one.get("block", [])):
            name, args = inner["directive"], inner["args"]
            if name == "if" and _compares_names(inner):
                server.compares_names = True
                continue
            self._inspect(inner_place, inner)
            if name == "server_name":
                self._names(server, inner_place, inner)
            elif name == "listen" and args:
                server.listens.append(args)
            else:
                server.values.setdefault(name, []).append(args or [""])
        server.values = {**self._above, **server.values}
        server.listens = server.listens or [["80"]]
        self.servers.append(server)

    def _names(self, server: _Server, place: Place, one: dict[str, Any]) -> None:
        for name in one["args"]:
            lower = name.lower()
            if lower in ("_", "", "localhost"):
                continue
            plain = normalise_host(lower.removeprefix("*.").removeprefix("."))
            if plain is None or plain != lower.removeprefix("*.").removeprefix("."):
                self._note_not_understood(place, one, "names hosts in a way that is not understood here")
            elif lower.startswith("."):
                server.names += [plain, f"*.{plain}"]
            else:
                server.names.append(lower)

    def listeners(self) -> list[_NginxListener]:
        found: dict[Endpoint, list[tuple[_Server, list[str]]]] = {}
        for server in self.servers:
            for args in server.listens:
                endpoint = _endpoint(args[0])
                if endpoint is None:
                    self.not_understood.append(NotUnderstood(server.place, f"listen {args[0]}"))
                else:
                    found.setdefault(endpoint, []).append((server, args[1:]))
        listeners = []
        for endpoint, pairs in found.items():
            if not any("ssl" in options or "quic" in options for _, options in pairs):
                continue
            servers = [server for server, _ in pairs]
            default = next((server for server, options in pairs if "default_server" in options), servers[0])
            http2 = any("http2" in options or "quic" in options for _, options in pairs)
            listeners.append(_NginxListener(endpoint, self._folder, servers, default, http2))
        return listeners


def read_nginx(path: Path, folder: ConfigurationFolder) -> Configuration:
    """An nginx configuration, with what it includes below the folder.

    Raises:
        InputError: it is none.
    """
    reader = _Reader(folder)
    for place, one in reader.statements(path):
        if one["directive"] == "http":
            reader.http(one)
        elif one["directive"] not in ("events", "load_module"):
            reader._inspect(place, one)  # noqa: SLF001 - the module's own
    return Configuration(reader.listeners(), reader.not_understood)


def _compares_names(one: dict[str, Any]) -> bool:
    """``if ($ssl_server_name != $host) { return 421; }``."""
    args, block = one["args"], one.get("block", [])
    compared = len(args) == 3 and args[1] == "!=" and {args[0], args[2]} in _COMPARES_NAMES
    return compared and len(block) == 1 and block[0]["directive"] == "return" and block[0]["args"][:1] == ["421"]


def _endpoint(text: str) -> Endpoint | None:
    if text.startswith("unix:") or "$" in text:
        return None
    address, _, port = text.rpartition(":") if not text.isdigit() and not text.endswith("]") else ("", "", text)
    if is_port(text):
        return Endpoint(None, int(text))
    if address == "*" and is_port(port):
        return Endpoint(None, int(port))
    found = address_and_port(text, 80)
    if found is None:
        return None
    return Endpoint(found[0] if found[0] != "0.0.0.0" else None, found[1])  # noqa: S104 - a text that is compared
