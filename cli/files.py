"""Files that commands write where the user says."""

from __future__ import annotations

import os
from pathlib import Path

from originset.data.errors import UsageError
from originset.data.files import replacing


def write_text(path: Path, text: str) -> None:
    """Write a whole file in UTF-8, or none; raises as :func:`write_bytes`."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Write a whole file or none, where a link leads; a device or a pipe, such as /dev/stdout, is written to.

    Raises:
        UsageError: the place cannot be written.
    """
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(content)
            return
        place = Path(os.path.realpath(path))
        place.parent.stat()  # a folder that is not there is a slip of the pen: none is made
        with replacing(place) as beside:
            beside.write_bytes(content)
    except OSError as error:
        raise UsageError(f"{path} cannot be written ({error.strerror})", "name another place with --out") from error
