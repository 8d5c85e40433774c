"""Annotations of a workflow: what a page is called becomes no command."""

from pathlib import Path

import polars as pl

from originset.queries.github_annotations import github_lines


def test_a_page_gives_no_commands() -> None:
    row = {"site": "a.test", "url": "https://a.test/\r\n::error::owned %0A", "visit_id": "v", "measure": "connections",
           "budget": 1, "value": 2, "verdict": "over", "why": None}  # fmt: skip
    [line] = github_lines(pl.DataFrame([row]), Path("b,u:d%.toml"))
    assert line == (
        "::error file=b%2Cu%3Ad%25.toml,title=originset%3A connections::2 connections on "
        "https://a.test/%0D%0A::error::owned %250A, where 1 are allowed"
    )
