"""What is said of a connection says where it comes from."""

from __future__ import annotations

from datetime import date

import pytest

from originset.queries.report.sentences import as_of, why

ROW = {"cause": "CERT", "detail": None, "needs": [], "host": "a.test", "reusable_host": "b.test", "based_on_live": True}
TODAY = as_of(date(2026, 11, 21), date(2026, 11, 21))


def test_what_is_not_the_recordings_is_dated() -> None:
    assert TODAY == "as of 2026-11-21"
    assert why(ROW, TODAY).endswith(" That is so as of 2026-11-21, not by the recording.")
    assert "as of" not in why({**ROW, "based_on_live": False}, TODAY)
    assert as_of(date(2026, 11, 1), date(2026, 11, 21)) == "as of 2026-11-01 to 2026-11-21"
    assert as_of(None, None) is None


@pytest.mark.parametrize(
    ("needs", "asked", "offered"),
    [(["DNS answers"], None, True), (["certificate names", "times"], None, True), (["credentials"], None, False),
     (["DNS answers"], TODAY, False)],
)  # fmt: skip
def test_what_can_still_be_asked_for_is_offered(needs: list[str], asked: str | None, offered: bool) -> None:
    said = why({**ROW, "cause": "NOT_DECIDABLE", "needs": needs, "based_on_live": False}, asked)
    assert ("enrich --live" in said) == offered
