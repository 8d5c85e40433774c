"""How a load went, in a few words: as docs/browser-rules.md has it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from originset.crawler.testbed.rules.observations import ObservedConnection


def outcome_summary(
    rule: str, connections: Sequence[ObservedConnection], missing: Sequence[str], *, paths: bool = True
) -> str:
    """How many connections carried requests, and which names shared one, such as ``2 (www / h3 static)``.

    With ``paths`` a name that has more than one connection is followed by what went over each.
    """
    counts = Counter(name for one in connections for name in {each.partition("/")[0] for each in one.requests})
    summaries = " / ".join(_connection_summary(rule, one, counts if paths else Counter()) for one in connections)
    lost = sorted({one.partition("/")[0] for one in missing})
    return f"{len(connections)} ({summaries})" + "".join(f", {name_in_rule(rule, name)} lost" for name in lost)


def _connection_summary(rule: str, connection: ObservedConnection, counts: Counter[str]) -> str:
    by_host: dict[str, list[str]] = {}
    for request in connection.requests:
        host, _, path = request.partition("/")
        by_host.setdefault(host, []).append(path or "page")
    refused = {request.partition("/")[0] for request in connection.misdirected}
    # The name that it was opened for first.
    order = sorted(by_host, key=lambda host: (host != connection.opened_for, host))
    words = []
    for host in order:
        detail = f" {', '.join(by_host[host])}" if counts[host] > 1 else ""
        words.append(name_in_rule(rule, host) + (":" + detail if detail else "") + (" 421" if host in refused else ""))
    mark = {"h2": "", "http/1.1": "h1 "}.get(connection.protocol, f"{connection.protocol} ")
    return mark + " ".join(words)


def name_in_rule(rule: str, name: str) -> str:
    """A host's name without what all names of its rule have in common."""
    labels = name.removesuffix(".test").split(".")
    site = labels[-1].removesuffix(rule).removesuffix("-")
    host = ".".join(labels[:-1]) or "apex"
    return f"{site}:{host}" if site else host
