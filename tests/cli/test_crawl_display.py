"""What a crawl says of itself while it runs."""

import json
from typing import Any

import pytest

from originset.cli.common import minute_progress
from originset.cli.crawl_display import Display, VisitRate
from originset.data.captures.capture import Visit


def visit(status: str, error: str | None = None) -> Visit:
    return Visit(
        visit_id="0" * 16,
        site="a.test",
        url="https://a.test/",
        started_at="2026-01-01T00:00:00Z",
        status=status,
        error=error,
    )


def test_a_line_for_people() -> None:
    rate = VisitRate(100.0)
    assert rate.line(9, 100.0).startswith("0 visited (0 failed) · 9 left")
    for second, (status, error) in enumerate([("ok", None), ("partial", "hang"), ("failed", "dns"), ("failed", "dns")]):
        rate.add(visit(status, error), 101.0 + second)
    assert (
        rate.line(100, 104.0)
        == "4 visited (2 failed) · 100 left · 60/min · 2 min to go · recent failures: 2 DNS, 1 hang"
    )
    for second in range(200):
        rate.add(visit("ok"), 1000.0 + second / 2)
    assert rate.per_minute(1100.0) == pytest.approx(120, rel=0.02), "of late, not since the beginning"


def test_a_line_for_machines(capsys: pytest.CaptureFixture[str]) -> None:
    with Display(lines=True) as display:
        display.begin(2)
        display.visited(visit("ok"), 1)
        display.visited(visit("failed", "dns"), 0)
    said = capsys.readouterr()
    rows: list[dict[str, Any]] = [json.loads(line) for line in said.out.splitlines()]
    assert [(row["status"], row["error"]) for row in rows] == [("ok", None), ("failed", "dns")]
    assert all("challenge" in row and row["rank"] is None for row in rows), "every field on every line"
    assert said.err == "", "no display where there is no terminal"


def test_a_line_a_minute_for_a_log(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minute_progress, "_INTERVAL_S", 0.01)
    with Display(lines=False) as display:
        display.begin(2)
        display.visited(visit("failed", "dns"), 1)
        display.announce("this machine has no network")
        said = ""
        while "left" not in said:
            said += capsys.readouterr().err
    assert "crawl: this machine has no network\n" in said
    line = next(line for line in said.splitlines() if "left" in line)
    assert line.startswith("1 visited (1 failed) · 1 left")
    assert line.endswith("recent failures: 1 DNS")
