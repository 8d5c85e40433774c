"""Tranco's rankings (Le Pochat et al., NDSS 2019): downloaded once and kept, named by an id that never changes.

``tranco:ID`` is a whole list, ``tranco:ID:N`` its first N, ``tranco:latest`` the newest of the standard ones. Tranco
serves ``/top-1m-id`` (the id of the newest) and ``/download/ID/N`` (``rank,domain`` a line; N may be ``full``).
"""

from __future__ import annotations

import http.client
import os
import re
import tempfile
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from originset.crawler.downloads.public_connection import ClosingRedirectHandler
from originset.data.errors import InputError

PREFIX = "tranco:"
SERVER = "https://tranco-list.eu"

_ID = re.compile(r"[A-Z0-9]{4,10}")
_SOURCE = re.compile(r"tranco:(?P<id>latest|[A-Z0-9]{4,10})(?::(?P<count>[1-9][0-9]{0,7}))?")
_TIMEOUT_S = 60.0
_LARGEST = 1 << 30
_OPENER = urllib.request.build_opener(ClosingRedirectHandler)


@dataclass(frozen=True, slots=True)
class Ranking:
    """One list: ``data`` is its whole text, of which the first ``count`` lines are meant (None: all)."""

    id: str
    count: int | None
    url: str
    data: bytes


def fetch_ranking(source: str, server: str | None = None, cache: Path | None = None) -> Ranking:
    """The list that ``tranco:ID[:N]`` names, from the cache where it was downloaded before.

    Raises:
        InputError: it is not named so, cannot be downloaded, or is none.
    """
    server = SERVER if server is None else server
    named = _SOURCE.fullmatch(source)
    if named is None:
        raise InputError(source, "not-tranco", "a Tranco list is tranco:ID, tranco:ID:N or tranco:latest[:N]")
    list_id = named["id"]
    if list_id == "latest":
        list_id = _download(source, f"{server}/top-1m-id").decode("ascii", "replace").strip()
        if _ID.fullmatch(list_id) is None:
            raise InputError(source, "not-tranco", "Tranco's answer names no list")
    url = f"{server}/download/{list_id}/full"
    folder = platformdirs.user_cache_path("originset") / "tranco" if cache is None else cache
    path = folder / f"{list_id}.csv"
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        data = _download(source, url)
        # A list that is not there is answered with a page that says so.
        if re.match(rb"1,[^,\s<>]+\r?\n", data) is None:
            raise InputError(source, "not-tranco", f"{url} is no list of rank,domain") from None
        _write_whole(path, data)
    except OSError as error:
        raise InputError(str(path), "unreadable", f"cannot be read ({error.strerror})") from error
    count = None if named["count"] is None else int(named["count"])
    return Ranking(list_id, count, url, data)


def _write_whole(path: Path, data: bytes) -> None:
    """Whole or not at all, whoever else does the same."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(data)
        Path(file.name).replace(path)
    except OSError as error:
        raise InputError(str(path), "unwritable", f"cannot be written ({error.strerror or os.strerror(5)})") from error


def _download(source: str, url: str) -> bytes:
    try:
        with _OPENER.open(url, timeout=_TIMEOUT_S) as answer:
            data: bytes = answer.read(_LARGEST)
            missing: int | None = answer.length  # of the length that it says; None where it says none
    except urllib.error.HTTPError as error:
        error.close()
        raise InputError(source, "no-download", f"{url} was answered {error.code}") from error
    except (OSError, http.client.HTTPException, ValueError) as error:  # ValueError: of a redirect to no URL
        reason = getattr(error, "reason", error)
        raise InputError(source, "no-download", f"{url} cannot be downloaded ({reason})") from error
    if missing:
        raise InputError(source, "no-download", f"{url} was cut off: {missing} bytes less than it says came")
    return data
