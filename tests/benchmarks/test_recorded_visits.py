"""What loads of pages have in common."""

from __future__ import annotations

from recorded_visits import ASPECTS, in_common

Load = tuple[str, dict[str, str]]


def load(page: str, **different: str) -> Load:
    return page, {**dict.fromkeys(ASPECTS, "as ever"), **different}


def test_what_loads_have_in_common_is_the_mean_over_pages() -> None:
    baseline = [load("a"), load("a"), load("b"), load("b")]
    assert set(in_common(baseline, baseline).values()) == {1.0}
    once_otherwise = [load("a"), load("a", order="otherwise"), load("b"), load("b")]
    assert in_common(once_otherwise, baseline) == {**dict.fromkeys(ASPECTS, 1.0), "order": 0.75}
    assert in_common(baseline, once_otherwise)["order"] == 0.75
    assert in_common([load("a", requests="others")], baseline)["requests"] == 0.0


def test_a_page_of_which_there_is_no_other_load_has_nothing_in_common() -> None:
    assert in_common([load("a"), load("c")], [load("a")])["requests"] == 0.5
