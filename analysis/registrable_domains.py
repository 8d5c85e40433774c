"""Host names to registrable domains, by a public suffix list on disk: never by the network.

Private suffixes count (``alice.github.io`` and ``bob.github.io`` are two domains): what matters here is who can speak
for a name, and a platform's customers cannot speak for one another.
"""

from __future__ import annotations

import io
from functools import cache, lru_cache
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import polars as pl
import requests
import tldextract

from originset.data.host_names import canonical_ip
from originset.data.schema.study_tables import TABLES


class _OnDisk(requests.adapters.BaseAdapter):
    """Gives tldextract a list from disk: its own way to read files guesses at their encoding and leaves them open."""

    def send(self, request: requests.PreparedRequest, *_: object, **__: object) -> requests.Response:
        response = requests.Response()
        response.status_code = 200
        response.encoding = "utf-8"
        response.raw = io.BytesIO(Path(url2pathname(urlsplit(request.url or "").path)).read_bytes())
        return response

    def close(self) -> None:
        """Nothing is held open."""


@cache
def _extract(suffix_list: Path | None, private: bool) -> tldextract.TLDExtract:
    if suffix_list is None:  # the one that tldextract carries
        return tldextract.TLDExtract(cache_dir=None, suffix_list_urls=(), include_psl_private_domains=private)
    extract = tldextract.TLDExtract(
        cache_dir=None,
        suffix_list_urls=(suffix_list.resolve().as_uri(),),
        fallback_to_snapshot=False,
        include_psl_private_domains=private,
    )
    with requests.Session() as session:
        session.mount("file://", _OnDisk())
        extract.extract_str("example.com", session=session)  # it reads the list once, here
    return extract


@lru_cache(maxsize=100_000)
def registrable_domain(host: str, suffix_list: Path | None = None) -> str | None:
    """Public suffix plus one label, of a lower-case A-label.

    A private suffix itself (``s3.amazonaws.com``) belongs to its owner's domain by the suffixes of registries. A
    top-level domain that is not on the list is a suffix, by the list's own algorithm. None for an address, for a
    registry's suffix, and for a single label (``localhost``). ``suffix_list``: None for the list of tldextract.
    """
    if (":" in host or host[-1:].isdigit()) and canonical_ip(host) is not None:
        return None
    for private in (True, False):
        parts = _extract(suffix_list, private).extract_str(host)
        if domain := parts.top_domain_under_public_suffix:
            return domain
        if not parts.suffix:
            return ".".join(host.split(".")[-2:]) if "." in host else None
    return None


def host_rows(hosts: pl.Series, edges: pl.DataFrame, suffix_list: Path | None = None) -> pl.DataFrame:
    """Rows of ``hosts`` for distinct host names; ``edges`` has the columns ``host`` (once each), edge, multi_cdn."""
    distinct = hosts.drop_nulls().unique().sort()
    domains = [registrable_domain(host, suffix_list) for host in distinct]
    rows = pl.DataFrame({"host": distinct, "registrable_domain": pl.Series(domains, dtype=pl.String)})
    joined = rows.join(edges, on="host", how="left", maintain_order="left")
    return joined.match_to_schema(TABLES["hosts"].polars_schema)
