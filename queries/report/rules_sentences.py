"""By the rules of which browser a page is explained, and what these and others' rules say that it needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from originset.data.quantity import quantity
from originset.data.reference.browser_rules import BROWSER_TITLES, browser_rules
from originset.queries.report.printable_text import printable_excerpt

RulesOf: TypeAlias = Literal["recorded", "today", "as_browser"]


class BrowserNeeds(msgspec.Struct, frozen=True, kw_only=True):
    """What a page needs by one browser's rules, with servers as they are.

    ``rules_of``: the browser that recorded the page (``recorded``), today's of the same kind (``today``), or the one
    that was asked about (``as_browser``). ``browser`` and ``rules_version``: whose rules are applied.
    ``connections_*``: TLS connections, at least, most likely and at most; ``lookups``: names looked up, None where that
    is not known.
    """

    rules_of: RulesOf
    browser: str
    rules_version: str
    connections_low: int
    connections_likely: int
    connections_high: int
    lookups: int | None


def recorders_needs(facts: Mapping[str, Any]) -> list[BrowserNeeds]:
    """Those of the browser that recorded a page, and of today's; empty where no rules of it are known.

    ``facts``: predicted_browser, and of ``own`` and ``today`` _rules, _low, _likely, _high and _dns, columns of
    browser_predictions.
    """
    kinds: list[tuple[RulesOf, str]] = [("recorded", "own"), ("today", "today")]
    return [
        BrowserNeeds(
            rules_of=rules_of,
            browser=facts["predicted_browser"],
            rules_version=facts[f"{name}_rules"],
            connections_low=facts[f"{name}_low"],
            connections_likely=facts[f"{name}_likely"],
            connections_high=facts[f"{name}_high"],
            lookups=facts[f"{name}_dns"],
        )
        for rules_of, name in kinds
        if facts[f"{name}_rules"] is not None
    ]


def rules_sentence(facts: Mapping[str, Any]) -> str | None:
    """Whose rules say why connections were opened, and how many they and today's have the page need.

    ``facts``: of :func:`recorders_needs`, and browser and browser_version of the visit. None: the rules are those of
    the recorded version itself, which are today's, or the page is too large for rules.
    """
    needs = recorders_needs(facts)
    if not needs:
        return _sentence_without_rules(facts["browser"])
    own, today = needs
    version, title = facts["browser_version"], BROWSER_TITLES[own.browser]
    if own.rules_version == today.rules_version:
        if not _chosen(own, version):
            return None
        return f"The causes follow the rules of {title} {own.rules_version}{_chosen(own, version)}."
    return (
        f"The causes follow the rules of {title} {own.rules_version}{_chosen(own, version)}: with "
        f"servers as they are it needs {_connections(own)}. By the rules of today, of {today.rules_version}, it needs "
        f"{_connections(today)}."
    )


def as_browser_sentence(needs: BrowserNeeds) -> str:
    """What a page needs in the browser that was asked about."""
    lookups = "" if needs.lookups is None else f", and {quantity(needs.lookups, 'DNS lookup')},"
    return (
        f"By the rules of {BROWSER_TITLES[needs.browser]} {needs.rules_version} the page needs "
        f"{_connections(needs)}{lookups} with servers as they are."
    )


def _sentence_without_rules(browser: str | None) -> str | None:
    name = (browser or "").partition("-")[0]
    if name in BROWSER_TITLES:
        return None
    because = "the recording does not name its browser" if browser is None else f"those of {browser} are not known"
    return (
        f"The causes follow the rules of Chromium {browser_rules()['chromium'].version}, since "
        f"{printable_excerpt(because)}."
    )


def _chosen(needs: BrowserNeeds, version: str | None) -> str:
    """How the rules were chosen, where the version that they are of is another one than the recorded."""
    same = version is None or version.partition(".")[0] == needs.rules_version.partition(".")[0]
    return "" if same else ", the nearest observed version"


def _connections(needs: BrowserNeeds) -> str:
    most = quantity(needs.connections_high, "TLS connection")
    if needs.connections_low == needs.connections_high:
        return most
    return f"{needs.connections_low:,} to {most}, most likely {needs.connections_likely:,}"
