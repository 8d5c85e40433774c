"""Shares of a site's clients by browser and protocol, and what a name saves on average over them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

# Which saving each kind of client has. Firefox over HTTP/3 and other clients are counted with nothing: the first heeds
# no ORIGIN frame there, and what the others do is not known.
_SAVING = {
    "chromium_h2": "connections_saved_chromium",
    "chromium_h3": "connections_saved_chromium_h3",
    "firefox_h2": "connections_saved_firefox",
}


class ClientMix(msgspec.Struct, frozen=True, kw_only=True):
    """Shares between 0 and 1 that add up to 1."""

    chromium_h2: float = 0.0
    chromium_h3: float = 0.0
    firefox_h2: float = 0.0
    firefox_h3: float = 0.0
    other: float = 0.0

    def saved(self, row: Mapping[str, Any]) -> float | None:
        """Connections that a name saves, ``row`` of ``certificate_additions``; None where a share's are not known."""
        weighed = 0.0
        for kind, column in _SAVING.items():
            share = getattr(self, kind)
            if share and row[column] is None:
                return None
            weighed += share * (row[column] or 0)
        return round(weighed, 6)
