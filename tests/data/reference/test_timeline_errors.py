"""The errors that the testbed found: each browser and access network once, and whose are taken for a recording."""

from collections import Counter
from itertools import product

import pytest

from originset.crawler.testbed.latency import BANDWIDTH
from originset.data.reference.browser_rules import browser_rules
from originset.data.reference.timeline_errors import TimelineError, errors_of, timeline_errors


def test_every_browser_was_tried_at_every_access_network() -> None:
    found = Counter((one.browser, one.profile) for one in timeline_errors())
    assert found == Counter(product(browser_rules(), BANDWIDTH))
    for one in timeline_errors():
        assert one.p10 <= one.p50 <= one.p90
        assert one.loads >= 2 * one.pages > 0
        assert one.version


@pytest.mark.parametrize(
    ("recorded", "of"),
    [
        ("chromium", "chromium"),
        ("chromium-headless-shell", "chromium"),
        ("firefox", "firefox"),
        ("safari", "chromium"),
        (None, "chromium"),
    ],
)
def test_whose_errors_are_taken(recorded: str | None, of: str) -> None:
    assert [(one.browser, one.profile) for one in errors_of(recorded)] == [(of, profile) for profile in BANDWIDTH]


@pytest.mark.parametrize(("p10", "p90", "largest"), [(-40.0, 25.0, 40.0), (3.0, 25.0, 25.0)])
def test_the_larger_end_counts_whatever_its_sign(p10: float, p90: float, largest: float) -> None:
    error = TimelineError(
        browser="chromium", version="1", profile="lte", pages=1, loads=2, load_average=0.0, p10=p10, p50=3.0, p90=p90
    )
    assert error.largest == largest
