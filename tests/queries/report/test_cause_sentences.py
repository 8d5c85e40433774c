"""What is said of a connection says where it comes from."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from originset.queries.report.cause_sentences import as_of, why

ROW: dict[str, Any] = {
    "cause": "CERT",
    "detail": None,
    "causes": ["CERT"],
    "needs": [],
    "host": "a.test",
    "reusable_host": "b.test",
}
ROW["based_on_live"] = True
TODAY = as_of(date(2026, 11, 21), date(2026, 11, 21))


def test_what_is_not_the_recordings_is_dated() -> None:
    assert TODAY == "as of 2026-11-21"
    assert why(ROW, TODAY).endswith(" This is based on live answers as of 2026-11-21, not on the recording.")
    assert "as of" not in why({**ROW, "based_on_live": False}, TODAY)
    assert as_of(date(2026, 11, 1), date(2026, 11, 21)) == "as of 2026-11-01 to 2026-11-21"
    assert as_of(None, None) is None


@pytest.mark.parametrize(
    ("needs", "asked", "offered"),
    [(["DNS answers"], None, True), (["certificate names", "times"], None, True), (["credentials"], None, False),
     (["DNS answers"], TODAY, False)],
)  # fmt: skip
def test_what_can_still_be_asked_for_is_offered(needs: list[str], asked: str | None, offered: bool) -> None:
    said = why({**ROW, "cause": "NOT_DECIDABLE", "causes": [], "needs": needs, "based_on_live": False}, asked)
    assert said.startswith("The recording does not show why: it lacks ")
    assert ("enrich --live" in said) == offered


def test_what_is_certain_is_said_before_what_is_not() -> None:
    row = {**ROW, "cause": "NOT_DECIDABLE", "causes": ["RACE"], "needs": ["credentials"], "based_on_live": False}
    assert why(row) == (
        "It was started before the connection to b.test was ready. The recording does not show whether it could have"
        " been shared otherwise: it lacks credentials."
    )


@pytest.mark.parametrize(
    ("cause", "detail", "says"),
    [
        ("H1", None, "a.test answered over HTTP/1.1"),
        ("H1", "REUSABLE_H1", "b.test answered over HTTP/1.1"),
        ("RACE", "SAME_HOST", "Two connections to a.test were started at the same time."),
        ("LIFETIME", "SAME_HOST", "The earlier connection had closed"),
    ],
)
def test_the_host_that_it_is_about_is_named(cause: str, detail: str | None, says: str) -> None:
    assert why({**ROW, "cause": cause, "detail": detail, "based_on_live": False}).startswith(says)
