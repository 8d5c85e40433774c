"""Caddy: the site by the request's host, whatever the handshake's server name was.

With client certificates for any site, a request whose host is not the handshake's server name is answered 421, unless
``strict_sni_host insecure_off`` says otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from originset.data.host_names import covers, normalise_host
from originset.models.servers.caddyfile_statements import Statement, statements
from originset.models.servers.configuration_files import ConfigurationFolder
from originset.models.servers.listeners import (
    Answer,
    Configuration,
    Endpoint,
    Handshake,
    NotUnderstood,
    Place,
    best_match,
)

_OPTIONS = {
    "admin", "email", "auto_https", "debug", "log", "order", "storage", "acme_ca",
    "acme_ca_root",
    "acme_dns", "acme_eab",
    "skip_install_trust", "grace_period", "ocsp_stapling", "local_certs", "key_type", "persist_config",
    "shutdown_delay",
}  # fmt: skip
_SERVER_OPTIONS = {"timeouts", "max_header_size", "log_credentials", "keepalive_interval", "metrics", "trusted_proxies"}
_NESTED = {"handle", "handle_path", "handle_errors", "route"}
_HARMLESS = {
    "respond", "reverse_proxy", "root", "file_server", "encode", "header", "request_header", "redir", "rewrite",
    "uri",
    "php_fastcgi", "try_files", "basicauth", "basic_auth", "templates", "log", "error", "abort", "method",
    "request_body",
    "forward_auth", "push", "skip_log", "log_skip", "vars", "metrics",
}  # fmt: skip
_TLS_OPTIONS = {"protocols", "ciphers", "curves", "issuer", "dns", "ca", "ca_root", "key_type", "resolvers", "eab"}
_OF_CONNECTION = re.compile(r"\{\$|\{env\.|\{file\.|request\.tls|\{tls_|\btls_client|expression|<<|remote[._]port")
_SITE = re.compile(r"(?:(https?)://)?((?:\*\.)?[^:/*{}]*)(?::(\d{1,5}))?")


@dataclass(slots=True)
class _Site:
    place: Place
    hosts: list[tuple[str, int]]
    any_host_at: set[int] = field(default_factory=set)
    files: list[str] = field(default_factory=list)
    automatic: bool = True
    client_certificate: str | None = None
    http2: bool = True
    handles_421: bool = False


@dataclass(slots=True)
class _Settings:
    """What is said of all sites. ``strict``: None if nothing says it."""

    strict: bool | None = None
    http2: bool = True
    http3: bool = True


@dataclass(slots=True)
class _CaddyListener:
    endpoint: Endpoint
    folder: ConfigurationFolder
    sites: dict[str, _Site]
    settings: _Settings

    @property
    def hosts(self) -> dict[str, Place]:
        return {host: site.place for host, site in self.sites.items()}

    def handshake(self, server_name: str) -> Handshake | None:
        site = self.sites[best_match(self.sites, server_name, one_label=True) or server_name]
        http2 = self.settings.http3 or (site.http2 and self.settings.http2)  # alpn is of HTTP/1.1 and 2 alone
        if not site.automatic:
            return Handshake(
                self.folder.certificate(site.files) if site.files else None, site.client_certificate, http2
            )
        # A certificate of its own, or one that another site names and that covers it, or a wildcard site's.
        names = frozenset({server_name, *(host for host in self.sites if host.startswith("*."))})
        for other in self.sites.values():
            known = self.folder.certificate(other.files) if other.files else frozenset[str]()
            if known is None:
                return Handshake(None, site.client_certificate, http2)
            names |= known if covers(known, server_name) else frozenset()
        return Handshake(names, site.client_certificate, http2)

    def answer(self, server_name: str, host: str) -> Answer:
        demands = any(site.client_certificate is not None for site in self.sites.values())
        strict = demands if self.settings.strict is None else self.settings.strict
        if strict and server_name != host:
            return Answer() if any(site.handles_421 for site in self.sites.values()) else Answer(status=421)
        return Answer(site=str(self.sites[best_match(self.sites, host, one_label=True) or host].place))


class _Reader:
    def __init__(self, folder: ConfigurationFolder) -> None:
        self._folder = folder
        self.settings = _Settings()
        self.sites: list[_Site] = []
        self.not_understood: list[NotUnderstood] = []

    def read(self, top: Sequence[Statement]) -> None:
        for number, one in enumerate(top):
            if not one.words and number == 0:
                for option in one.block:
                    self._option(option)
            elif one.block:
                self._site(one)
            else:
                self._note_not_understood(one)

    def _note_not_understood(self, one: Statement) -> None:
        self.not_understood.append(NotUnderstood(one.place, " ".join(one.words)))

    def _option(self, one: Statement) -> None:
        if one.words[:1] != ("servers",) or len(one.words) > 1:
            if one.words[0] not in _OPTIONS:
                self._note_not_understood(one)
            return
        for inner in one.block:
            if inner.words[0] == "strict_sni_host" and inner.words[1:] in ((), ("on",), ("insecure_off",)):
                self.settings.strict = inner.words[1:] != ("insecure_off",)
            elif inner.words[0] == "protocols":
                self.settings.http2 = "h2" in inner.words
                self.settings.http3 = "h3" in inner.words
            elif inner.words[0] not in _SERVER_OPTIONS:
                self._note_not_understood(inner)

    def _site(self, one: Statement) -> None:
        site = _Site(one.place, [])
        for word in " ".join(one.words).replace(",", " ").split():
            found = _SITE.fullmatch(word)
            host = normalise_host(found[2].removeprefix("*.")) if found else None
            if found is None or (found[2] and host is None) or (found[3] and not 0 < int(found[3]) < 1 << 16):
                self._note_not_understood(one)
            elif found[1] != "http" and found[3] != "80":
                port = int(found[3] or 443)
                if host is None:
                    site.any_host_at.add(port)
                else:
                    site.hosts.append((found[2].lower(), port))
        for inner in one.block:
            if inner.words[0] == "tls":
                self._tls(site, inner)
            else:
                if inner.words[0] == "handle_errors":
                    site.handles_421 |= len(inner.words) == 1 or bool({"421", "4xx"} & set(inner.words))
                self._inspect(inner)
        if site.any_host_at and not self._folder.certificate(site.files):
            self._note_not_understood(one)  # which hosts come to it cannot be said
        self.sites.append(site)

    def _tls(self, site: _Site, one: Statement) -> None:
        files = one.words[1:]
        if len(files) == 2 and not any("{" in name for name in files):
            site.files, site.automatic = [files[0]], False
        elif len(files) > 1 or any("{" in name for name in files):
            self._note_not_understood(one)
        for inner in one.block:
            if inner.words[0] == "client_auth":
                site.client_certificate = inner.text
            elif inner.words[0] == "alpn":
                site.http2 = "h2" in inner.words
            elif inner.words[0] not in _TLS_OPTIONS:
                self._note_not_understood(inner)

    def _inspect(self, one: Statement) -> None:
        """Note a directive whose effect may depend on the connection, or is not known."""
        if one.words[0] in _NESTED:
            if _OF_CONNECTION.search(" ".join(one.words)):
                self._note_not_understood(one)
            for inner in one.block:
                self._inspect(inner)
        elif (one.words[0] not in _HARMLESS and not one.words[0].startswith("@")) or _OF_CONNECTION.search(one.text):
            self._note_not_understood(one)

    def listeners(self) -> list[_CaddyListener]:
        ports: dict[int, dict[str, _Site]] = {}
        for site in self.sites:
            for host, port in site.hosts:
                ports.setdefault(port, {}).setdefault(host, site)
        for site in self.sites:
            for port in site.any_host_at:  # whatever no other site names, of which its certificate tells some
                at_port = ports.setdefault(port, {})
                for host in sorted(self._folder.certificate(site.files) or ()):
                    if best_match(at_port, host, one_label=True) is None:
                        at_port[host] = site
        return [
            _CaddyListener(Endpoint(None, port), self._folder, sites, self.settings) for port, sites in ports.items()
        ]


def read_caddyfile(path: Path, folder: ConfigurationFolder) -> Configuration:
    """A Caddyfile.

    Raises:
        InputError: its braces do not match, or its imports have no end.
    """
    reader = _Reader(folder)
    reader.read(statements(path, folder))
    return Configuration(reader.listeners(), reader.not_understood)
