"""IP-to-AS tables in the form that lookups read, and that form kept in the user's cache.

To read a million prefixes as text and to flatten them takes a second of CPU, which each command that looks addresses up
would need; to read what was flattened takes a few hundredths.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import platformdirs
import polars as pl

from originset.data.files.atomic_files import replacing
from originset.data.reference.ranges import Prefixes

# Part of the files' names: raised where the form changes.
_FORM = 1
_DIGEST_BYTES = 32
# Of other forms, too, and what a killed command left half written.
_OURS = re.compile(r"[0-9a-f]+\.\d+|\.[0-9a-f]+\.\d+\.\d+\.tmp")
# Each has some ten megabytes; a study of many years has one for each.
_MOST_FILES = 32
_KEPT_UNUSED_S = 90 * 24 * 3600


@dataclass(frozen=True, slots=True)
class FlatTable:
    """Prefixes, and by their positions the origin ASes of each, ascending: a Series of ``List(Int64)``."""

    prefixes: Prefixes
    asns: pl.Series


def cached_flat_table(content_hash: str, flatten: Callable[[], FlatTable]) -> FlatTable:
    """The table that ``flatten`` makes of the files with this hash, from the user's cache if it was made before.

    The cache is for speed alone: a file there that is not whole is made again, and one that cannot be written is not.
    Whoever writes one removes those that nobody used for 90 days, and of more than 32 those that were used longest ago.
    """
    path = platformdirs.user_cache_path("originset") / "ip-to-as" / f"{content_hash}.{_FORM}"
    with suppress(OSError):
        content = path.read_bytes()
        if hashlib.sha256(content[_DIGEST_BYTES:]).digest() == content[:_DIGEST_BYTES]:
            with suppress(OSError):
                os.utime(path)  # it was used now
            return _decoded_table(content[_DIGEST_BYTES:])
    table = flatten()
    with suppress(OSError):
        _write_cache(path, _encoded_table(table))
    return table


def _write_cache(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path, private=True) as temporary:
        temporary.write_bytes(hashlib.sha256(content).digest() + content)
    _prune(path.parent)


def _prune(folder: Path) -> None:
    """Remove the files that were used longest ago. Others may do the same: who reads one has it, or makes it again."""
    used: list[tuple[float, str]] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if _OURS.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with suppress(FileNotFoundError):
                    used.append((entry.stat(follow_symlinks=False).st_mtime, entry.name))
    used.sort(reverse=True)
    oldest = time.time() - _KEPT_UNUSED_S
    for place, (when, name) in enumerate(used):
        if place >= _MOST_FILES or when < oldest:
            (folder / name).unlink(missing_ok=True)


def _encoded_table(table: FlatTable) -> bytes:
    """One row of Arrow IPC, whose columns are lists."""
    (v4_starts, v4_owners), (v6_starts, v6_owners) = table.prefixes.families
    halves = v6_starts.view(">u8").reshape(-1, 2).astype(np.uint64)
    columns = {
        "v4_starts": pl.Series(v4_starts, dtype=pl.UInt32),
        "v4_owners": pl.Series(v4_owners, dtype=pl.Int32),
        "v6_upper": pl.Series(halves[:, 0]),
        "v6_lower": pl.Series(halves[:, 1]),
        "v6_owners": pl.Series(v6_owners, dtype=pl.Int32),
        "asns": table.asns.cast(pl.List(pl.UInt32)),
    }
    file = io.BytesIO()
    pl.DataFrame([column.implode().alias(name) for name, column in columns.items()]).write_ipc(file, compression="lz4")
    return file.getvalue()


def _decoded_table(content: bytes) -> FlatTable:
    row = pl.read_ipc(content)
    v6_starts = np.stack([row["v6_upper"][0].to_numpy(), row["v6_lower"][0].to_numpy()], axis=1).astype(">u8")
    families = [
        (row["v4_starts"][0].to_numpy(), row["v4_owners"][0].to_numpy().astype(np.int64)),
        (v6_starts.view("S16")[:, 0], row["v6_owners"][0].to_numpy().astype(np.int64)),
    ]
    return FlatTable(Prefixes.from_families(families), row["asns"][0].cast(pl.List(pl.Int64)))
