"""Host names to registrable domains, by the public suffix list that tldextract carries: never by the network.

Private suffixes count (``alice.github.io`` and ``bob.github.io`` are two domains): what matters here is who can speak
for a name, and a platform's customers cannot speak for one another.
"""

from __future__ import annotations

import hashlib
from functools import cache, lru_cache
from importlib import metadata, resources

import polars as pl
import tldextract

from originset.analysis.har.urls import canonical_ip
from originset.data.schema import TABLES


@cache
def _extract(private: bool) -> tldextract.TLDExtract:
    return tldextract.TLDExtract(cache_dir=None, suffix_list_urls=(), include_psl_private_domains=private)


@lru_cache(maxsize=100_000)
def registrable_domain(host: str) -> str | None:
    """Public suffix plus one label, of a lower-case A-label.

    A private suffix itself (``s3.amazonaws.com``) belongs to its owner's domain by the suffixes of registries. A
    top-level domain that is not on the list is a suffix, by the list's own algorithm. None for an address, for a
    registry's suffix, and for a single label (``localhost``).
    """
    if canonical_ip(host) is not None:
        return None
    for private in (True, False):
        parts = _extract(private).extract_str(host)
        if domain := parts.top_domain_under_public_suffix:
            return domain
        if not parts.suffix:
            return ".".join(host.split(".")[-2:]) if "." in host else None
    return None


def host_rows(hosts: pl.Series) -> pl.DataFrame:
    """Rows of ``hosts`` for distinct host names."""
    distinct = hosts.drop_nulls().unique().sort()
    domains = [registrable_domain(host) for host in distinct]
    return pl.DataFrame({"host": distinct, "registrable_domain": domains}, schema=TABLES["hosts"].polars_schema)


def suffix_list() -> dict[str, str]:
    """Which public suffix list is in use."""
    snapshot = resources.files("tldextract").joinpath(".tld_set_snapshot").read_bytes()
    return {
        "source": f"public suffix list in tldextract {metadata.version('tldextract')}, private suffixes included",
        "sha256": hashlib.sha256(snapshot).hexdigest(),
    }
