"""When too many visits of a crawl have failed."""

from __future__ import annotations

import pytest

from originset.crawler.crawl.failure_bound import FEWEST, FailureBound


def test_few_visits_stop_no_crawl_but_count_in_the_end() -> None:
    bound = FailureBound(10)
    made = {"failed": FEWEST - 1, "skipped": 5}
    bound.update(made)
    assert not bound.is_passed(), "what robots.txt forbids is no visit"
    assert bound.excess(made) == "19 of 19 visits failed, more than 10 %"
    made["ok"] = 1
    bound.update(made)
    assert bound.is_passed()


@pytest.mark.parametrize(("percent", "passed"), [(None, False), (25, False), (24.9, True), (0, True), (100, False)])
def test_the_bound_itself_may_be_reached(percent: float | None, passed: bool) -> None:
    bound = FailureBound(percent)
    made = {"failed": 10, "ok": 20, "partial": 10}
    bound.update(made)
    assert bound.is_passed() == passed
    assert (bound.excess(made) is not None) == passed
    assert bound.excess({}) is None
