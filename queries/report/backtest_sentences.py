"""What is said of the back-test: how well the rules of the browser that was recorded predict its connections."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import duckdb
import polars as pl

from originset.data.quantity import quantity
from originset.data.reference.browser_rules import BROWSER_TITLES
from originset.queries.catalogue import rows_of
from originset.queries.ladder import Group, rows_of_group

_SERVERS_AS_THEY_ARE = " with servers as they are"

# What the causes of predictions_check are about.
_ABOUT = {
    "SPECIAL": "WebSockets",
    "MISDIRECTED": "421 answers",
    "ORIGIN_UNSUPPORTED": "ORIGIN frames",
    "IP": "addresses",
    "CERT": "certificates",
    "CERT+IP": "certificates and addresses",
    "ORIGIN_EXCLUDED": "ORIGIN frames",
    "PORT_SCHEME": "ports",
    "H1": "HTTP/1.1",
    "PROTO_MIX": "protocols",
    "CRED": "credentials",
    "PARTITION": "frames of other sites",
    "RACE": "which connections were ready in time",
    "LIFETIME": "closed connections",
    "NOT_DECIDABLE": "what the recording lacks",
    "UNKNOWN": "what no rule that is known here decides",
}


def page_sentence(facts: Mapping[str, Any]) -> str | None:
    """The back-test of one page; None where there is none.

    ``facts``: checked_browser, checked_low, checked_likely, checked_high, checked_recorded, checked_error and
    checked_cause: columns of the view checked_pages.
    """
    if facts["checked_browser"] is None:
        return None
    low, high, recorded = facts["checked_low"], facts["checked_high"], facts["checked_recorded"]
    predicted = quantity(high, "TLS connection")
    if low != high:
        predicted = f"{low:,} to {predicted}, most likely {facts['checked_likely']:,}"
    found = f"the recording has {recorded:,}"
    if facts["checked_error"]:
        more = "more" if facts["checked_error"] > 0 else "fewer"
        found += f", {abs(facts['checked_error']):,} {more}: mostly about {_ABOUT[facts['checked_cause']]}"
    else:
        found += ", as predicted" if low == high else ", which is within"
    return (
        f"Back-test: from the recorded addresses, certificates and protocols, not from which requests shared a "
        f"connection, the rules of {BROWSER_TITLES[facts['checked_browser']]} predict {predicted}; {found}."
    )


def rung_notes(connection: duckdb.DuckDBPyConnection, rungs: pl.DataFrame, group: Group) -> dict[str, str]:
    """The back-test of each browser, by the first of its rungs in the ladder of one vantage and browser.

    ``rungs``: of :func:`originset.queries.ladder.ladder`.
    """
    tested = rows_of(connection, "predictions_check_summary").filter(part="all")
    of_group = rows_of_group(tested, group).to_dicts()
    recorded = (group[1] or "").partition("-")[0]
    notes = {}
    for browser, name in BROWSER_TITLES.items():
        of_browser = rows_of_group(rungs, group).filter(
            pl.col("counts") == "TLS connections", pl.col("rung").str.starts_with(f"{name}{_SERVERS_AS_THEY_ARE}")
        )
        if not of_browser.is_empty():
            notes[of_browser["rung"][0]] = _note(of_group[0] if browser == recorded and of_group else None, name)
    return notes


def _note(tested: Mapping[str, Any] | None, name: str) -> str:
    if tested is None:
        return f"not back-tested: no page that counts here was recorded with {name}"
    return (
        f"back-test: of {quantity(tested['of_pages'], 'page')} {tested['within_pct']:g} % within the range predicted "
        f"without what shared a connection, which is {tested['width']:g} wide where {tested['recorded']:g} were "
        f"recorded (means); the likeliest count was right for {tested['likely_pct']:g} %"
    )
