"""How much of a HAR is decoded, so that a small file cannot take all memory there is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import repeat

from originset.data.errors import InputError

MAX_PARTS = 250_000
"""Entries and pages of one file: each takes up to two hundred times its text in memory. Real files have some 100."""

MAX_VALUES = 32_000_000
"""Values of a text, counted by what separates them, where few of them are decoded: up to 60 bytes each."""

LARGE = 64 << 20
"""Bytes of a text below which it cannot hold too many values."""

# If all of them are decoded, such as to find an error in a text: up to 250 bytes each.
_MAX_VALUES_LENIENTLY = 8_000_000


class TooManyPartsError(Exception):
    """A file has more than :data:`MAX_PARTS` entries and pages."""


_parts: Iterator[object] = repeat(None)


def count_part() -> None:
    """One more.

    Raises:
        TooManyPartsError: within :func:`bounded_parts`, where there were too many.
    """
    next(_parts)


@contextmanager
def bounded_parts() -> Iterator[None]:
    """Count the parts of the text that is decoded within. A struct does not know its text, so the count is global."""
    global _parts  # noqa: PLW0603
    _parts = _limited()
    try:
        yield
    finally:
        _parts = repeat(None)


def _limited() -> Iterator[None]:
    yield from repeat(None, MAX_PARTS)
    raise TooManyPartsError


def too_many_parts(source: str) -> InputError:
    """The error for a file with too many parts."""
    return InputError(source, "too-large", f"more than {MAX_PARTS:,} entries and pages")


def require_values(text: bytes, source: str, most: int = _MAX_VALUES_LENIENTLY) -> None:
    """Limit the memory that decoding a text can take.

    Raises:
        InputError: it has more than ``most`` values.
    """
    if len(text) > most and text.count(b",") + text.count(b"[") + text.count(b"{") > most:
        raise InputError(source, "too-large", f"more than {most:,} values")
