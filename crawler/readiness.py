"""Whether this machine has the programs and rights that commands need, and which command gives those that it lacks."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from originset.data.errors import MissingDependency


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked for: ``found`` is NULL if it is not here, ``needed_for`` names what cannot do without it."""

    what: str
    found: str | None
    needed_for: tuple[str, ...]
    remedy: str


def require(command_name: str) -> None:
    """See that this machine has all that a command needs.

    Raises:
        MissingDependency: what it lacks, all packages in one command.
    """
    missing = [f for f in examine() if f.found is None and command_name in f.needed_for]
    if not missing:
        return
    packages = [f.remedy.removeprefix(_INSTALL) for f in missing if f.remedy.startswith(_INSTALL)]
    others = [f.remedy for f in missing if not f.remedy.startswith(_INSTALL)]
    steps = ([_INSTALL + " ".join(packages)] if packages else []) + others
    raise MissingDependency(" and ".join(f.what for f in missing), " && ".join(steps))


_INSTALL = "sudo apt-get install --no-install-recommends "

_PROGRAMS = (
    ("Chromium", ("chromium", "google-chrome", "google-chrome-stable", "chrome"), ("crawl", "demo"), "chromium"),
    ("ChromeDriver", ("chromedriver",), ("tests",), "chromium-driver"),
    ("certutil", ("certutil",), ("demo", "tests"), "libnss3-tools"),
    ("ip", ("ip",), ("demo", "tests"), "iproute2"),
    ("setpriv", ("setpriv",), ("crawl", "demo", "tests"), "util-linux"),
    ("Firefox", ("firefox-esr", "firefox"), ("tests",), "firefox-esr"),
    ("Node.js", ("node",), ("tests",), "nodejs"),
)


def examine() -> Iterator[Finding]:
    """Look for the programs and rights that commands need."""
    for what, names, needed_for, package in _PROGRAMS:
        paths = (shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin") for name in names)
        yield Finding(what, next(filter(None, paths), None), needed_for, _INSTALL + package)
    yield Finding("network namespaces", _namespaces(), ("demo", "tests"), f"sudo sysctl -w {_switch()}")


def _namespaces() -> str | None:
    """Who we are when a new network namespace can be made, found out by making one."""
    if shutil.which("unshare") is None:
        return None
    root = os.geteuid() == 0
    done = subprocess.run(["unshare", *([] if root else ["-r"]), "-nm", "true"], capture_output=True, check=False)
    return None if done.returncode else ("as root" if root else "as an ordinary user")


def _switch() -> str:
    """The setting that forbids unprivileged user namespaces here: Ubuntu's, or Debian's."""
    if Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns").exists():
        return "kernel.apparmor_restrict_unprivileged_userns=0"
    return "kernel.unprivileged_userns_clone=1"
