"""The clients that clients.toml lists: what each needs, how it is installed, and how it is started with URLs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Sequence
from functools import cache
from importlib import resources
from pathlib import Path

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, pkcs12

from originset.data.errors import UsageError

_HERE = resources.files("originset.crawler.testbed.rules.clients")
_LIST = _HERE / "clients.toml"
_PROGRAMS = Path(str(_HERE / "programs"))
_VERSION = re.compile(r"\d+(?:\.\d+)+")
_INSTALLED = ".installed"


class HttpClient(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A client as clients.toml lists it, which says what the commands may hold.

    Exactly one of ``version`` and ``version_command`` is given.
    """

    title: str
    needs: tuple[str, ...]
    command: tuple[str, ...]
    before_each_url: tuple[str, ...] = ()
    version: str | None = None
    version_command: tuple[str, ...] = ()
    install: tuple[tuple[str, ...], ...] = ()
    environment: dict[str, str] = {}

    @property
    def missing_programs(self) -> tuple[str, ...]:
        """Programs that it needs and PATH does not have."""
        return tuple(one for one in self.needs if shutil.which(one) is None)


class TrustFiles:
    """An authority's root certificate in the two forms that clients read: PEM, and Java's."""

    def __init__(self, authority: Path, folder: Path) -> None:
        """Writes the second into a folder, with the password that clients.toml names."""
        certificate = pkcs12.PKCS12Certificate(x509.load_pem_x509_certificate(authority.read_bytes()), b"testbed")
        truststore = folder / "truststore.p12"
        truststore.write_bytes(pkcs12.serialize_java_truststore([certificate], BestAvailableEncryption(b"changeit")))
        self.places = {"authority": authority, "truststore": truststore}


class InstalledClient(msgspec.Struct, frozen=True):
    """A client, its version, and the folder that it is installed in."""

    client: HttpClient
    version: str
    folder: Path

    def fetch(self, urls: Sequence[str], trust: TrustFiles, timeout_s: float = 60.0) -> str:
        """Fetch URLs one after the other in a new process.

        Returns what it wrote on stderr, such as of a URL that failed.

        Raises:
            UsageError: it does not end in time.
        """
        places = {"programs": _PROGRAMS, "folder": self.folder, **trust.places}
        before = self.client.before_each_url
        command = [one.format(**places) for one in self.client.command]
        environment = {name: value.format(**places) for name, value in self.client.environment.items()}
        try:
            done = subprocess.run(
                [*command, *(part for url in urls for part in (*before, url))],
                env={**os.environ, **environment},
                capture_output=True,
                text=True,
                errors="replace",
                timeout=timeout_s,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise UsageError(f"{self.client.title} did not end within {timeout_s:.0f} s", "run again") from error
        return done.stderr


@cache
def http_clients() -> tuple[HttpClient, ...]:
    """All clients of clients.toml, in its order."""
    return tuple(msgspec.convert(tomllib.loads(_LIST.read_text(encoding="utf-8"))["client"], list[HttpClient]))


def install_client(client: HttpClient, cache_folder: Path) -> InstalledClient:
    """A client in a folder of its own below ``cache_folder``, installed where it is not yet.

    Raises:
        UsageError: it cannot be installed, or does not say its version.
    """
    version = client.version or _said_version(client)
    folder = cache_folder / f"{re.sub(r'[^a-z0-9]+', '-', client.title.lower())}-{version}"
    if not (folder / _INSTALLED).exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for command in client.install:
            _output([one.format(programs=_PROGRAMS, folder=folder) for one in command])
        (folder / _INSTALLED).touch()
    return InstalledClient(client, version, folder)


def _said_version(client: HttpClient) -> str:
    if found := _VERSION.search(_output(client.version_command)):
        return found[0]
    raise UsageError(f"{client.version_command[0]} does not say its version", f"{client.title} is left out")


def _output(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        said = ((done.stderr or done.stdout).strip().splitlines() or ["no message"])[-1]
        raise UsageError(f"{' '.join(command[:2])} failed ({said})", "see to it, then run again")
    return done.stdout
