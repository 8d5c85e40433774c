"""What stands in the way of a name, whoever would add it."""

import pytest
from model_tables import model_table, model_tables

from originset.models.parameters import Parameters

pytestmark = pytest.mark.slow


def reasons(tables) -> dict[str, str | None]:
    additions = model_table("certificate_additions", tables, Parameters(), browsers=False)
    return dict(additions.select("name", "blocked_reason").iter_rows())


def test_a_host_that_is_elsewhere_at_times(make_tables, example_rows) -> None:
    hosts = [{**row, "multi_cdn": row["host"] == "cdn.other.net"} for row in example_rows["hosts"]]
    assert reasons(make_tables({**example_rows, "hosts": hosts})) == {
        "cdn.other.net": "multi_cdn",
        "img.other.net": None,
    }


def test_a_refusal_is_named_before_anything_else(make_tables, example_rows) -> None:
    hosts = [{**row, "multi_cdn": row["host"] == "cdn.other.net"} for row in example_rows["hosts"]]
    requests = [
        {**row, "status": 421} if row["host"] == "cdn.other.net" and row["connection_id"] == 2 else row
        for row in example_rows["requests"]
    ]
    found = reasons(make_tables({**example_rows, "hosts": hosts, "requests": requests}))
    assert found.get("cdn.other.net") == "misdirected"


@pytest.mark.parametrize(
    ("domains", "zone", "by"),
    [
        ({"www.example.com": "example.com", "cdn.other.net": "example.com"}, None, "site"),
        ({}, "edge.test", "provider"),
        ({}, None, "nobody_known"),
    ],
)
def test_who_can_validate_a_name(make_tables, example_rows, domains, zone, by) -> None:
    hosts = [
        {**row, "registrable_domain": domains.get(row["host"], row["registrable_domain"]), "edge": zone}
        for row in example_rows["hosts"]
    ]
    additions = model_tables(make_tables({**example_rows, "hosts": hosts}), Parameters(), browsers=False)
    (row,) = additions["certificate_additions"].filter(name="cdn.other.net").rows(named=True)
    assert row["validatable_by"] == by


@pytest.mark.parametrize("name", ["-.other.net", "a_b.other.net", "localhost"])
def test_what_no_authority_signs(make_tables, example_rows, name) -> None:
    requests = [{**row, "host": name} if row["host"] == "cdn.other.net" else row for row in example_rows["requests"]]
    assert reasons(make_tables({**example_rows, "requests": requests}))[name] == "not_a_name"
