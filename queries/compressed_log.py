"""Logs that gzip or zstandard compressed, told by their first bytes, as the bytes that they hold."""

from __future__ import annotations

import gzip
import io
import zlib
from typing import TYPE_CHECKING, cast

import zstandard

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_GZIP = b"\x1f\x8b"  # RFC 1952 section 2.3.1
_ZSTANDARD = b"\x28\xb5\x2f\xfd"  # RFC 8878 section 3.1.1
# A block of 4 bytes holds up to 128 KiB (RFC 8878 section 3.1.1.2): a piece unpacks to 32 MiB at most.
_PIECE = 1 << 10
_LARGEST_WINDOW = 1 << 27

#: What reading a damaged or cut file raises.
DAMAGED = (EOFError, zlib.error, gzip.BadGzipFile, zstandard.ZstdError)


def decompressed(stored: io.BufferedReader) -> io.BufferedReader:
    """What is in a compressed file, or the file as it is. Reading raises one of :data:`DAMAGED` where that is so."""
    start = stored.peek(len(_ZSTANDARD))
    if start.startswith(_GZIP):
        return io.BufferedReader(cast("io.RawIOBase", gzip.GzipFile(fileobj=stored)))
    if start.startswith(_ZSTANDARD):
        return io.BufferedReader(_Zstandard(stored))
    return stored


class _Zstandard(io.RawIOBase):
    """The content of frames, one after the other; unlike zstandard's own reader it tells that the last one is cut."""

    def __init__(self, stored: io.BufferedReader) -> None:
        self._stored = stored
        self._frame = _frame()
        self._is_begun = False
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """As the base class; raises ``EOFError`` if the last frame is cut."""
        while not self._ready:
            piece = self._frame.unused_data if self._frame.eof else b""
            piece = piece or self._stored.read(_PIECE)
            if not piece:
                if self._is_begun and not self._frame.eof:
                    raise EOFError("a frame is cut")
                return 0
            if self._frame.eof:
                self._frame = _frame()
            self._is_begun = True
            self._ready = memoryview(self._frame.decompress(piece))
        target = memoryview(buffer).cast("B")
        size = min(len(target), len(self._ready))
        target[:size], self._ready = self._ready[:size], self._ready[size:]
        return size


def _frame() -> zstandard.ZstdDecompressionObj:
    return zstandard.ZstdDecompressor(max_window_size=_LARGEST_WINDOW).decompressobj()
