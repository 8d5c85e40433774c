"""Columns of addresses as text to numbers: IPv4 by arithmetic on all characters at once, IPv6 by the C library."""

from __future__ import annotations

import socket

import numpy as np
import numpy.typing as npt
import polars as pl

Numbers = npt.NDArray[np.uint64]

_DOT, _ZERO = ord("."), ord("0")


def parse(texts: pl.Series, bits: int) -> Numbers:
    """Addresses of one family (``bits``: 32 or 128) as rows of unsigned numbers of 64 bits, most significant first.

    One column for IPv4, two for IPv6. Four decimal numbers without leading zeros, or what inet_pton(3) takes for IPv6:
    as pyasn.

    Raises:
        ValueError: something is no address of this family.
    """
    if not len(texts):
        return np.empty((0, bits // 64 or 1), dtype=np.uint64)
    if bits == 32:
        numbers = _parse_v4(texts)
        return _refuse(texts, socket.AF_INET) if numbers is None else numbers
    try:
        packed = b"".join([socket.inet_pton(socket.AF_INET6, text) for text in texts.to_list()])
    except (OSError, ValueError):
        return _refuse(texts, socket.AF_INET6)
    return np.frombuffer(packed, dtype=">u8").astype(np.uint64).reshape(-1, 2)


def _parse_v4(texts: pl.Series) -> Numbers | None:
    """None where something is no address."""
    _, offsets, content = texts.rechunk().to_arrow(compat_level=pl.CompatLevel.oldest()).buffers()
    if content is None:
        return None
    starts_and_end = np.frombuffer(offsets, dtype=np.int64, count=len(texts) + 1)
    characters = np.frombuffer(content, dtype=np.uint8)[starts_and_end[0] : starts_and_end[-1]]
    bounds = starts_and_end - starts_and_end[0]
    is_dot = characters == _DOT
    dots = np.flatnonzero(is_dot)
    digits = characters - np.uint8(_ZERO)  # what comes before "0" wraps round to large numbers
    if len(dots) != 3 * len(texts) or not (is_dot | (digits <= 9)).all():
        return None
    # Row by row the four parts' ends; a text with more dots than three makes a length impossible here or in its
    # neighbour.
    ends = np.column_stack([dots.reshape(-1, 3), bounds[1:]])
    begins = np.column_stack([bounds[:-1], dots.reshape(-1, 3) + 1])
    lengths = ends - begins
    if (lengths < 1).any() or (lengths > 3).any():
        return None
    leading = digits[begins]
    if ((leading == 0) & (lengths > 1)).any():
        return None
    parts = digits[ends - 1].astype(np.uint16)
    parts += np.where(lengths > 1, digits[ends - 2], 0) * np.uint16(10)
    parts += np.where(lengths > 2, leading, 0) * np.uint16(100)
    if (parts > 255).any():
        return None
    return np.ascontiguousarray(parts.astype(np.uint8)).view(">u4").astype(np.uint64)


def _refuse(texts: pl.Series, family: socket.AddressFamily) -> Numbers:
    for text in texts:
        try:
            socket.inet_pton(family, text)
        except (OSError, ValueError):
            break
    version = 4 if family == socket.AF_INET else 6
    raise ValueError(f"no IPv{version} address: {text[:60]!r}")
