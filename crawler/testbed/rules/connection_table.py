"""The table of a load's connections, and the names in it, as the rules' files write them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from originset.crawler.testbed.rules.observations import ObservedConnection

_HEAD = "| opened for | address | protocol | entries of ORIGIN frames | requests |\n|---|---|---|---|---|"
_ROW = re.compile(r"\| (\S+) \| (\S+) \| (\S+) \| (\d*) \| (.*) \|")
_LABEL = re.compile(r"[a-z0-9-]+")
_MISDIRECTED = " (421)"


def outcome_lines(rule: str, connections: Sequence[ObservedConnection], missing: Sequence[str]) -> Iterator[str]:
    """A row for each connection, and what was never requested."""
    yield _HEAD
    for one in connections:
        entries = "" if one.origins is None else one.origins
        requests = " ".join(
            f"{short_name(each, rule)}{_MISDIRECTED if each in one.misdirected else ''}" for each in one.requests
        )
        yield f"| {short_name(one.opened_for, rule)} | {one.address} | {one.protocol} | {entries} | {requests} |"
    yield ""
    if missing:
        yield from (f"Never requested: {' '.join(short_name(each, rule) for each in missing)}", "")


def parse_outcome(rule: str, text: str) -> tuple[tuple[ObservedConnection, ...], tuple[str, ...]]:
    """The connections and what was never requested, of a text that holds what :func:`outcome_lines` wrote."""
    missing = re.search(r"^Never requested: (.+)$", text, re.MULTILINE)
    return (
        tuple(_connection(rule, row) for row in _ROW.findall(text) if row[0] != "opened"),
        tuple(whole_name(each, rule) for each in missing[1].split(" ")) if missing else (),
    )


def _connection(rule: str, row: Sequence[str]) -> ObservedConnection:
    opened_for, address, protocol, entries, requests = row
    each = [
        (whole_name(one, rule), refused == _MISDIRECTED) for one, refused in re.findall(r"(\S+)( \(421\))?", requests)
    ]
    return ObservedConnection(
        whole_name(opened_for, rule),
        address,
        protocol,
        tuple(one for one, _ in each),
        tuple(one for one, refused in each if refused),
        int(entries) if entries else None,
    )


def whole_name(name: str, rule: str) -> str:
    """A host name, or one with a path behind it, that is shortened if it has no dot."""
    host, slash, path = name.partition("/")
    return f"{host}.{rule}.test{slash}{path}" if _LABEL.fullmatch(host) else name


def short_name(name: str, rule: str) -> str:
    """A name without what all names of the rule end in."""
    host, slash, path = name.partition("/")
    label = host.removesuffix(f".{rule}.test")
    return f"{label}{slash}{path}" if _LABEL.fullmatch(label) else name
