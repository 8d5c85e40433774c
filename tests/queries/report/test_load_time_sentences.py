"""A modelled load time stands beside the errors that the testbed found, and is no figure where they are larger."""

from typing import Any

import pytest

from originset.data.reference.timeline_errors import TimelineError, errors_of
from originset.queries.report.change_sentences import PageChange, saved_sentence
from originset.queries.report.connection_lanes import PageState, load_to_draw
from originset.queries.report.load_time_sentences import (
    errors_phrase,
    exceeds_error,
    load_time_sentence,
    time_saved_phrase,
)

ERRORS = [
    TimelineError(
        browser="chromium",
        version="1",
        profile=profile,
        pages=30,
        loads=600,
        load_average=1.0,
        p10=p10,
        p50=p50,
        p90=p90,
    )
    for profile, p10, p50, p90 in (("cable", -40.0, 3.0, 25.0), ("lte", -20.0, 1.0, 60.0))
]
BROWSERS = ("chromium", "firefox", None)


def largest(browser: str | None) -> float:
    return max(one.largest for one in errors_of(browser))


def facts(browser: str | None, saved_ms: float) -> dict[str, Any]:
    return {
        "browser": browser, "load_ms": 20_000.0, "origin_ms": 20_000.0 - saved_ms, "paper_origin_ms": 12_345.0,
        "left_out_reason": None,
    }  # fmt: skip


def test_an_effect_must_exceed_the_error_on_every_network() -> None:
    assert [exceeds_error(saved, ERRORS) for saved in (0.0, 45.0, 60.0, 61.0)] == [False, False, False, True]
    assert errors_phrase(ERRORS) == (
        "-40 to 25 ms at cable (median 3, 30 pages); -20 to 60 ms at lte (median 1, 30 pages)"
    )


@pytest.mark.parametrize("browser", BROWSERS)
def test_a_large_effect_is_a_figure_with_its_errors(browser: str | None) -> None:
    saved_ms = largest(browser) + 1
    sentence = load_time_sentence(facts(browser, saved_ms)) or ""
    assert (
        f"Modelled load time with ORIGIN frames: {20_000 - saved_ms:,.0f} ms, by the paper's own timeline 12,345 ms"
        in sentence
    )
    assert errors_phrase(errors_of(browser)) in sentence
    phrase = time_saved_phrase((0.0, saved_ms), browser)
    assert phrase.startswith(f"0 to {saved_ms:,.0f} ms until the load event")
    assert errors_phrase(errors_of(browser)) in phrase


@pytest.mark.parametrize("browser", BROWSERS)
def test_an_effect_below_the_errors_is_no_figure_and_it_is_said_why(browser: str | None) -> None:
    saved_ms = largest(browser)
    sentence = load_time_sentence(facts(browser, saved_ms)) or ""
    assert sentence.startswith("No load time with ORIGIN frames is given. In the testbed")
    assert errors_phrase(errors_of(browser)) in sentence
    assert "12,345" not in sentence
    assert f"{20_000 - saved_ms:,.0f}" not in sentence
    phrase = time_saved_phrase((0.0, saved_ms), browser)
    assert phrase.startswith("no figure in ms: in the testbed")
    assert errors_phrase(errors_of(browser)) in phrase


def test_what_is_not_modelled_has_its_reason() -> None:
    unknown = {**facts("chromium", 0.0), "origin_ms": None, "left_out_reason": "without a load event"}
    assert load_time_sentence(unknown) == "Load time not modelled: without a load event."
    assert load_time_sentence({**unknown, "left_out_reason": None}) is None


def test_a_change_says_the_same() -> None:
    for saved_ms in (largest("chromium"), largest("chromium") + 1):
        change = PageChange(saved=(1, 1), lookups=0, handshake_bytes=None, load_ms=(saved_ms, saved_ms))
        assert time_saved_phrase((saved_ms, saved_ms), "chromium") in saved_sentence(change, None, "chromium")


@pytest.mark.parametrize(("more", "drawn"), [(0.0, False), (1.0, True)])
def test_a_waterfall_has_no_load_event_that_is_no_figure(more: float, *, drawn: bool) -> None:
    saved_ms = largest("chromium") + more
    state = PageState("best", "_best", {}, (20_000 - saved_ms, 20_000 - saved_ms))
    assert (load_to_draw(state, facts("chromium", saved_ms)) is not None) == drawn
    recorded = PageState("recorded", "", {}, (20_000.0, 20_000.0))
    assert load_to_draw(recorded, facts("chromium", saved_ms)) == (20_000.0, 20_000.0)
