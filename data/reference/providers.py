"""Providers of shared edges: a small table of what can be read about them in public, dated and with sources."""

from __future__ import annotations

import hashlib
import tomllib
from functools import cache
from importlib import resources
from typing import Any

import polars as pl

from originset.data.schema.study_tables import PROVIDERS

_FILE = "providers.toml"


@cache
def providers() -> pl.DataFrame:
    """Rows of ``providers``, by name. Keys that the file lacks are NULL: not known."""
    rows = [
        {**entry, "source": entry["sources"], "dated": _file_content()["dated"], "name_limit": entry.get("name_limit")}
        for entry in _entries()
    ]
    names = PROVIDERS.polars_schema.names()
    return pl.DataFrame(
        [{name: row.get(name) for name in names} for row in rows], schema=PROVIDERS.polars_schema, orient="row"
    ).sort("provider")


def provider_of_as() -> dict[int, str]:
    """AS number to provider: no AS has two."""
    return dict(providers().select("asns", "provider").explode("asns").drop_nulls().iter_rows())


def edge_asns() -> dict[int, str]:
    """AS number to provider, where any address of the AS is one of the provider's edge servers."""
    return {
        asn: entry["provider"]
        for entry in _entries()
        if entry["network_is_edge"] and not entry.get("ranges")
        for asn in entry["asns"]
        if asn not in entry.get("asns_not_edge", ())
    }


def edge_ranges() -> dict[str, str]:
    """Prefix to provider, where providers publish at which addresses their edge servers are."""
    return {prefix: entry["provider"] for entry in _entries() for prefix in entry.get("ranges", ())}


def described() -> dict[str, str]:
    """A description of the table, for the study's manifest."""
    content = _content()
    return {
        "source": "originset's own table of providers, each with its sources",
        "date": _file_content()["dated"],
        "sha256": hashlib.sha256(content).hexdigest(),
    }


def _entries() -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = _file_content()["provider"]
    return entries


@cache
def _file_content() -> dict[str, Any]:
    return tomllib.loads(_content().decode())


def _content() -> bytes:
    return resources.files("originset.data.reference").joinpath(_FILE).read_bytes()
