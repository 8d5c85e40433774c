"""Pages judged by budgets: what is over, what is within, and what nobody can say."""

from __future__ import annotations

from originset.data.studies.database import open_database
from originset.models.parameters import Parameters
from originset.queries.page_budget import MEASURES, PageBudget, budget_verdicts

NONE = dict.fromkeys(MEASURES, 0)


def verdicts(study, default: PageBudget, *overrides: PageBudget) -> dict[tuple[str, str], tuple[int, int | None, str]]:
    with open_database(study) as connection:
        rows = budget_verdicts(connection, default, list(overrides))
    return {
        (visit, measure): (budget, value, verdict)
        for visit, measure, budget, value, verdict in rows.select(
            "visit_id", "measure", "budget", "value", "verdict"
        ).iter_rows()
    }


def test_what_is_counted(study) -> None:
    found = verdicts(study, PageBudget(NONE))
    assert found["a", "connections"] == (0, 6, "over")
    assert found["c", "connections"] == (0, 2, "over")
    with open_database(study) as connection:
        rows = connection.sql("SELECT visit_id, count(*) FROM redundant_connections GROUP BY ALL").fetchall()
        additions = dict(connection.sql("SELECT site, additions FROM site_certificates").fetchall())
    for visit, count in rows:
        assert found[visit, "redundant_connections"] == (0, count, "over")
    assert found["a", "missing_names"] == (0, additions["example.com"], "over")
    # The page's own AS holds a third party's host too; Google's and the address in no known AS hold nothing else.
    assert found["a", "third_party_ases"] == (0, 2, "over")
    assert found["b", "third_party_ases"] == (0, 0, "within")
    assert found["d", "connections"] == (0, None, "unknown")
    assert found["d", "third_party_ases"] == (0, None, "unknown")


def test_more_may_be_over_but_not_within(build_study, example_rows) -> None:
    partial = [{**row, "quality": ["partial"]} for row in example_rows["visits"]]
    study = build_study({**example_rows, "visits": partial}, Parameters())
    assert verdicts(study, PageBudget({"connections": 5}))["a", "connections"] == (5, 6, "over")
    assert verdicts(study, PageBudget({"connections": 6}))["a", "connections"] == (6, 6, "unknown")


def test_a_request_to_nobody_knows_where(study) -> None:
    # Of page a one request's address is not recorded.
    assert verdicts(study, PageBudget({"third_party_ases": 2}))["a", "third_party_ases"] == (2, 2, "unknown")
    assert verdicts(study, PageBudget({"third_party_ases": 1}))["a", "third_party_ases"] == (1, 2, "over")


def test_the_nearest_limit_counts(study) -> None:
    default = PageBudget({"connections": 1, "redundant_connections": 0})
    of_site = PageBudget({"connections": 2}, site="example.com")
    of_url = PageBudget({"connections": 3}, url="https://www.example.com/0")
    found = verdicts(study, default, of_site, of_url)
    assert found["a", "connections"][0] == 3
    assert found["a", "redundant_connections"][0] == 0
    assert found["c", "connections"][0] == 1
    assert verdicts(study, default, of_site)["a", "connections"][0] == 2
    only = verdicts(study, PageBudget({}), of_site)
    assert {visit for visit, _ in only} == {"a", "b"}
