"""The checksum that a Parquet shard carries in its own metadata: what reads Parquet takes changed bits for others.

It is the CRC-32 of the whole file, in which its own eight digits are counted as zeros, so it goes where the file goes.
"""

from __future__ import annotations

import os
import zlib
from typing import BinaryIO

KEY = "originset.crc32"
UNKNOWN = "00000000"

# As Thrift's compact protocol has it in the footer: the key, then the value as a text of eight bytes.
_PLACE = KEY.encode() + b"\x18\x08"
_END = 8  # the footer's length and "PAR1"
_PART = 1 << 20
# One of a thousand row groups takes some 5 MB.
_LARGEST_FOOTER = 256 << 20


def seal(content: memoryview) -> None:
    """Put the checksum into a shard that was written with ``{KEY: UNKNOWN}`` in its metadata.

    Raises:
        ValueError: it was not.
    """
    footer = content[_footer(content[-_END:], len(content)) :]
    at = bytes(footer).rfind(_PLACE + UNKNOWN.encode())
    if at < 0:
        raise ValueError("there is no place for a checksum")
    at += len(_PLACE)
    footer[at : at + len(UNKNOWN)] = b"%08x" % zlib.crc32(content)


def is_unchanged(file: BinaryIO) -> bool:
    """Whether a shard has the bytes that were written; true of one that an earlier version wrote, without a checksum.

    A file is read once by each process, unless it changes.

    Raises:
        OSError: it cannot be read.
    """
    status = os.fstat(file.fileno())
    file_state = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
    if file_state not in _unchanged:
        if not _is_unchanged(file, status.st_size):
            return False
        _unchanged.add(file_state)
    return True


# Files that were read and found to be as they were written.
_unchanged: set[tuple[int, int, int, int]] = set()


def _is_unchanged(file: BinaryIO, size: int) -> bool:
    file.seek(max(0, size - _END))
    begin = _footer(file.read(_END), size)
    if size - begin > _LARGEST_FOOTER:
        return False
    file.seek(begin)
    footer = file.read()
    at = footer.rfind(_PLACE)
    if at < 0:
        return True
    at += len(_PLACE)
    noted = footer[at : at + len(UNKNOWN)]
    file.seek(0)
    left, crc = begin, 0
    while left and (part := file.read(min(left, _PART))):
        crc = zlib.crc32(part, crc)
        left -= len(part)
    crc = zlib.crc32(footer[:at] + UNKNOWN.encode() + footer[at + len(UNKNOWN) :], crc)
    return noted == b"%08x" % crc


def _footer(end: bytes | memoryview, size: int) -> int:
    """The offset of the footer, from the file's last bytes."""
    length = int.from_bytes(end[:4], "little")
    return max(0, size - _END - length)
