"""What recorded pages would have needed in another browser or version: the option --as-browser."""

from __future__ import annotations

from dataclasses import replace

import click

from originset.data.errors import UsageError
from originset.data.reference.browser_rules import BROWSER_TITLES, BrowserRules, rules_of_version
from originset.data.studies.shards import scan_visits
from originset.data.studies.study import Study
from originset.models.browsers.backtest.version_predictions import predicted_by
from originset.models.browsers.batch import INPUTS, read
from originset.models.browsers.candidate_pairs import pairs
from originset.models.browsers.request_groups import modes_of
from originset.models.browsers.tables import groups_of
from originset.models.parameters import Parameters
from originset.models.runner.runner import batch_rows
from originset.queries.report.report_contents import Contents
from originset.queries.report.rules_sentences import BrowserNeeds


def rules_of_browser(
    _context: click.Context | None, _option: click.Parameter | None, browser: str | None
) -> BrowserRules | None:
    """The rules of a browser such as ``chromium@88``, or of today's ``firefox``; None of none.

    Raises:
        UsageError: no rules of it are known.
    """
    if browser is None:
        return None
    name, at, version = browser.partition("@")
    if name not in BROWSER_TITLES or (at and not version[:1].isdigit()):
        raise UsageError(f"no rules of the browser {browser} are known", "name one such as chromium@88 or firefox")
    return rules_of_version(name, version or None)


def with_needs_in_browser(study: Study, contents: Contents, rules: BrowserRules) -> Contents:
    """``contents`` with what each page needs by ``rules``; nothing of pages that are too large for rules."""
    visits = [page.facts["visit_id"] for page in contents.pages]
    rows = batch_rows(scan_visits(study, visits), INPUTS, Parameters.from_manifest(study.manifest()))
    part = read(rows)
    groups = groups_of(part, modes_of(part))
    predicted = predicted_by(part, groups, pairs(part.facts, groups), rules)
    ids = part.visits["visit_id"].gather(predicted["visit_id"])
    needs = {
        visit: BrowserNeeds(
            rules_of="as_browser",
            browser=rules.browser,
            rules_version=rules.version,
            connections_low=row["tls_low"],
            connections_likely=row["tls_likely"],
            connections_high=row["tls_high"],
            lookups=row["dns"],
        )
        for visit, row in zip(ids, predicted.iter_rows(named=True), strict=True)
    }
    return replace(
        contents, pages=[replace(page, as_browser=needs.get(page.facts["visit_id"])) for page in contents.pages]
    )
