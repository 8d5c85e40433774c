"""The back-test in words: of a page in one sentence, of a ladder's rungs in notes."""

import re

import pytest

from originset.data.studies.database import open_database
from originset.models.browsers.causes.connection_causes import CAUSES, NOT_DECIDABLE, UNKNOWN
from originset.queries.ladder import ladder
from originset.queries.report.backtest_sentences import page_sentence, rung_notes

pytestmark = pytest.mark.slow


def page(low, high, recorded, error=0, cause=None, *, browser="chromium"):
    return {
        "checked_browser": browser, "checked_low": low, "checked_likely": (low or 0) + 1, "checked_high": high,
        "checked_recorded": recorded, "checked_error": error, "checked_cause": cause,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        (
            page(4, 7, 6),
            "Chromium predict 4 to 7 TLS connections, most likely 5; the recording has 6, which is within.",
        ),
        (page(1, 1, 1), "predict 1 TLS connection; the recording has 1, as predicted."),
        (
            page(3, 3, 5, 2, "H1", browser="firefox"),
            "the rules of Firefox predict 3 TLS connections; the recording has 5, 2 more: mostly about HTTP/1.1.",
        ),
        (page(3, 4, 2, -1, "CERT"), "the recording has 2, 1 fewer: mostly about certificates."),
    ],
)
def test_a_page_is_one_sentence(facts, says) -> None:
    sentence = page_sentence(facts)
    assert sentence is not None
    assert sentence.endswith(says)
    assert "not from which requests shared a connection" in sentence


def test_every_cause_has_words() -> None:
    for cause in (*CAUSES, NOT_DECIDABLE, UNKNOWN):
        sentence = page_sentence(page(1, 1, 2, 1, cause))
        assert sentence is not None
        assert re.search(r": mostly about .{5,}\.$", sentence)


def test_a_page_without_a_back_test_is_not_said_to_have_one() -> None:
    assert page_sentence(page(None, None, None, None, browser=None)) is None


def test_a_rung_says_how_well_its_browser_is_predicted_where_it_was_recorded(modelled_example) -> None:
    """Page a, of Chromium: 6 connections, of 5 (most likely) to 7 by hand (tests/queries/test_catalogue.py)."""
    with open_database(modelled_example) as connection:
        notes = rung_notes(connection, ladder(connection), ("here", "chromium"))
    (chromium, tested), (firefox, untested) = notes.items()
    assert chromium.startswith("Chromium with servers as they are")
    assert tested == (
        "back-test: of 1 page 100 % within the range predicted without what shared a connection, which is 2 wide where "
        "6 were recorded (means); the likeliest count was right for 0 %"
    )
    assert firefox.startswith("Firefox with servers as they are")
    assert untested == "not back-tested: no page that counts here was recorded with Firefox"
