"""HAProxy: a frontend's rules choose the backend for each request, by its fields or by the handshake's server name.

Client certificates are demanded by the line that binds, or by the certificate's line in a list of certificates; nothing
compares the request's host with that.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path

from originset.data.host_names import address_and_port, normalise_host
from originset.models.servers.configuration_files import ConfigurationFolder
from originset.models.servers.haproxy_conditions import depends_on_connection, whole_names, words_of
from originset.models.servers.haproxy_section import HaproxySection
from originset.models.servers.listeners import (
    Answer,
    Configuration,
    Endpoint,
    Handshake,
    NotUnderstood,
    Place,
    best_match,
)

_SECTIONS = {
    "global",
    "defaults",
    "frontend",
    "listen",
    "backend",
    "resolvers",
    "userlist",
    "peers",
    "cache",
    "mailers",
}
_ROUTING = {"defaults", "frontend", "listen", "backend"}
_BIND_WITH_VALUE = {
    "crt", "crt-list", "verify", "ca-file", "ca-verify-file", "crl-file", "alpn", "npn", "ssl-min-ver", "ssl-max-ver",
    "ciphers", "ciphersuites", "curves", "ecdhe", "name", "maxconn", "interface", "user", "group", "mode", "level",
    "id", "backlog", "nice", "process", "thread",
}  # fmt: skip
_BIND_ALONE = {
    "ssl", "strict-sni", "v4v6", "v6only", "accept-proxy", "tfo", "defer-accept", "allow-0rtt", "no-sslv3", "no-tlsv10",
    "no-tlsv11", "no-tlsv12", "no-tls-tickets", "prefer-client-ciphers", "transparent",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Rule:
    """``use_backend``; ``server_names`` or ``hosts`` None: it does not look at that.

    ``understood`` False: something of the request, but nothing of the connection, decides whether it holds.
    """

    backend: str
    server_names: frozenset[str] | None = None
    hosts: frozenset[str] | None = None
    understood: bool = True


@dataclass(frozen=True, slots=True)
class _Certificate:
    file: str
    filters: tuple[str, ...]
    client_certificate: str | None
    http2: bool


@dataclass(slots=True)
class _Frontend:
    """A frontend, or what of it is bound to one endpoint."""

    place: Place
    name: str
    folder: ConfigurationFolder
    endpoint: Endpoint
    certificates: list[_Certificate]
    named: dict[str, Place] = field(default_factory=dict)
    rules: list[_Rule] = field(default_factory=list)
    default: str = ""
    passes_tls: bool = False
    compares_names: bool = False

    @property
    def hosts(self) -> dict[str, Place]:
        return self.named

    def _certificate(self, server_name: str) -> _Certificate:
        names = {name: one for one in reversed(self.certificates) for name in self.names_of(one)}
        found = best_match(names, server_name, one_label=True)
        return self.certificates[0] if found is None else names[found]

    def names_of(self, one: _Certificate) -> tuple[str, ...]:
        """The server names for which a certificate is presented."""
        return one.filters or tuple(self.folder.certificate([one.file]) or ())

    def handshake(self, server_name: str) -> Handshake | None:
        if self.passes_tls:
            return Handshake(None)
        found = self._certificate(server_name)
        unknown = len(self.certificates) > 1 and any(not self.names_of(one) for one in self.certificates)
        names = None if unknown else self.folder.certificate([found.file])
        return Handshake(names, found.client_certificate, found.http2)

    def answer(self, server_name: str, host: str) -> Answer:
        if self.compares_names and server_name != host:
            return Answer(status=421)
        opened, own = self._backends(server_name, host), self._backends(host, host)
        undecided = opened != own and len(opened + own) > 2
        if undecided or (self.passes_tls and server_name != host and opened == own):
            return Answer()
        return Answer(site=f"backend {' or '.join(opened)}") if opened[-1] else Answer(status=503)

    def _backends(self, server_name: str, host: str) -> tuple[str, ...]:
        """The backends of the rules that may hold, in order, up to the first that does hold."""
        perhaps: list[str] = []
        for rule in self.rules:
            if not rule.understood:
                perhaps.append(rule.backend)
                continue
            if rule.server_names is not None and server_name not in rule.server_names:
                continue
            if rule.hosts is not None and host not in rule.hosts:
                continue
            return (*perhaps, rule.backend)
        return (*perhaps, self.default)


class _Reader:
    def __init__(self, folder: ConfigurationFolder) -> None:
        self._folder = folder
        self._mode, self._default = "tcp", ""
        self.frontends: list[_Frontend] = []
        self.not_understood: list[NotUnderstood] = []

    def read(self, path: Path) -> None:
        section: list[tuple[Place, list[str]]] = []
        for number, line in enumerate(self._folder.text(path).split("\n"), 1):
            words = words_of(line)
            if words and words[0] in _SECTIONS and section:
                self._section(section)
                section = []
            if words:
                section.append((Place(self._folder.name(path), number), words))
        if section:
            self._section(section)

    def _miss(self, place: Place, words: list[str]) -> None:
        self.not_understood.append(NotUnderstood(place, " ".join(words)))

    def _section(self, lines: list[tuple[Place, list[str]]]) -> None:
        (place, head), *body = lines
        kind = head[0]
        if kind not in _SECTIONS or "from" in head[2:] or (kind == "defaults" and len(head) > 1):
            self._miss(place, head)
        if kind not in _ROUTING:
            for where, words in body:
                if words[0] == "crt-base":  # names of certificates mean other files then
                    self._miss(where, words)
            return
        section = HaproxySection(self._mode, self._default)
        for where, words in body:
            if not section.take(where, words):
                self._miss(where, words)
        if kind == "defaults":
            self._mode, self._default = section.mode, section.default
            return
        name = head[1] if len(head) > 1 else ""
        frontend = _Frontend(place, name, self._folder, Endpoint(None, 0), [])
        frontend.compares_names = section.compares_names
        frontend.default = section.default or (name if kind == "listen" else "")
        for where, words in section.rules:
            self._rule(frontend, where, words, section.acls)
        for where, words in section.binds:
            self._bind(frontend, where, words, section.mode)

    def _rule(self, frontend: _Frontend, place: Place, words: list[str], acls: dict[str, list[str]]) -> None:
        """``use_backend NAME if CONDITION``: one test of host or server name, or what no connection changes."""
        backend, condition = words[0], words[2:]
        if condition[:1] == ["{"] and condition[-1:] == ["}"] and condition.count("{") == 1:
            tests = [" ".join(condition[1:-1])]
        elif len(condition) == 1 and condition[0] in acls:
            tests = acls[condition[0]]
        else:
            tests = []
        found = [whole_names(test) for test in tests]
        plain = words[1:2] == ["if"] and found and None not in found and len({one[0] for one in found if one}) == 1
        named = frozenset(value for one in found if one for value in one[1])
        if depends_on_connection(backend, {}):
            self._miss(place, ["use_backend", *words])
        elif plain and found[0] is not None:
            by_host = found[0][0] == "host"
            frontend.rules.append(_Rule(backend, None if by_host else named, named if by_host else None))
        elif len(words) == 1:
            frontend.rules.append(_Rule(backend))
        elif depends_on_connection(" ".join(words), acls):
            self._miss(place, ["use_backend", *words])
        else:
            others = [whole_names(test) for word in condition if word in acls for test in acls[word]]
            others += [whole_names(text) for text in re.findall(r"\{ (.*?) \}", " ".join(condition))]
            named = frozenset(value for one in others if one and one[0] == "host" for value in one[1])
            frontend.rules.append(_Rule(" ".join(words), understood=False))
        for host in named:
            if normalise_host(host.removeprefix("*.")) is None:
                self._miss(place, ["use_backend", *words])
            else:
                frontend.named.setdefault(host, place)

    def _bind(self, frontend: _Frontend, place: Place, words: list[str], mode: str) -> None:
        options: dict[str, list[str]] = {}
        rest = list(words[1:])
        while rest:
            option = rest.pop(0)
            if option in _BIND_WITH_VALUE and rest:
                options.setdefault(option, []).append(rest.pop(0))
            elif option in _BIND_ALONE:
                options[option] = []
            else:
                self._miss(place, ["bind", *words])
                return
        for text in words[0].split(",") if words else ():
            endpoint = _endpoint(text)
            if endpoint is None:
                self._miss(place, ["bind", *words])
                continue
            bound = replace(frontend, endpoint=endpoint, certificates=self._certificates(place, options))
            bound.passes_tls = mode != "http"
            if bound.passes_tls and endpoint.port == 443 and not bound.named:
                self._miss(place, ["bind", *words])
            for one in bound.certificates:
                if not bound.names_of(one):
                    self._miss(place, ["crt", one.file, "is no certificate that can be read"])
            covered = {name for one in bound.certificates for name in bound.names_of(one)}
            bound.named = {**dict.fromkeys(sorted(covered), place), **bound.named}
            if bound.passes_tls or ("ssl" in options and bound.certificates):
                self.frontends.append(bound)
            elif "ssl" in options:
                self._miss(place, ["bind", *words])

    def _certificates(self, place: Place, options: dict[str, list[str]]) -> list[_Certificate]:
        found = [_certificate(file, options, ()) for file in options.get("crt", [])]
        for name in options.get("crt-list", []):
            path = self._folder.path(name)
            if path is None:
                self._miss(place, ["crt-list", name])
                continue
            for number, line in enumerate(self._folder.text(path).split("\n"), 1):
                listed = re.fullmatch(r"\s*(\S+)\s*(?:\[(.*?)\])?\s*([^\[\]]*)", line.partition("#")[0])
                if listed is None:
                    if line.partition("#")[0].strip():
                        self._miss(Place(self._folder.name(path), number), [line.strip()])
                    continue
                words, filters = (listed[2] or "").split(), tuple(listed[3].lower().split())
                own = {word: [words[index + 1]] for index, word in enumerate(words[:-1]) if word in _BIND_WITH_VALUE}
                if any(one.startswith("!") for one in filters):
                    self._miss(Place(self._folder.name(path), number), [line.strip()])
                found.append(_certificate(listed[1], {**options, **own}, filters))
        return found


def read_haproxy(path: Path, folder: ConfigurationFolder) -> Configuration:
    """A HAProxy configuration.

    Raises:
        InputError: it is no text, or too long.
    """
    reader = _Reader(folder)
    reader.read(path)
    named = {host: place for one in reader.frontends for host, place in one.named.items()}
    for frontend in reader.frontends:
        if frontend.passes_tls:  # what it does not name itself may come to it, too
            frontend.named = named
    return Configuration(reader.frontends, reader.not_understood)


def _certificate(file: str, options: dict[str, list[str]], filters: tuple[str, ...]) -> _Certificate:
    verify = options.get("verify", ["none"])[-1]
    client = None if verify == "none" else f"{verify} {' '.join(options.get('ca-file', []))}"
    http2 = "alpn" not in options or "h2" in options["alpn"][-1].split(",")
    return _Certificate(file, filters, client, http2)


def _endpoint(text: str) -> Endpoint | None:
    address, _, port = text.rpartition(":")
    if address in ("", "*", "0.0.0.0", "ipv4@", "ipv4@*") and port.isascii() and port.isdigit():  # noqa: S104 - a text
        return Endpoint(None, int(port))
    found = address_and_port(text, 0)
    return None if found is None or not found[1] else Endpoint(*found)
