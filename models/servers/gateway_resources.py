"""Kubernetes Gateway API: the listener by the handshake's server name, then a route of that listener by the host.

Hosts of one listener share its certificates, its demands of clients and its routes. What becomes of a request for
another listener's host is not said by the resources: Envoy has no route for it, other implementations route it, or
answer 421 (GEP-3567, the condition ``OverlappingTLSConfig``). An implementation may answer 421 within a listener, too:
browsers repeat such a request on a connection of its own.
"""

from __future__ import annotations

from base64 import b64decode
from dataclasses import dataclass, field
from pathlib import Path

from originset.data.host_names import canonical_ip
from originset.models.servers.configuration_files import ConfigurationFolder, names_of_certificate
from originset.models.servers.listeners import (
    Answer,
    Configuration,
    Endpoint,
    Handshake,
    Place,
    best_match,
)
from originset.models.servers.yaml_tables import (
    Table,
    YamlReader,
    read_documents,
    table_at,
    tables_at,
    text_of,
    values_at,
)

_ANY = "*"
_LISTENER = {"name", "hostname", "port", "protocol", "tls", "allowedRoutes"}
_TLS = {"mode", "certificateRefs", "frontendValidation", "options"}
_GATEWAY = {"gatewayClassName", "listeners", "addresses", "infrastructure", "allowedListeners", "tls"}
_ROUTE = {"parentRefs", "hostnames", "rules", "useDefaultGateways"}
# Kinds by which no request gets to another site, unless an implementation makes something of them.
_BESIDE = {
    "GatewayClass", "ReferenceGrant", "Namespace", "Service", "Deployment", "ServiceAccount", "ConfigMap", "Issuer",
    "ClusterIssuer", "BackendTLSPolicy", "StatefulSet", "HorizontalPodAutoscaler", "PodDisruptionBudget",
}  # fmt: skip


@dataclass(slots=True)
class _Route:
    place: Place
    namespace: str
    parents: list[Table]
    hostnames: list[str]


@dataclass(slots=True)
class _Entry:
    """A listener of a Gateway; ``hostname``: :data:`_ANY` if it has none. ``secrets``: of its certificates."""

    name: str
    place: Place
    hostname: str
    secrets: list[tuple[str, str]]
    demand: str | None
    passes_tls: bool
    routed: dict[str, Place] = field(default_factory=dict)


@dataclass(slots=True)
class _GatewayListener:
    """The listeners of a Gateway at one address and port."""

    endpoint: Endpoint
    gateway: tuple[str, str]
    entries: list[_Entry]
    secrets: dict[tuple[str, str], frozenset[str] | None]

    @property
    def hosts(self) -> dict[str, Place]:
        named = {one.hostname: one.place for one in self.entries if one.hostname != _ANY}
        return named | {host: place for one in self.entries for host, place in one.routed.items()}

    def _entry(self, host: str) -> _Entry | None:
        found = best_match((one.hostname for one in self.entries), host) or _ANY
        return next((one for one in self.entries if one.hostname == found), None)

    def handshake(self, server_name: str) -> Handshake | None:
        entry = self._entry(server_name)
        if entry is None:
            return Handshake(None)  # an implementation may have a certificate for it
        covered = [self.secrets.get(one) for one in entry.secrets]
        names = frozenset[str]().union(*(one or () for one in covered))
        return Handshake(None if entry.passes_tls or None in covered or not names else names, entry.demand)

    def answer(self, server_name: str, host: str) -> Answer:
        opened, requested = self._entry(server_name), self._entry(host)
        if opened is None or opened is not requested or opened.passes_tls:
            return Answer()
        if best_match(opened.routed, host) is None:
            return Answer(status=404)
        return Answer(site=f"{opened.place} {host}")


class _Reader(YamlReader):
    def __init__(self, file: str) -> None:
        super().__init__(file)
        self.listeners: list[_GatewayListener] = []
        self.routes: list[_Route] = []
        self.secrets: dict[tuple[str, str], frozenset[str] | None] = {}

    def resource(self, one: Table) -> None:
        kind, metadata = one.get("kind"), table_at(one, "metadata")
        if kind == "List":
            for item in tables_at(one, "items"):
                self.resource(item)
            return
        name, namespace = str(metadata.get("name", "")), str(metadata.get("namespace", "default"))
        place = f"{kind} {namespace}/{name}"
        spec = table_at(one, "spec")
        if kind == "Gateway":
            self._gateway((namespace, name), spec, table_at(one, "status"), place)
        elif kind == "HTTPRoute":
            self._route(namespace, spec, place)
        elif kind == "Certificate":
            names = frozenset(str(each).lower() for each in values_at(spec, "dnsNames"))
            self.secrets[namespace, str(spec.get("secretName", ""))] = names or None
        elif kind == "Secret":
            if "tls.crt" in table_at(one, "data"):
                self.secrets[namespace, name] = names_of_certificate(b64decode(str(table_at(one, "data")["tls.crt"])))
        elif kind not in _BESIDE:
            self.miss(place, f"{kind} is not known here")

    def _gateway(self, gateway: tuple[str, str], spec: Table, status: Table, place: str) -> None:
        self.check_keys(spec, _GATEWAY, f"{place}.spec")
        texts = [str(each.get("value", "")) for each in tables_at(spec, "addresses") or tables_at(status, "addresses")]
        addresses = [canonical_ip(text) for text in texts] or [None]
        if (texts and None in addresses) or (not texts and self.listeners):
            self.miss(place, "is at an address that is not named, perhaps that of another Gateway")
        ports: dict[int, list[_Entry]] = {}
        for number, one in enumerate(tables_at(spec, "listeners")):
            where = f"{place}.spec.listeners[{number}]"
            if one.get("protocol") not in ("HTTPS", "TLS"):
                continue
            port = one.get("port")
            if not isinstance(port, int):
                self.miss(where, "has no port")
                continue
            ports.setdefault(port, []).append(self._entry(gateway[0], one, table_at(spec, "tls"), where))
        for port, entries in ports.items():
            if len({one.hostname for one in entries}) < len(entries):
                self.miss(place, f"has two listeners of one hostname at port {port}")
            for endpoint in {Endpoint(address, port) for address in addresses}:
                if any(one.endpoint == endpoint for one in self.listeners):
                    self.miss(place, "is at the address and port of another Gateway")
                self.listeners.append(_GatewayListener(endpoint, gateway, entries, self.secrets))

    def _entry(self, namespace: str, one: Table, of_gateway: Table, place: str) -> _Entry:
        self.check_keys(one, _LISTENER, place)
        tls = table_at(one, "tls")
        self.check_keys(tls, _TLS, f"{place}.tls")
        if table_at(tls, "options"):
            self.miss(f"{place}.tls.options", "means what its implementation makes of it")
        secrets = [
            (str(each.get("namespace", namespace)), str(each.get("name", "")))
            for each in tables_at(tls, "certificateRefs")
        ]
        demanded = [each for each in (table_at(tls, "frontendValidation"), of_gateway) if each]
        hostname = str(one.get("hostname") or _ANY).lower()
        if hostname != _ANY:
            self.check_name(hostname, place)
        passes_tls = one["protocol"] == "TLS" or tls.get("mode") == "Passthrough"
        demand = text_of(demanded) if demanded else None
        return _Entry(str(one.get("name", "")), Place(self.file, place), hostname, secrets, demand, passes_tls)

    def _route(self, namespace: str, spec: Table, place: str) -> None:
        self.check_keys(spec, _ROUTE, f"{place}.spec")
        hostnames = [str(each).lower() for each in values_at(spec, "hostnames")]
        for name in hostnames:
            if name != _ANY:
                self.check_name(name, place)
        if "ExtensionRef" in text_of(values_at(spec, "rules")):
            self.miss(place, "has a filter that means what its implementation makes of it")
        self.routes.append(_Route(Place(self.file, place), namespace, tables_at(spec, "parentRefs"), hostnames))

    def attach(self) -> None:
        """Give each route's hosts to the listeners that it names."""
        for listener in self.listeners:
            for route in self.routes:
                for parent in route.parents:
                    gateway = (str(parent.get("namespace", route.namespace)), str(parent.get("name", "")))
                    if gateway == listener.gateway and parent.get("port") in (None, listener.endpoint.port):
                        for entry in listener.entries:
                            if parent.get("sectionName") in (None, entry.name):
                                _attach(entry, route)


def _attach(entry: _Entry, route: _Route) -> None:
    """Hosts that both have; a route without any is for the listener's."""
    for name in route.hostnames or [entry.hostname]:
        end = entry.hostname.removeprefix("*")
        if entry.hostname == name or (entry.hostname.startswith(_ANY) and name.endswith(end)):
            host = name
        elif name.startswith(_ANY) and entry.hostname.endswith(name.removeprefix("*")):
            host = entry.hostname
        else:
            continue
        if host != _ANY:
            entry.routed.setdefault(host, route.place)


def read_gateway(path: Path, folder: ConfigurationFolder) -> Configuration:
    """Resources of the Gateway API, with the Certificates or Secrets that their listeners name, in one file.

    Raises:
        InputError: it is no YAML of resources.
    """
    reader = _Reader(folder.name(path))
    read_documents(path, folder, "Kubernetes", reader.resource)
    reader.attach()
    return Configuration(reader.listeners, reader.not_understood)
