"""Identities that are the same wherever and whenever they are computed."""

from __future__ import annotations

import hashlib
import json


def _digest(kind: str, *parts: str | int) -> str:
    """SHA-256 over an unambiguous encoding: hostile parts cannot be shifted into one another."""
    return hashlib.sha256(json.dumps([kind, *parts], ensure_ascii=True).encode()).hexdigest()


def crawl_visit_id(site: str, vantage: str, round_number: int, page: str, repeat: int) -> str:
    """The id of a crawled visit: 16 hex digits.

    ``page`` is the landing page's ``""`` or the internal page's URL; ``round_number`` and ``repeat`` count from 1.
    """
    return _digest("crawl", site, vantage, round_number, page, repeat)[:16]


def import_visit_id(path: str, page_index: int) -> str:
    """The id of an imported page: 16 hex digits.

    ``path`` is the file's path within what was imported (so that identical files under two names stay two visits),
    ``page_index`` the page's place in the file, from 0.
    """
    return _digest("import", path, page_index)[:16]
