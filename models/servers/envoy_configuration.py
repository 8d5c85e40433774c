"""Envoy's static configuration: the filter chain by the handshake's server name, then a virtual host of that chain.

A chain has routes and filters of its own, so that another chain's host is 404 there, or another's; nothing compares the
request's host with the handshake's server name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from originset.data.host_names import canonical_ip
from originset.models.servers.configuration_files import ConfigurationFolder
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

_OF_CONNECTION = re.compile(r"REQUESTED_SERVER_NAME|DOWNSTREAM_(TLS|PEER|LOCAL)|%CONNECTION_|tls_context")
_LISTENER = {
    "name", "address", "filter_chains", "listener_filters", "traffic_direction", "per_connection_buffer_limit_bytes",
    "access_log", "stat_prefix", "default_filter_chain", "socket_options", "enable_reuse_port", "udp_listener_config",
}  # fmt: skip
_CHAIN = {"name", "filter_chain_match", "transport_socket", "filters", "transport_socket_connect_timeout"}
_TLS = {
    "@type",
    "common_tls_context",
    "require_client_certificate",
    "session_timeout",
    "disable_stateless_session_resumption",
}
_COMMON_TLS = {
    "alpn_protocols", "tls_certificates", "validation_context", "tls_params", "tls_certificate_sds_secret_configs",
    "combined_validation_context", "validation_context_sds_secret_config",
}  # fmt: skip
_LISTENER_FILTERS = {"TlsInspector", "ProxyProtocol", "HttpInspector"}
# Filters whose work depends on the request alone. A filter of another kind may look at the connection.
_HTTP_FILTERS = {"Router", "Cors", "Compressor", "Decompressor", "Buffer", "HealthCheck", "LocalRateLimit", "GrpcWeb"}
_NOT_OF_SITES = {"route_config", "stat_prefix", "access_log", "http_filters_stat_prefix", "tracing", "codec_type"}


@dataclass(slots=True)
class _VirtualHost:
    title: str
    key: str
    status: int | None


@dataclass(slots=True)
class _Chain:
    names: tuple[str, ...]
    certificates: list[str]
    client_certificate: str | None
    http2: bool
    virtual_hosts: dict[str, _VirtualHost] = field(default_factory=dict)


@dataclass(slots=True)
class _EnvoyListener:
    endpoint: Endpoint
    folder: ConfigurationFolder
    chains: list[_Chain]
    place: Place

    @property
    def hosts(self) -> dict[str, Place]:
        names = {name for chain in self.chains for name in (*chain.names, *chain.virtual_hosts)}
        for chain in self.chains:
            if not chain.names:  # it is for whatever no other chain names, of which its certificate tells some
                names |= self.folder.certificate(chain.certificates) or frozenset()
        return dict.fromkeys(sorted(names - {"*", ""}), self.place)

    def _chain(self, server_name: str) -> _Chain | None:
        found = best_match((name for chain in self.chains for name in chain.names), server_name)
        return next((chain for chain in self.chains if (found or "") in (chain.names or ("",))), None)

    def handshake(self, server_name: str) -> Handshake | None:
        chain = self._chain(server_name)
        if chain is None:
            return None
        names = self.folder.certificate(chain.certificates) if chain.certificates else None
        return Handshake(names, chain.client_certificate, chain.http2)

    def answer(self, server_name: str, host: str) -> Answer:
        chain = self._chain(server_name)
        if chain is None:
            return Answer(status=0)
        found = best_match(chain.virtual_hosts, host) or "*"
        site = chain.virtual_hosts.get(found)
        if site is None:
            return Answer(status=404)
        return Answer(status=site.status) if site.status not in (None, 200) else Answer(site=site.key, title=site.title)


class _Reader(YamlReader):
    def __init__(self, file: str, folder: ConfigurationFolder) -> None:
        super().__init__(file)
        self._folder = folder
        self.listeners: list[_EnvoyListener] = []

    def read(self, document: Table) -> None:
        for key in ("dynamic_resources", "layered_runtime", "hds_config"):
            if key in document:
                self.miss(key, f"{key} comes from elsewhere")
        for number, table in enumerate(tables_at(table_at(document, "static_resources"), "listeners")):
            self._listener(table, f"static_resources.listeners[{number}]")

    def _listener(self, table: Table, path: str) -> None:
        self.check_keys(table, _LISTENER, path)
        for one in tables_at(table, "listener_filters"):
            if _type_name(one) not in _LISTENER_FILTERS:
                self.miss(f"{path}.listener_filters", "a filter is not known here")
        socket = table_at(table_at(table, "address"), "socket_address")
        address, port = canonical_ip(str(socket.get("address", ""))), socket.get("port_value")
        if address is None or not isinstance(port, int):
            self.miss(f"{path}.address", "is no IP address and port")
            return
        chains = [
            self._chain(one, f"{path}.filter_chains[{number}]")
            for number, one in enumerate(tables_at(table, "filter_chains"))
        ]
        if "default_filter_chain" in table:
            chains.append(self._chain(table_at(table, "default_filter_chain"), f"{path}.default_filter_chain"))
        endpoint = Endpoint(None if address == "0.0.0.0" else address, port)  # noqa: S104 - a text that is compared
        of_tls = [one for one in chains if one is not None]
        self.listeners.append(_EnvoyListener(endpoint, self._folder, of_tls, Place(self.file, path)))

    def _chain(self, table: Table, path: str) -> _Chain | None:
        self.check_keys(table, _CHAIN, path)
        match = table_at(table, "filter_chain_match")
        self.check_keys(match, {"server_names", "transport_protocol"}, f"{path}.filter_chain_match")
        names = tuple(str(name).lower() for name in values_at(match, "server_names"))
        tls = table_at(table_at(table, "transport_socket"), "typed_config")
        if not tls:
            return None
        kind = _type_name({"typed_config": tls})
        over_quic = kind == "QuicDownstreamTransport"
        if over_quic:
            self.check_keys(tls, {"@type", "downstream_tls_context"}, f"{path}.transport_socket")
            tls = table_at(tls, "downstream_tls_context")
        common = table_at(tls, "common_tls_context")
        if not over_quic and kind != "DownstreamTlsContext":
            self.miss(f"{path}.transport_socket", "is not known here")
        self.check_keys(tls, _TLS, f"{path}.transport_socket")
        self.check_keys(common, _COMMON_TLS, f"{path}.transport_socket.common_tls_context")
        files = [table_at(one, "certificate_chain").get("filename") for one in tables_at(common, "tls_certificates")]
        asked = {key: common[key] for key in common if "validation" in key}
        if tls.get("require_client_certificate") not in (None, False):
            asked["require_client_certificate"] = tls["require_client_certificate"]
        protocols = values_at(common, "alpn_protocols")
        multiplexes = over_quic or "h2" in protocols
        chain = _Chain(names, [str(one) for one in files], text_of(asked) if asked else None, multiplexes)
        for name in names:
            self.check_name(name, path)
        if not names and self._folder.certificate(chain.certificates) is None:
            self.miss(path, "is for any server name, and its certificate cannot be read")
        filters = tables_at(table, "filters")
        if len(filters) != 1 or _type_name(filters[0]) != "HttpConnectionManager":
            self.miss(f"{path}.filters", "are not one HttpConnectionManager")
            return chain
        self._manager(chain, table_at(filters[0], "typed_config"), f"{path}.filters[0]")
        return chain

    def _manager(self, chain: _Chain, manager: Table, path: str) -> None:
        routes = table_at(manager, "route_config")
        rest = {key: value for key, value in manager.items() if key not in _NOT_OF_SITES}
        if not routes:
            self.miss(path, "its routes come from elsewhere")
        if any(_type_name(one) not in _HTTP_FILTERS for one in tables_at(manager, "http_filters")):
            self.miss(f"{path}.http_filters", "a filter is not known here")
        if _OF_CONNECTION.search(text_of({**rest, "route_config": routes})):
            self.miss(path, "something depends on the connection")
        rest |= {key: value for key, value in routes.items() if key not in ("virtual_hosts", "name")}
        for one in tables_at(routes, "virtual_hosts"):
            domains = tuple(str(name).lower() for name in values_at(one, "domains"))
            content = {key: value for key, value in one.items() if key not in ("name", "domains")}
            found = _VirtualHost(
                f"virtual host {one.get('name')}", text_of({"site": content, "filters": rest}), _status(one)
            )
            for name in domains:
                if name != "*":
                    self.check_name(name, path)
                chain.virtual_hosts.setdefault(name, found)


def read_envoy(path: Path, folder: ConfigurationFolder) -> Configuration:
    """Envoy's bootstrap configuration in YAML or JSON.

    Raises:
        InputError: it is none.
    """
    reader = _Reader(folder.name(path), folder)
    read_documents(path, folder, "Envoy", reader.read)
    return Configuration(reader.listeners, reader.not_understood)


def _status(virtual_host: Table) -> int | None:
    """The status of a virtual host that answers all requests itself."""
    routes = tables_at(virtual_host, "routes")
    if len(routes) != 1 or routes[0].get("match") != {"prefix": "/"} or "direct_response" not in routes[0]:
        return None
    status = table_at(routes[0], "direct_response").get("status")
    return status if isinstance(status, int) else None


def _type_name(table: Table) -> str:
    """The last part of a typed configuration's type."""
    return str(table_at(table, "typed_config").get("@type", "")).rpartition(".")[2]
