"""The completeness marker, ``ledger.leases`` beside a ledger: it shows that the ledger has every visit that was begun.

The file counts the leases, as the ledger does. A ledger that lost rows, because its log was cut, an earlier copy took
its place or it was begun anew, has fewer leases than the file, or another mark. If it has as many, it has every visit
that was begun: a capture of a visit that is not done in the ledger belongs to a visit that is leased.
"""

from __future__ import annotations

import os
import re
import threading
from pathlib import Path

from originset.data.files.atomic_files import read_whole, replacing
from originset.data.files.nofollow import remove_file

# A ledger's mark and the count, of a fixed width, so that a count is overwritten in place.
_CONTENT = re.compile(rb"([0-9a-f]{16}) ([0-9]{20})\n")


class CompletenessMarker:
    """The marker of the ledger at ``ledger``; :meth:`note` may be called from several threads."""

    def __init__(self, ledger: Path) -> None:
        self._path = ledger.with_suffix(".leases")
        self._mark: str | None = None
        self._count = 0
        self._lock = threading.Lock()

    def read(self) -> tuple[str, int] | None:
        """The mark and the count of leases in the file; None without a file that has them."""
        try:
            content = _CONTENT.fullmatch(read_whole(self._path, 100))
        except (OSError, OverflowError):
            return None
        return None if content is None else (content[1].decode(), int(content[2]))

    def is_of(self, noted: tuple[str, int], mark: str, count: int) -> bool:
        """Whether what :meth:`read` gave is of a ledger with this mark, which has no fewer leases."""
        if noted[0] != mark or noted[1] > count:
            return False
        self._mark = mark
        return True

    def set(self, mark: str, count: int) -> None:
        """Write the file. From now on leases are counted in it."""
        with replacing(self._path) as replacement:
            replacement.write_bytes(_content(mark, count))
        self._mark, self._count = mark, count

    def clear(self) -> None:
        """Remove the file, before captures come that the ledger may lack."""
        self._mark = None
        remove_file(self._path.parent, self._path.name)

    def note(self, count: int) -> None:
        """Write the count of leases, if the marker is set and the count grew."""
        with self._lock:
            if self._mark is None or count <= self._count:
                return
            try:
                file = os.open(self._path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            except FileNotFoundError:  # somebody removed it, so that the next crawl looks through the captures
                self._mark = None
                return
            try:
                # Not synchronised: after a power cut the count can be too small, but then the ledger has the leases.
                os.pwrite(file, _content(self._mark, count), 0)
            finally:
                os.close(file)
            self._count = count


def _content(mark: str, count: int) -> bytes:
    return b"%s %020d\n" % (mark.encode(), count)
