"""Files that commands write where the user says."""

from __future__ import annotations

import os
from pathlib import Path

from originset.data.errors import UsageError


def write_text(path: Path, text: str) -> None:
    """Write a whole file in UTF-8, or none; raises as :func:`write_bytes`."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Write a whole file or none: beside its place, then renamed over it.

    Raises:
        UsageError: the place cannot be written.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        beside.write_bytes(content)
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise UsageError(f"{path} cannot be written ({error.strerror})", "name another place with --out") from error
