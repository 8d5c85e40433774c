"""A plain list of hosts: CSV with the columns host, address, certificate, upstream and perhaps client_certificate.

Semicolons or tabs may be in the place of commas.

A row is a host at an address, with or without a port. ``certificate`` names a PEM file below the folder, or the names
that the certificate covers, separated by spaces. ``upstream`` is whatever ends TLS and answers: hosts with the same one
are all answered by it, others are not. ``client_certificate`` is what it demands of clients of that host; nothing if
empty.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path

from originset.data.errors import InputError
from originset.data.host_names import address_and_port, covers, normalise_host
from originset.models.servers.configuration_files import ConfigurationFolder
from originset.models.servers.listeners import Answer, Configuration, Endpoint, Handshake, Listener, Place

_COLUMNS = {"host", "address", "certificate", "upstream"}
_OPTIONAL = {"client_certificate"}
# A file that is not there, and no host name.
_FILES = (".pem", ".crt", ".cer", ".chain")


@dataclass(frozen=True, slots=True)
class _HostRow:
    host: str
    endpoint: Endpoint
    handshake: Handshake
    upstream: str
    place: Place


@dataclass(frozen=True, slots=True)
class _ListedAddress:
    """The rows of one address, by host. ``upstreams``: which answer for a host, at any address."""

    endpoint: Endpoint
    rows: dict[str, _HostRow]
    upstreams: dict[str, set[str]]

    @property
    def hosts(self) -> dict[str, Place]:
        return {host: row.place for host, row in self.rows.items()}

    def handshake(self, server_name: str) -> Handshake | None:
        row = self.rows.get(server_name)
        return None if row is None else row.handshake

    def answer(self, server_name: str, host: str) -> Answer:
        opened, requested = self.rows.get(server_name), self.rows.get(host)
        if opened is None:
            return Answer()
        answering = self.upstreams[host] if requested is None else {requested.upstream}
        return Answer(site=host if opened.upstream in answering else opened.upstream)


def read_host_list(path: Path, folder: ConfigurationFolder) -> Configuration:
    """A list of hosts.

    Raises:
        InputError: it lacks a column, or a row holds no host, no address or no upstream; with the line.
    """
    text = folder.text(path).removeprefix("\ufeff")
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)  # spreadsheets of some countries write semicolons
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        columns = set(reader.fieldnames or ())
        if not _COLUMNS <= columns <= _COLUMNS | _OPTIONAL:
            raise InputError(
                str(path), "bad-columns", f"needs the columns {', '.join(sorted(_COLUMNS))} and no others, but "
                f"{', '.join(_OPTIONAL)}"
            )  # fmt: skip
        rows = [_host_row(path, folder, reader.line_num, each) for each in reader]
    except csv.Error as error:
        raise InputError(str(path), "not-csv", f"line {reader.line_num} is no CSV ({error})") from error
    addresses: dict[Endpoint, dict[str, _HostRow]] = {}
    upstreams: dict[str, set[str]] = {}
    for row in rows:
        if addresses.setdefault(row.endpoint, {}).setdefault(row.host, row) is not row:
            raise InputError(str(path), "listed-twice", f"line {row.place.line} lists {row.host} again")
        upstreams.setdefault(row.host, set()).add(row.upstream)
    listeners: list[Listener] = [_ListedAddress(endpoint, found, upstreams) for endpoint, found in addresses.items()]
    return Configuration(listeners, [])


def _host_row(path: Path, folder: ConfigurationFolder, line: int, fields: dict[str, str]) -> _HostRow:
    if None in fields or None in fields.values():
        raise InputError(str(path), "bad-row", f"line {line} has too many or too few fields")
    host, place = normalise_host(fields["host"]), address_and_port(fields["address"].strip(), 443)
    if host is None or place is None or not fields["upstream"].strip():
        raise InputError(str(path), "bad-row", f"line {line} has no valid host, IP address or upstream")
    return _HostRow(
        host,
        Endpoint(*place),
        Handshake(
            _names(folder, fields["certificate"].strip(), host), fields.get("client_certificate", "").strip() or None
        ),
        fields["upstream"].strip(),
        Place(folder.name(path.resolve()), line),
    )


def _names(folder: ConfigurationFolder, text: str, own_host: str) -> frozenset[str] | None:
    """The names of a certificate; None: it cannot be read, or the text names something else."""
    if folder.path(text) is not None:
        return folder.certificate([text])
    names = text.lower().split()
    hosts = [name.removeprefix("*.") for name in names]
    if (
        not names
        or any(normalise_host(host) != host or host.endswith(_FILES) for host in hosts)
        or not covers(names, own_host)
    ):
        return None
    return frozenset(names)
