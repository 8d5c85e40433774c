"""Registrable domains of host names, by a public suffix list on disk; nothing is fetched.

Private suffixes count (``alice.github.io`` and ``bob.github.io`` are two domains): a registrable domain stands for one
owner, and the customers of a platform are different owners.
"""

from __future__ import annotations

import io
from functools import cache, lru_cache
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import requests
import tldextract

from originset.data.host_names import canonical_ip


class _FileAdapter(requests.adapters.BaseAdapter):
    """Reads a list for tldextract, whose own reader guesses the encoding and leaves the file open."""

    def send(self, request: requests.PreparedRequest, *_: object, **__: object) -> requests.Response:
        response = requests.Response()
        response.status_code = 200
        response.encoding = "utf-8"
        response.raw = io.BytesIO(Path(url2pathname(urlsplit(request.url or "").path)).read_bytes())
        return response

    def close(self) -> None:
        """Nothing is open."""


@cache
def _extractor(suffix_list: Path | None, private: bool) -> tldextract.TLDExtract:
    if suffix_list is None:  # the list that tldextract carries
        return tldextract.TLDExtract(cache_dir=None, suffix_list_urls=(), include_psl_private_domains=private)
    extract = tldextract.TLDExtract(
        cache_dir=None,
        suffix_list_urls=(suffix_list.resolve().as_uri(),),
        fallback_to_snapshot=False,
        include_psl_private_domains=private,
    )
    with requests.Session() as session:
        session.mount("file://", _FileAdapter())
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
        parts = _extractor(suffix_list, private).extract_str(host)
        if domain := parts.top_domain_under_public_suffix:
            return domain
        if not parts.suffix:
            return ".".join(host.split(".")[-2:]) if "." in host else None
    return None
