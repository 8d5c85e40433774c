"""The certificate's names as JSON, for tools of one's own: the full list and the difference."""

from __future__ import annotations

import json

from originset.cli.writers.name_list import NameList


def render(chosen: NameList) -> str:
    """The text, ASCII: ``certificates`` (names, addresses, added), ``ask`` and ``left_out`` (name, reason)."""
    content = {
        "format": "originset-certificate",
        "version": 1,
        "site": chosen.site,
        "certificates": [
            {"names": entry.names, "addresses": entry.addresses, "added": entry.added} for entry in chosen.certificates
        ],
        "ask": chosen.ask,
        "left_out": [{"name": name, "reason": reason} for name, reason in chosen.left_out],
    }
    return json.dumps(content, indent=2) + "\n"
