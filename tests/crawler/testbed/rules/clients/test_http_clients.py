"""Clients are installed once for each version, and started with what their entries say."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from originset.crawler.testbed.rules.clients.http_clients import HttpClient, TrustFiles, http_clients, install_client
from originset.crawler.testbed.servers.certificate_authority import Authority
from originset.data.errors import UsageError

ECHO = "import os, sys; sys.stderr.write(' '.join([os.environ['ROOT'], *sys.argv[1:]]))"


def client(**fields: object) -> HttpClient:
    given = {"title": "A client's", "needs": ("python3",), "command": (sys.executable, "-c", ECHO), "version": "1.2"}
    return HttpClient(**{**given, **fields})


@pytest.mark.parametrize("one", http_clients(), ids=lambda one: one.title)
def test_entries_are_whole(one: HttpClient, tmp_path: Path) -> None:
    assert (one.version is None) == bool(one.version_command)
    assert one.needs
    texts = [*one.command, *one.environment.values(), *(part for command in one.install for part in command)]
    for text in texts:
        text.format(programs=tmp_path, folder=tmp_path, authority=tmp_path, truststore=tmp_path)
    if one.version is not None:  # what is installed is what the page says
        assert any(one.version in part or part.endswith("/pom.xml") for command in one.install for part in command)


def test_it_is_installed_once_and_started_with_its_urls(tmp_path: Path) -> None:
    trust = TrustFiles(Authority(tmp_path / "authority").root, tmp_path)
    one = client(
        install=(("sh", "-c", "echo installed >> {folder}/count"),),
        environment={"ROOT": "{authority}"},
        before_each_url=("--to", "/dev/null"),
    )
    install_client(one, tmp_path / "cache")
    installed = install_client(one, tmp_path / "cache")
    assert installed.folder == tmp_path / "cache/a-client-s-1.2"
    assert (installed.folder / "count").read_text() == "installed\n"
    said = installed.fetch(["https://a.test/", "https://b.test/"], trust)
    assert said == f"{trust.places['authority']} --to /dev/null https://a.test/ --to /dev/null https://b.test/"


def test_an_installation_that_fails_is_done_again(tmp_path: Path) -> None:
    one = client(install=(("sh", "-c", "test -e {folder}/../ready || {{ echo no disk >&2; exit 1; }}"),))
    with pytest.raises(UsageError, match="no disk"):
        install_client(one, tmp_path / "cache")
    (tmp_path / "cache" / "ready").touch()
    assert install_client(one, tmp_path / "cache").version == "1.2"


def test_a_version_is_what_the_program_says(tmp_path: Path) -> None:
    one = client(version=None, version_command=(sys.executable, "-c", "print('client 7.88.1 (x86_64) lib/3.0')"))
    assert install_client(one, tmp_path).version == "7.88.1"
    with pytest.raises(UsageError, match="does not say its version"):
        install_client(client(version=None, version_command=(sys.executable, "-c", "print('client')")), tmp_path)


def test_one_that_does_not_end_is_ended(tmp_path: Path) -> None:
    trust = TrustFiles(Authority(tmp_path / "authority").root, tmp_path)
    one = client(command=(sys.executable, "-c", "import time; time.sleep(600)"))
    with pytest.raises(UsageError, match="did not end within"):
        install_client(one, tmp_path / "cache").fetch([], trust, timeout_s=0.2)
