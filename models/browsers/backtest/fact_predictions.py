"""What one browser's rules make of recordings without what they say of sharing."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from originset.data.reference.browser_rules import BrowserRules
from originset.models.browsers.predictions import connections
from originset.models.browsers.replay import replayed, ways


@dataclass(frozen=True, slots=True)
class FactPrediction:
    """Groups with what each opens (``opens``, of ``predictions.connections``), and the pairs that decided it.

    Those of visits that ``rules.browser`` did not make are not left out.
    """

    rules: BrowserRules
    opens: pl.DataFrame
    found: pl.DataFrame

    @classmethod
    def by(cls, rules: BrowserRules, groups: pl.DataFrame, found: pl.DataFrame) -> FactPrediction:
        """What a browser with ``rules`` does, given all groups of a batch and their pairs."""
        return cls(rules, connections(replayed(groups, ways(found, rules)), rules), found)
