"""Texts for the report: strangers' texts made safe to print, numbers with nouns, lists."""

from __future__ import annotations

import unicodedata
from typing import Any

from originset.data.quantity import quantity

_LONGEST = 120

# Characters that change the direction of the text around them (Unicode Standard Annex 9).
_BIDI = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


def printable_excerpt(text: str, most: int = _LONGEST) -> str:
    """A stranger's text in at most ``most`` characters, shortened in the middle; unsafe characters are replaced.

    Unsafe are characters that are not printable, and those that change the direction of text.
    """
    if len(text) > most:
        half = (most - 1) // 2
        text = f"{text[:half]}\N{HORIZONTAL ELLIPSIS}{text[-half:]}"
    return "".join(c if _harmless(c) else "\N{REPLACEMENT CHARACTER}" for c in text)


def _harmless(character: str) -> bool:
    return character.isprintable() and unicodedata.bidirectional(character) not in _BIDI


def enumerated(texts: list[str], most: int) -> str:
    """``a, b and 3 more``: the first ``most`` of the texts."""
    first_texts = ", ".join(texts[:most])
    return first_texts if len(texts) <= most else f"{first_texts} and {len(texts) - most:,} more"


def between_numbers(low: float, high: float, noun: str = "") -> str:
    """``3``, ``3 to 5``, each with the noun: ``1 connection``, ``0 to 2 connections``."""
    first, last = sorted((round(low), round(high)))
    if not noun:
        return f"{last:,}" if first == last else f"{first:,} to {last:,}"
    return quantity(last, noun) if first == last else f"{first:,} to {quantity(last, noun)}"


def less_or_more(saved_pct: float, digits: int = 0) -> str:
    """``38 % less`` for 38, ``74 % more`` for -74; ``digits`` after the point."""
    text = f"{abs(saved_pct):.{digits}f}"
    return f"{text} % {'more' if saved_pct < 0 and float(text) else 'less'}"


def without_fraction(value: Any) -> Any:  # noqa: ANN401 - whatever a column holds
    """A number without a fraction as an integer, anything else as it is."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def between(low_pct: float, high_pct: float) -> str:
    """Two bounds for the number of :func:`less_or_more`: the smaller first, or ``5 more to 9 less``."""
    low, high = (f"{abs(bound):.0f}" for bound in (low_pct, high_pct))
    if low_pct < 0 < high_pct:
        return f"{low} more to {high} less"
    return f"{low}\N{EN DASH}{high}" if low_pct >= 0 else f"{high}\N{EN DASH}{low}"
