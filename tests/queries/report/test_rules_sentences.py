"""Whose rules explain a page, in words, and what others' rules have it need."""

from __future__ import annotations

import pytest

from originset.data.reference.browser_rules import browser_rules
from originset.queries.report.rules_sentences import (
    BrowserNeeds,
    as_browser_sentence,
    recorders_needs,
    rules_sentence,
)

TODAY = browser_rules()["chromium"].version
NEAREST = "the rules of Chromium 92.0.4512.0, the nearest observed version"
OWN_NEEDS = "with servers as they are it needs"
TODAYS_NEEDS = f"the rules of today, of {TODAY}, it needs 2 TLS connections."


def facts(version, own_rules, own=(3, 4), *, browser="chromium"):
    known = own_rules is not None
    return {
        "browser": browser, "browser_version": version, "predicted_browser": "chromium" if known else None,
        "own_rules": own_rules, "own_low": own[0], "own_likely": own[0], "own_high": own[1], "own_dns": 5,
        "today_rules": TODAY if known else None, "today_low": 2, "today_likely": 2, "today_high": 2, "today_dns": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("page", "says"),
    [
        (
            facts("95.0.4638.54", "92.0.4512.0"),
            f"{NEAREST}: {OWN_NEEDS} 3 to 4 TLS connections, most likely 3. By {TODAYS_NEEDS}",
        ),
        (
            facts("88.0.4324.150", "88.0.4298.0", (1, 1)),
            f"the rules of Chromium 88.0.4298.0: {OWN_NEEDS} 1 TLS connection. By {TODAYS_NEEDS}",
        ),
        (facts("999.0.1", TODAY), f"the rules of Chromium {TODAY}, the nearest observed version."),
        (facts("17", None, browser="safari"), f"Chromium {TODAY}, since those of safari are not known."),
        (facts(None, None, browser=None), f"Chromium {TODAY}, since the recording does not name its browser."),
    ],
)
def test_the_rules_that_explain_a_page_are_named(page, says) -> None:
    sentence = rules_sentence(page)
    assert sentence is not None
    assert sentence.startswith("The causes follow ")
    assert sentence.endswith(says)


@pytest.mark.parametrize(
    "page", [facts(TODAY, TODAY), facts(f"{TODAY.split('.')[0]}.0.0.0", TODAY), facts(None, TODAY), facts("88", None)]
)
def test_nothing_is_said_where_there_is_no_choice(page) -> None:
    """The recorded version's own rules, today's; none of a page that is too large for rules."""
    assert rules_sentence(page) is None


def test_own_and_todays_needs_stand_side_by_side() -> None:
    own, today = recorders_needs(facts("95.0.4638.54", "92.0.4512.0"))
    assert (own.rules_of, own.rules_version, own.connections_high, own.lookups) == ("recorded", "92.0.4512.0", 4, 5)
    assert (today.rules_of, today.rules_version, today.connections_high, today.lookups) == ("today", TODAY, 2, None)
    assert recorders_needs(facts("17", None, browser="safari")) == []


@pytest.mark.parametrize(("lookups", "said"), [(None, ""), (1, ", and 1 DNS lookup,")])
def test_what_a_browser_that_was_asked_about_needs(lookups, said) -> None:
    needs = BrowserNeeds(
        rules_of="as_browser", browser="firefox", rules_version="153.7.0",
        connections_low=7, connections_likely=7, connections_high=7, lookups=lookups,
    )  # fmt: skip
    assert as_browser_sentence(needs) == (
        f"By the rules of Firefox 153.7.0 the page needs 7 TLS connections{said} with servers as they are."
    )
