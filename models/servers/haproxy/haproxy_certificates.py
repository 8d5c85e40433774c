"""The certificates that a line of HAProxy's binds, and what each demands of clients."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from originset.models.servers.configuration_files import ConfigurationFolder
from originset.models.servers.listeners import NotUnderstood, Place

#: Options of a bind line, or of a certificate in a list, that a value follows.
BIND_WITH_VALUE = {
    "crt", "crt-list", "verify", "ca-file", "ca-verify-file", "crl-file", "alpn", "npn", "ssl-min-ver", "ssl-max-ver",
    "ciphers", "ciphersuites", "curves", "ecdhe", "name", "maxconn", "interface", "user", "group", "mode", "level",
    "id", "backlog", "nice", "process", "thread",
}  # fmt: skip
# Which clients' certificates are accepted.
_VERIFIED_BY = ("ca-file", "ca-verify-file", "crl-file")
# What lies in a folder of certificates, and is none.
_BESIDE_CERTIFICATES = {".key", ".issuer", ".ocsp", ".sctl"}
# A line of a list of certificates: a file, options of its own, and the server names that it is for.
_LISTED = re.compile(r"\s*+(\S++)\s*+(?:\[([^\[\]]*+)\])?+\s*+([^\[\]]*+)")


@dataclass(frozen=True, slots=True)
class HaproxyCertificate:
    """A certificate; ``filters``: the server names that it is for, if not those that it covers."""

    file: str
    filters: tuple[str, ...]
    client_certificate: str | None
    http2: bool


def bound_certificates(
    folder: ConfigurationFolder, place: Place, options: dict[str, list[str]], base: str
) -> tuple[list[HaproxyCertificate], list[NotUnderstood]]:
    """The certificates of a bind line's options, those of its lists too; ``base``: where relative names start."""
    found = [_certificate(file, options, ()) for name in options.get("crt", []) for file in _files(folder, base, name)]
    missed: list[NotUnderstood] = []
    for name in options.get("crt-list", []):
        path = folder.path(name)
        if path is None:
            missed.append(NotUnderstood(place, f"crt-list {name}"))
            continue
        for number, line in enumerate(folder.text(path).split("\n"), 1):
            content = line.partition("#")[0].strip()
            listed = _LISTED.fullmatch(content)
            if listed is not None:
                words, filters = (listed[2] or "").split(), tuple(listed[3].lower().split())
                own = {word: [words[index + 1]] for index, word in enumerate(words[:-1]) if word in BIND_WITH_VALUE}
                found.append(_certificate(str(Path(base, listed[1])), {**options, **own}, filters))
            if content and (listed is None or any(one.startswith("!") for one in filters)):
                missed.append(NotUnderstood(Place(folder.name(path), number), content))
    return found, missed


def _files(folder: ConfigurationFolder, base: str, name: str) -> list[str]:
    """The file of that name, or the certificates of the folder of that name, in the order in which they are read."""
    if not name.endswith("/"):
        return [str(Path(base, name))]
    found = folder.matching(f"{Path(base, name)}/*")
    return [str(path) for path in found or () if path.suffix not in _BESIDE_CERTIFICATES] or [name]


def _certificate(file: str, options: dict[str, list[str]], filters: tuple[str, ...]) -> HaproxyCertificate:
    verify = options.get("verify", ["none"])[-1]
    accepted = [f"{option} {value}" for option in _VERIFIED_BY for value in options.get(option, [])]
    client = None if verify == "none" else " ".join((verify, *accepted))
    http2 = "alpn" not in options or "h2" in options["alpn"][-1].split(",")
    return HaproxyCertificate(file, filters, client, http2)
