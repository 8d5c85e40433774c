"""Strangers' texts made fit to be shown: hosts, addresses and titles hold whatever their owners like."""

from __future__ import annotations

import unicodedata

_MOST = 120

# Marks that change the direction of what stands around them (Unicode Standard Annex 9).
_BIDI = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


def shown(text: str, most: int = _MOST) -> str:
    """At most ``most`` characters, shortened in the middle; what is not printable or turns the line is replaced."""
    if len(text) > most:
        half = (most - 1) // 2
        text = f"{text[:half]}\N{HORIZONTAL ELLIPSIS}{text[-half:]}"
    return "".join(c if _harmless(c) else "\N{REPLACEMENT CHARACTER}" for c in text)


def _harmless(character: str) -> bool:
    return character.isprintable() and unicodedata.bidirectional(character) not in _BIDI
