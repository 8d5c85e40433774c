"""Which rules the browser of each recording follows: those of its version, or of the nearest that was observed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import polars as pl

from originset.data.reference.browser_rules import browser_rules, rule_sets, rules_of_version

#: What a visit has of them, NULL where no rules of its browser are known: ``rules``, their place in
#: :func:`originset.data.reference.browser_rules.rule_sets`, and ``rules_version``, which was observed to follow them.
RECORDER_RULES = pl.Schema({"rules": pl.UInt8(), "rules_version": pl.String()})


def recorder_rules(visits: pl.DataFrame) -> pl.DataFrame:
    """RECORDER_RULES of each of ``visits``, by its browser and browser_version."""
    made_by = visits.select("browser", "browser_version")
    taken = {pair: _rules_taken(*pair) for pair in made_by.unique().iter_rows()}
    return pl.DataFrame([taken[pair] for pair in made_by.iter_rows()], RECORDER_RULES, orient="row")


def _rules_taken(browser: str | None, version: str | None) -> tuple[int | None, str | None]:
    # Builds of a browser follow its rules under names of their own, such as chromium-headless-shell.
    name = (browser or "").partition("-")[0]
    if name not in browser_rules():
        return None, None
    rules = rules_of_version(name, version)
    return rule_sets().index(replace(rules, version="")), rules.version


@cache
def by_recorder(rule: str, decided: Callable[[frozenset[str]], pl.Expr]) -> pl.Expr:
    """What ``decided`` gives for the value that ``rule`` has in the recording's browser (the column ``rules``).

    Where no rules of that browser are known, Chromium's of today stand for them.
    """
    otherwise = getattr(browser_rules()["chromium"], rule)
    found = decided(otherwise)
    values = [getattr(rules, rule) for rules in rule_sets()]
    for value in dict.fromkeys(values):
        if value != otherwise:
            own = [number for number, other in enumerate(values) if other == value]
            found = pl.when(pl.col("rules").is_in(own)).then(decided(value)).otherwise(found)
    return found
