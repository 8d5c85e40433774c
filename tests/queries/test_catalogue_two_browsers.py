"""What one browser's recordings say of another, by hand: one page, recorded with both."""

import pytest

from originset.data.studies.database import open_database
from originset.models.parameters import Parameters
from originset.queries.catalogue import rows_of

pytestmark = pytest.mark.slow


@pytest.fixture
def both(example_rows):
    """A page of two requests: by Chromium on one connection, by Firefox on two."""

    def rows(name, columns):
        return [
            {**example_rows[name][0], "visit_id": visit, **own}
            for visit in ("by-chromium", "by-firefox")
            for own in columns[visit]
        ]

    connections = {"by-chromium": (1, 1), "by-firefox": (1, 2)}
    requests = {
        visit: [{"request_id": n, "connection_id": c} for n, c in enumerate(numbers)]
        for visit, numbers in connections.items()
    }
    used = {visit: [{"connection_id": c} for c in sorted(set(numbers))] for visit, numbers in connections.items()}
    visits = {
        f"by-{browser}": [{"browser": browser, "vantage": None, "url": "https://www.example.com/"}]
        for browser in ("chromium", "firefox")
    }
    return {
        **example_rows, "visits": rows("visits", visits), "requests": rows("requests", requests),
        "connections": rows("connections", used), "dns_queries": [],
    }  # fmt: skip


def test_one_browsers_recording_is_held_against_the_others(build_study, both) -> None:
    with open_database(build_study(both, Parameters())) as connection:
        found = rows_of(connection, "predictions_other_summary")
    columns = ("recorded_by", "browser", "within_pct", "likely_pct", "width", "recorded", "error", "pages", "sites")
    assert found.select(columns).rows() == [
        ("chromium", "firefox", 0.0, 0.0, 0.0, 2.0, 1.0, 1, 1),
        ("firefox", "chromium", 100.0, 100.0, 0.0, 1.0, 0.0, 1, 1),
    ]


def test_without_a_page_of_both_there_is_nothing_to_hold_against(build_study, both) -> None:
    visits = [{**row, "browser": "chromium"} for row in both["visits"]]
    with open_database(build_study({**both, "visits": visits}, Parameters())) as connection:
        assert rows_of(connection, "predictions_other_summary").is_empty()
