"""Make browsers trust one more root, by an NSS database: Chromium reads HOME's, Firefox its profile's.

Nothing weaker will do: switching certificate errors off also switches coalescing off, in both browsers.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from originset.crawler.programs import require_programs
from originset.data.errors import BrowserError


def trust_in_home(home: Path, root: Path) -> None:
    """Make a Chromium that is started with this HOME trust the certificate in the PEM file ``root``."""
    trust_in_database(home / ".pki" / "nssdb", root)


def trust_in_database(database: Path, root: Path) -> None:
    """Add a root to the NSS database in a folder (a Firefox profile is one), which is made where it is missing."""
    require_programs("certutil")
    database.mkdir(parents=True, exist_ok=True)
    if not (database / "cert9.db").exists():
        _certutil(database, "-N", "--empty-password")
    _certutil(database, "-A", "-t", "C,,", "-n", "originset", "-i", str(root))


def _certutil(database: Path, *arguments: str) -> None:
    done = subprocess.run(
        ["certutil", "-d", f"sql:{database}", *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise BrowserError(f"certificates of {database}", f"certutil failed: {done.stderr.strip()}")
