"""``originset study schema``: tables and columns as the database has them."""

from __future__ import annotations

import json
from typing import Any

from originset.data.schema.study_tables import TABLES


def rows(run: Any, *words: str) -> list[dict[str, Any]]:
    done = run("study", "schema", *words, "--format", "jsonl")
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_all_tables_and_views(run: Any) -> None:
    listed = rows(run)
    assert [row["name"] for row in listed] == list(TABLES)
    kinds = {row["name"]: row["kind"] for row in listed}
    assert (kinds["visits"], kinds["selected_visits"]) == ("table", "view")
    assert all(row["description"] for row in listed)


def test_the_columns_of_each(run: Any) -> None:
    listed = rows(run, "requests")
    assert [row["name"] for row in listed] == [column.name for column in TABLES["requests"].columns]
    assert [row["name"] for row in listed if row["key"]] == ["visit_id", "request_id"]


def test_a_name_that_is_none(run: Any) -> None:
    done = run("study", "schema", "visit")
    assert (done.returncode, "did you mean visits" in done.stderr) == (2, True)
