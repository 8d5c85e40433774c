"""Folders for what browsers write while they run, and the removal of those whose crawl was killed.

Each holds a file that its crawl keeps locked; the kernel unlocks it when the crawl ends, however that comes about.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PREFIX = "originset-"
_OWNER = "owner"

# sun_path of unix(7) holds 107 bytes, and Chromium's socket lies in a folder of its own within ours.
_LONGEST_ROOT = 107 - len("/originset-01234567/t/org.chromium.Chromium.scoped_dir.012345/SingletonSocket")


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A new folder that goes when the block ends, or with the next :func:`sweep` if we are killed in it."""
    with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=_root(), ignore_cleanup_errors=True) as name:
        folder = Path(name)
        beside = folder / f".{_OWNER}"
        with beside.open("wb") as owner:
            fcntl.flock(owner, fcntl.LOCK_EX)
            beside.rename(folder / _OWNER)  # it is locked from the moment when it can be found
            yield folder


def sweep() -> int:
    """Remove the folders of dead crawls of this user; how many."""
    removed = 0
    for folder in sorted(_root().glob(f"{_PREFIX}*")):
        with contextlib.suppress(OSError):
            status = folder.lstat()
            if stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and _is_abandoned(folder / _OWNER):
                shutil.rmtree(folder)
                removed += 1
    return removed


def _is_abandoned(owner: Path) -> bool:
    """Whether nobody keeps the file locked.

    Raises:
        OSError: there is none, or it cannot be opened.
    """
    descriptor = os.open(owner, os.O_RDWR | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


def _root() -> Path:
    """Where temporary folders go: as the system says, unless Chromium's socket there would have too long a name."""
    root = tempfile.gettempdir()
    return Path(root if len(root) <= _LONGEST_ROOT else "/tmp")  # noqa: S108 - a folder of our own in it
