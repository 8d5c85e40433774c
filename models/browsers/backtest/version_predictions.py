"""What the browsers of other versions need of recorded pages: the recorder's own, or one that somebody asks about."""

from __future__ import annotations

import polars as pl

from originset.data.reference.browser_rules import BrowserRules, browser_rules, rule_sets
from originset.models.browsers.batch import Part
from originset.models.browsers.predictions import connections, lacking, of_pages, without_tls
from originset.models.browsers.replay import replayed, ways


def predicted_by(part: Part, groups: pl.DataFrame, found: pl.DataFrame, rules: BrowserRules) -> pl.DataFrame:
    """What a browser with ``rules`` needs of each page, with servers as they are.

    Columns of :func:`originset.models.browsers.predictions.of_pages` and of
    :func:`originset.models.browsers.predictions.lacking`; visits are numbers. ``groups`` and ``found``: those of
    :func:`originset.models.browsers.tables.browser_tables`.
    """
    opens = connections(replayed(groups, ways(found, rules)), rules)
    pages = of_pages(part, opens, without_tls(part, groups), rules)
    return pages.join(lacking(opens, found, rules), on="visit_id", how="left", maintain_order="left")


def by_recorders_rules(part: Part, groups: pl.DataFrame, found: pl.DataFrame, today: pl.DataFrame) -> pl.DataFrame:
    """The same of each page by the rules of the browser that recorded it; none of pages of browsers without rules.

    ``today``: the same of all pages by today's rules, with ``browser``, which is added here too, and rules_version.
    """
    visits = part.visits.select("rules", "rules_version", visit_id=pl.int_range(pl.len(), dtype=pl.UInt32))
    predictions = []
    for number, rules in enumerate(rule_sets()):
        own = visits.filter(rules=number).drop("rules")
        if own.is_empty():
            continue
        if number < len(browser_rules()):
            pages = today.filter(browser=rules.browser)
        else:
            pages = predicted_by(part, groups, found, rules)
            pages = pages.with_columns(pl.lit(rules.browser, today.schema["browser"]).alias("browser"))
        predictions.append(pages.drop("rules_version", strict=False).join(own, on="visit_id"))
    return pl.concat(predictions) if predictions else today.clear()
