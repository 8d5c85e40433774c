"""Programs of the system that parts of this one need: found on PATH, or named with the package that has them."""

from __future__ import annotations

import os
import shutil

from originset.data.errors import MissingDependency

_PACKAGES = {
    "unshare": "util-linux",
    "setpriv": "util-linux",
    "mount": "mount",
    "ip": "iproute2",
    "certutil": "libnss3-tools",
    "node": "nodejs",
}


def require_programs(*programs: str) -> None:
    """Raise ``MissingDependency`` for the first of these programs that is not installed."""
    for program in programs:
        if shutil.which(program, path=search_path()) is None:
            raise MissingDependency(f"the program {program}", f"apt-get install {_PACKAGES.get(program, program)}")


def search_path() -> str:
    """PATH, and the folders where ip lives, which Debian leaves out of ordinary users' PATH."""
    return os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])
