"""What captures say of visits, as texts by which two loads of one page are compared, and how alike many loads are."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from statistics import fmean
from typing import Any

from originset.data.captures.capture import Extension

ASPECTS = ("outcome", "requests", "connections", "lookups", "origin_sets", "order")

Recording = Mapping[str, str]


def recording(har_log: Mapping[str, Any], extension: Extension) -> dict[str, str]:
    """Each of :data:`ASPECTS` of one load.

    ``connections``: those that were established, and the hosts whose requests each carried. ``order``: the requests'
    URLs in the order of their start.
    """
    entries = sorted(har_log["entries"], key=lambda entry: str(entry["startedDateTime"]))
    hosts: dict[str, set[str]] = defaultdict(set)
    for entry in entries:
        hosts[str(entry.get("connection"))].add(entry["request"]["url"].split("/")[2])
    visit = extension.visit
    return {
        "outcome": f"{visit.status} {visit.error_code} {visit.viewport} {visit.quality}",
        "requests": _lines(
            f"{entry['request']['method']} {entry['request']['url']} {entry['response']['status']}" for entry in entries
        ),
        "connections": _lines(
            f"{one.first_host} {one.protocol} {one.tls_version} {one.error} {one.privacy_mode} {one.pooled_by_ip} "
            f"{one.pooled_by_origin} {one.misdirected} {sorted(hosts[str(one.id)])}"
            for one in extension.connections
            if one.established_ms is not None
        ),
        "lookups": _lines(f"{one.host} {one.rtype} {one.status} {sorted(one.answers)}" for one in extension.dns),
        "origin_sets": _lines(f"{one.first_host} {one.origin_set}" for one in extension.connections if one.origin_set),
        "order": "\n".join(entry["request"]["url"] for entry in entries),
    }


def in_common(loads: Iterable[tuple[str, Recording]], others: Iterable[tuple[str, Recording]]) -> dict[str, float]:
    """What two sets of loads (a page and its recording) have in common, 0 to 1, for each aspect: the mean over pages.

    Of a page, it is one minus the total variation distance of the two distributions of recordings. Few loads have less
    in common by chance.
    """
    first, second = _counts(loads), _counts(others)
    return {
        aspect: fmean(_overlap(counts, second[aspect, page]) for (of, page), counts in first.items() if of == aspect)
        for aspect in ASPECTS
    }


def _counts(loads: Iterable[tuple[str, Recording]]) -> dict[tuple[str, str], Counter[str]]:
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for page, recorded in loads:
        for aspect in ASPECTS:
            counts[aspect, page][recorded[aspect]] += 1
    return counts


def _overlap(counts: Counter[str], others: Counter[str]) -> float:
    all_counts, all_others = counts.total(), others.total()
    return sum(min(count / all_counts, others[text] / all_others) for text, count in counts.items()) if others else 0.0


def _lines(lines: Iterable[str]) -> str:
    return "\n".join(sorted(lines))
