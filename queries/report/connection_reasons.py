"""Why one connection is redundant: a few words for a list, and what was seen of it and of the earlier connection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from originset.queries.report.printable_text import enumerated

#: Every cause of the table redundant_connections in a few words.
WORDS_OF_CAUSES = {
    "H1": "HTTP/1.1",
    "PROTO_MIX": "another HTTP version",
    "CRED": "credentials apart",
    "PARTITION": "frames of other sites",
    "PORT_SCHEME": "another port",
    "IP": "another address",
    "CERT": "not in the certificate",
    "CERT+IP": "not in the certificate, another address",
    "ORIGIN_EXCLUDED": "left out of the ORIGIN frame",
    "ORIGIN_UNSUPPORTED": "ORIGIN frame not heeded",
    "RACE": "started too early",
    "MISDIRECTED": "refused (421)",
    "LIFETIME": "closed before",
    "SPECIAL": "WebSocket",
    "UNKNOWN": "no known obstacle",
    "NOT_DECIDABLE": "the recording does not show why",
}


def short_reason(entry: Mapping[str, Any]) -> str:
    """A connection's cause in a few words."""
    return WORDS_OF_CAUSES[entry["cause"]]


def seen_sentences(entry: Mapping[str, Any], earlier: Mapping[str, Any] | None) -> list[str]:
    """What the recording has of a redundant connection and of the ``earlier`` one that could have served it."""
    sentences = [f"This one: {_connection(entry)}."]
    if earlier is not None:
        sentences.append(f"Connection {earlier['number']}: {_connection(earlier)}.")
    others = [WORDS_OF_CAUSES[cause] for cause in entry["causes"] or () if cause != entry["cause"]]
    if others:
        sentences.append(f"Also in the way: {', '.join(others)}.")
    if entry["needs"]:
        sentences.append(f"Not in the recording: {', '.join(entry['needs'])}.")
    return sentences


def _connection(entry: Mapping[str, Any]) -> str:
    opened = entry["first_ms"] if entry["opened_ms"] is None else entry["opened_ms"]
    facts = [
        enumerated(entry["hosts"], 4),
        "address not known" if entry["server_ip"] is None else f"at {entry['server_ip']}",
        "protocol not known" if entry["protocol"] is None else f"over {entry['protocol']}",
        "time of opening not known" if opened is None else f"opened at {opened:,.0f} ms",
    ]
    return ", ".join(facts)
