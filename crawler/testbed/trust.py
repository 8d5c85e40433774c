"""Make browsers trust the testbed's root: an NSS database, which Chromium reads from HOME and Firefox from a profile.

Nothing weaker will do: switching certificate errors off also switches coalescing off, in both browsers.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from originset.crawler.testbed.namespace import require_programs
from originset.data.errors import TestbedError


def trust_in_home(home: Path, root: Path) -> None:
    """Make a Chromium that is started with this HOME trust the certificate in the PEM file ``root``."""
    trust_in_database(home / ".pki" / "nssdb", root)


def trust_in_database(database: Path, root: Path) -> None:
    """Add a root to the NSS database in a folder (a Firefox profile is one), which is made where it is missing."""
    require_programs("certutil")
    database.mkdir(parents=True, exist_ok=True)
    if not (database / "cert9.db").exists():
        _certutil(database, "-N", "--empty-password")
    _certutil(database, "-A", "-t", "C,,", "-n", "originset testbed", "-i", str(root))


def _certutil(database: Path, *arguments: str) -> None:
    done = subprocess.run(
        ["certutil", "-d", f"sql:{database}", *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise TestbedError(f"certutil failed on {database}: {done.stderr.strip()}")
