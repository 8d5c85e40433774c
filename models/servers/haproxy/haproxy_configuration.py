"""HAProxy: a frontend's rules choose the backend for each request, by its fields or by the handshake's server name.

Client certificates are demanded by the line that binds, or by the certificate's line in a list of certificates; nothing
compares the request's host with that.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path

from originset.data.host_names import address_and_port, is_port, normalise_host
from originset.models.servers.configuration_files import ConfigurationFolder
from originset.models.servers.haproxy.haproxy_certificates import (
    BIND_WITH_VALUE,
    HaproxyCertificate,
    bound_certificates,
)
from originset.models.servers.haproxy.haproxy_conditions import depends_on_connection, whole_names, words_of
from originset.models.servers.haproxy.haproxy_section import HaproxySection
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


@dataclass(slots=True)
class _Frontend:
    """A frontend, or what of it is bound to one endpoint."""

    place: Place
    name: str
    folder: ConfigurationFolder
    endpoint: Endpoint
    certificates: list[HaproxyCertificate]
    named: dict[str, Place] = field(default_factory=dict)
    rules: list[_Rule] = field(default_factory=list)
    default: str = ""
    passes_tls: bool = False
    compares_names: bool = False

    @property
    def hosts(self) -> dict[str, Place]:
        return self.named

    def _certificates(self, server_name: str) -> list[HaproxyCertificate]:
        """Those for a name, of which the client's algorithms choose one; without any the first."""
        named = {one: self.names_of(one) for one in self.certificates}
        found = best_match((name for names in named.values() for name in names), server_name, one_label=True)
        return self.certificates[:1] if found is None else [one for one, names in named.items() if found in names]

    def names_of(self, one: HaproxyCertificate) -> tuple[str, ...]:
        """The server names for which a certificate is presented."""
        return one.filters or tuple(self.folder.certificate([one.file]) or ())

    def handshake(self, server_name: str) -> Handshake | None:
        if self.passes_tls:
            return Handshake(None)
        found = self._certificates(server_name)
        unknown = len(self.certificates) > 1 and any(not self.names_of(one) for one in self.certificates)
        names = None if unknown else self.folder.certificate([one.file for one in found])
        return Handshake(names, found[0].client_certificate, any(one.http2 for one in found))

    def differs(self) -> bool:
        """Whether certificates for the same name demand different things of clients."""
        demands: dict[str, str | None] = {}
        return any(
            demands.setdefault(name, one.client_certificate) != one.client_certificate
            for one in self.certificates
            for name in self.names_of(one)
        )

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
        self._mode, self._default, self._base = "tcp", "", ""
        self.frontends: list[_Frontend] = []
        self.backends: set[str] = set()
        self.not_understood: list[NotUnderstood] = []

    def read(self, path: Path) -> None:
        section: list[tuple[Place, list[str]]] = []
        for number, line in enumerate(self._folder.text(path).split("\n"), 1):
            words = words_of(line)
            if words and words[0] in _SECTIONS and section:
                self._section(section)
                section = []
            if words[:1] in (["backend"], ["listen"]):
                self.backends.update(words[1:2])
            if words:
                section.append((Place(self._folder.name(path), number), words))
        if section:
            self._section(section)

    def _note_not_understood(self, place: Place, words: list[str]) -> None:
        self.not_understood.append(NotUnderstood(place, " ".join(words)))

    def _section(self, lines: list[tuple[Place, list[str]]]) -> None:
        (place, head), *body = lines
        kind = head[0]
        if kind not in _SECTIONS or "from" in head[2:] or (kind == "defaults" and len(head) > 1):
            self._note_not_understood(place, head)
        if kind not in _ROUTING:
            for where, words in body:
                if words[0] == "crt-base":
                    self._crt_base(where, words)
            return
        section = HaproxySection(self._mode, self._default)
        for where, words in body:
            if not section.take(where, words):
                self._note_not_understood(where, words)
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
            self._read_bind(frontend, where, words, section.mode)

    def _crt_base(self, place: Place, words: list[str]) -> None:
        """Where names of certificates start in lines that follow."""
        if len(words) == 2 and words[1].startswith("/") and not self.frontends:
            self._base = words[1]
        else:
            self._note_not_understood(place, words)

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
            self._note_not_understood(place, ["use_backend", *words])
        elif plain and found[0] is not None:
            by_host = found[0][0] == "host"
            frontend.rules.append(_Rule(backend, None if by_host else named, named if by_host else None))
        elif len(words) == 1 and "%[" not in backend:
            frontend.rules.append(_Rule(backend))
        elif depends_on_connection(" ".join(words), acls):
            self._note_not_understood(place, ["use_backend", *words])
        else:
            others = [whole_names(test) for word in condition if word in acls for test in acls[word]]
            others += [whole_names(text) for text in re.findall(r"\{ (.*?) \}", " ".join(condition))]
            named = frozenset(value for one in others if one and one[0] == "host" for value in one[1])
            frontend.rules.append(_Rule(" ".join(words), understood=False))
        for host in named:
            if normalise_host(host.removeprefix("*.")) is None:
                self._note_not_understood(place, ["use_backend", *words])
            else:
                frontend.named.setdefault(host, place)

    def _read_bind(self, frontend: _Frontend, place: Place, words: list[str], mode: str) -> None:
        options: dict[str, list[str]] = {}
        rest = list(words[1:])
        while rest:
            option = rest.pop(0)
            if option in BIND_WITH_VALUE and rest:
                options.setdefault(option, []).append(rest.pop(0))
            elif option in _BIND_ALONE:
                options[option] = []
            else:
                self._note_not_understood(place, ["bind", *words])
                return
        for text in words[0].split(",") if words else ():
            endpoint = _endpoint(text)
            if endpoint is None:
                self._note_not_understood(place, ["bind", *words])
                continue
            bound = replace(frontend, endpoint=endpoint)
            bound.certificates, missed = bound_certificates(self._folder, place, options, self._base)
            self.not_understood += missed
            bound.passes_tls = mode != "http"
            self._add_listener(bound, place, ["bind", *words], is_tls="ssl" in options)

    def _add_listener(self, bound: _Frontend, place: Place, words: list[str], *, is_tls: bool) -> None:
        for one in bound.certificates:
            if not bound.names_of(one):
                self._note_not_understood(place, ["crt", one.file, "is no certificate that can be read"])
        covered = {name for one in bound.certificates for name in bound.names_of(one)}
        without_names = bound.passes_tls and bound.endpoint.port == 443 and not bound.named
        bound.named = {**dict.fromkeys(sorted(covered), place), **bound.named}
        twice = any(one.endpoint == bound.endpoint for one in self.frontends)
        if without_names or twice or bound.differs() or (is_tls and not bound.passes_tls and not bound.certificates):
            self._note_not_understood(place, words)
        if bound.passes_tls or (is_tls and bound.certificates):
            self.frontends.append(bound)


def read_haproxy(path: Path, folder: ConfigurationFolder) -> Configuration:
    """A HAProxy configuration.

    Raises:
        InputError: it is no text, or too long.
    """
    reader = _Reader(folder)
    reader.read(path)
    named = {host: place for one in reader.frontends for host, place in one.named.items()}
    for frontend in reader.frontends:
        for name in {frontend.default, *(rule.backend for rule in frontend.rules if rule.understood)} - {""}:
            if name not in reader.backends:
                reader.not_understood.append(NotUnderstood(frontend.place, f"backend {name} is not here"))
        if frontend.passes_tls:  # what it does not name itself may come to it, too
            frontend.named = named
    return Configuration(reader.frontends, reader.not_understood)


def _endpoint(text: str) -> Endpoint | None:
    address, _, port = text.rpartition(":")
    if address in ("", "*", "0.0.0.0", "ipv4@", "ipv4@*") and is_port(port):  # noqa: S104 - a text
        return Endpoint(None, int(port))
    found = address_and_port(text, 0)
    return None if found is None or not found[1] else Endpoint(*found)
