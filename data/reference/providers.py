"""Providers of shared edges: a small table of what can be read about them in public, dated and with sources."""

from __future__ import annotations

import hashlib
import tomllib
from functools import cache
from importlib import resources

import polars as pl

from originset.data.schema import PROVIDERS

_FILE = "providers.toml"


@cache
def providers() -> pl.DataFrame:
    """Rows of ``providers``, by name. What the file leaves out is NULL: not known."""
    given = tomllib.loads(_content().decode())
    rows = [
        {**entry, "source": entry["sources"], "dated": given["dated"], "name_limit": entry.get("name_limit")}
        for entry in given["provider"]
    ]
    names = PROVIDERS.polars_schema.names()
    return pl.DataFrame(
        [{name: row.get(name) for name in names} for row in rows], schema=PROVIDERS.polars_schema, orient="row"
    ).sort("provider")


def provider_of_as() -> dict[int, str]:
    """AS number to provider: no AS has two."""
    return dict(providers().select("asns", "provider").explode("asns").drop_nulls().iter_rows())


def described() -> dict[str, str]:
    """What the table is, for the study's manifest."""
    content = _content()
    return {
        "source": "originset's own table of providers, each with its sources",
        "date": tomllib.loads(content.decode())["dated"],
        "sha256": hashlib.sha256(content).hexdigest(),
    }


def _content() -> bytes:
    return resources.files("originset.data.reference").joinpath(_FILE).read_bytes()
