"""What stands in the way of a name, whoever would add it."""

from originset.models.fill import model_tables
from originset.models.parameters import Parameters


def reasons(tables) -> dict[str, str | None]:
    additions = model_tables(tables, Parameters(), browsers=False)["certificate_additions"]
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
