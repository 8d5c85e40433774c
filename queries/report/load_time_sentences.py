"""What is said of modelled load times: the figure with the errors that the testbed found, or why there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from originset.data.reference.timeline_errors import TimelineError, errors_of
from originset.queries.report.printable_text import between_numbers


def exceeds_error(saved_ms: float, errors: Sequence[TimelineError]) -> bool:
    """Whether so much is saved that in the testbed four of five pages were off by less, on every access network."""
    return saved_ms > max((one.largest for one in errors), default=0.0)


def errors_phrase(errors: Sequence[TimelineError]) -> str:
    """``-40 to 25 ms at cable (median 3, 30 pages)`` and so on: the middle four fifths of the testbed's pages."""
    return "; ".join(
        f"{one.p10:,.0f} to {one.p90:,.0f} ms at {one.profile} (median {one.p50:,.0f}, {one.pages} pages)"
        for one in errors
    )


def time_saved_phrase(saved_ms: tuple[float, float], browser: str | None) -> str:
    """What a change saves until the load event, at least and at most; or why that is no figure to go by."""
    errors = errors_of(browser)
    off = f"in the testbed the causal timeline was off by {errors_phrase(errors)}"
    if not exceeds_error(saved_ms[1], errors):
        return f"no figure in ms: {off}, and here it saves less than that"
    return f"{between_numbers(*saved_ms)} ms until the load event, by the causal timeline ({off})"


def load_time_sentence(facts: Mapping[str, Any]) -> str | None:
    """The page's modelled load time with ORIGIN frames; None where none is modelled.

    ``facts``: browser, load_ms, origin_ms, paper_origin_ms and left_out_reason.
    """
    measured, modelled, reason = facts["load_ms"], facts["origin_ms"], facts["left_out_reason"]
    if modelled is None or measured is None:
        return f"Load time not modelled: {reason}." if reason else None
    errors = errors_of(facts["browser"])
    off = f"In the testbed what the causal timeline promised was off by {errors_phrase(errors)}"
    if not exceeds_error(measured - modelled, errors):
        return f"No load time with ORIGIN frames is given. {off}, and of this page it promises less than that."
    return (
        f"Modelled load time with ORIGIN frames: {modelled:,.0f} ms, by the paper's own timeline "
        f"{facts['paper_origin_ms']:,.0f} ms. {off}. The paper's authors found no effect on load times in their live "
        "test."
    )
