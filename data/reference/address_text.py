"""Columns of addresses as text to numbers, by arithmetic on all of their characters at once."""

from __future__ import annotations

import socket
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

Numbers = npt.NDArray[np.uint64]
_Bytes = npt.NDArray[np.uint8]
_Places = npt.NDArray[np.int32]

# So few that intermediate results stay in the processor's cache, which halves the time.
_V4_ROWS, _V6_ROWS = 1 << 15, 1 << 12

_DIGITS_KEPT = np.array([0, 0xF, 0xFF, 0xFFF, 0xFFFF], dtype=np.uint16)


def parse(texts: pl.Series, bits: int) -> Numbers:
    """Addresses of one family (``bits``: 32 or 128) as rows of unsigned numbers of 64 bits, most significant first.

    One column for IPv4, two for IPv6. What inet_pton(3) takes, as in pyasn: for IPv4 four decimal numbers without
    leading zeros.

    Raises:
        ValueError: something is no address of this family.
    """
    rows, read = (_V4_ROWS, _read_v4) if bits == 32 else (_V6_ROWS, _read_v6)
    numbers = np.empty((len(texts), bits // 64 or 1), dtype=np.uint64)
    for start in range(0, len(texts), rows):
        numbers[start : start + rows] = read(texts.slice(start, rows))
    return numbers


def _read_v4(texts: pl.Series) -> Numbers:
    numbers = _four_parts(*_characters(texts))
    if numbers is None:
        return _by_the_library(texts, socket.AF_INET, ">u4").astype(np.uint64)
    return numbers


def _four_parts(characters: _Bytes, bounds: _Places) -> Numbers | None:
    """None if an address does not have this form."""
    count = len(bounds) - 1
    is_dot = characters == ord(".")
    dots = np.flatnonzero(is_dot).astype(np.int32)
    digits = characters - np.uint8(ord("0"))  # what comes before "0" wraps round to large numbers
    if len(dots) != 3 * count or not (is_dot | (digits <= 9)).all():
        return None
    # Part by part the rows' ends; a text with more dots than three makes a length impossible here or in its neighbour.
    inner = dots.reshape(-1, 3).T
    ends = np.concatenate([inner, bounds[np.newaxis, 1:]])
    begins = np.concatenate([bounds[np.newaxis, :-1], inner + np.int32(1)])
    lengths = ends - begins
    if lengths.min() < 1 or lengths.max() > 3:
        return None
    leading = digits[begins]
    if ((leading == 0) & (lengths > 1)).any():
        return None
    parts = digits[ends - 1].astype(np.uint32)
    parts += digits[ends - 2] * (lengths > 1) * np.uint32(10)
    parts += leading * (lengths > 2) * np.uint32(100)
    if parts.max() > 255:
        return None
    numbers: Numbers = ((parts[0] << 24) | (parts[1] << 16) | (parts[2] << 8) | parts[3]).astype(np.uint64)
    return numbers[:, np.newaxis]


def _read_v6(texts: pl.Series) -> Numbers:
    words, read = _eight_words(*_characters(texts + ":"))
    numbers = words.astype(">u2").view(">u8").astype(np.uint64)
    others = np.flatnonzero(~read)
    if len(others):  # an IPv4 address in the end, or no address at all
        numbers[others] = _by_the_library(texts.gather(others), socket.AF_INET6, ">u8")
    return numbers


def _eight_words(characters: _Bytes, bounds: _Places) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.bool_]]:
    """Eight numbers a row, and for which rows they are known: those of hexadecimal words, each followed by a colon."""
    values, begins, ends = _words(characters)
    lengths = ends - begins
    last = np.searchsorted(ends, bounds[1:] - 1)
    first = np.append(0, last[:-1] + 1)
    counts = last - first + 1
    read = np.ones(len(last), dtype=np.bool_)
    are_hexadecimal = ((characters - np.uint8(ord("0"))) <= 10) | (
        ((characters | 0x20) - np.uint8(ord("a"))) <= 5
    )  # 10: a colon
    if not are_hexadecimal.all():
        read[np.searchsorted(bounds, np.flatnonzero(~are_hexadecimal), side="right") - 1] = False
    read[np.searchsorted(last, np.flatnonzero(lengths > 4))] = False
    empty = lengths == 0
    if not empty.any() and (counts == 8).all():
        return values.reshape(-1, 8), read
    # Two colons stand for zeros, once a row: an empty word, and one more before or after it at either end of the text.
    until = np.cumsum(empty)
    before = until[first] - empty[first]
    gaps = until[last] - before
    at_start, at_end = empty[first], empty[last]
    once = gaps - at_start - at_end == 1
    once &= ~at_start | empty[np.minimum(first + 1, last)]
    once &= ~at_end | empty[np.maximum(last - 1, first)]
    read &= np.where(gaps == 0, counts == 8, once & (counts - gaps < 8))
    rows = np.repeat(np.arange(len(last)), counts)
    columns = np.arange(len(ends)) - first[rows]
    columns += np.where(until == before[rows], 0, 8 - counts[rows])  # what comes after the gap counts from the end
    has_digits = ~empty & read[rows]
    words = np.zeros((len(last), 8), dtype=np.uint16)
    words[rows[has_digits], columns[has_digits]] = values[has_digits]
    return words, read


def _words(characters: _Bytes) -> tuple[npt.NDArray[np.uint16], _Places, _Places]:
    """The number in up to four hexadecimal digits before each colon, and where these begin and end."""
    digits = np.zeros(len(characters) + 3, dtype=np.uint8)
    digits[3:] = (characters & 0xF) + 9 * (characters >> 6)  # letters are above 64
    pairs = (digits[:-1] << np.uint8(4)) | digits[1:]
    # Of each character the number that it and the three before it would be.
    fours = (pairs[:-2].astype(np.uint16) << np.uint16(8)) | pairs[2:]
    ends = np.flatnonzero(characters == ord(":")).astype(np.int32)
    begins = np.append(np.int32(0), ends[:-1] + np.int32(1))
    values: npt.NDArray[np.uint16] = fours[ends - 1] & _DIGITS_KEPT.take(ends - begins, mode="clip")
    return values, begins, ends


def _characters(texts: pl.Series) -> tuple[_Bytes, _Places]:
    """All bytes of a column that has some rows, and where each row begins and the last one ends."""
    _, offsets, content = texts.rechunk().to_arrow(compat_level=pl.CompatLevel.oldest()).buffers()
    bounds = np.frombuffer(offsets, dtype=np.int64, count=len(texts) + 1)
    characters = np.frombuffer(content or b"", dtype=np.uint8)[bounds[0] : bounds[-1]]
    return characters, (bounds - bounds[0]).astype(np.int32)


def _by_the_library(texts: pl.Series, family: socket.AddressFamily, number: str) -> npt.NDArray[Any]:
    packed = b"".join(_packed(text, family) for text in texts)
    return np.frombuffer(packed, dtype=number).reshape(len(texts), -1)


def _packed(text: str, family: socket.AddressFamily) -> bytes:
    try:
        return socket.inet_pton(family, text)
    except (OSError, ValueError):
        version = 4 if family == socket.AF_INET else 6
        raise ValueError(f"no IPv{version} address: {text[:60]!r}") from None
