"""A number with its noun."""

from __future__ import annotations


def quantity(number: float, noun: str, several: str | None = None) -> str:
    """``1 visit``, ``2 visits``, ``1,000 visits``; ``several``: the plural, if it is not the noun with an s."""
    return f"{number:,} {noun if number == 1 else several or noun + 's'}"
