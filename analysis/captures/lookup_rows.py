"""The DNS queries of captures to rows of ``dns_queries``."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import asdict

from originset.data.captures.capture import Extension
from originset.data.host_names import normalise_host


def dns_query_rows(extensions: Iterable[Extension]) -> list[dict[str, object]]:
    """One row per query, of one visit after the other."""
    return [
        {
            **asdict(query),
            "ttl": _ttl(query.ttl),
            "visit_id": extension.visit.visit_id,
            "host": normalise_host(query.host) or query.host.lower(),
        }
        for extension in extensions
        for query in extension.dns
    ]


def _ttl(ttl: int | None) -> int | None:
    """The TTL; zero if its most significant bit is set (RFC 2181 section 8)."""
    return 0 if ttl is not None and ttl >= 1 << 31 else ttl
