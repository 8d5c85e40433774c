"""What stands in the way of a name, whoever would add it."""

import polars as pl
import pytest

from originset.data.schema import ORIGIN_SETS
from originset.models.browsers.savings import SAVINGS
from originset.models.fill import model_tables
from originset.models.parameters import Parameters
from originset.models.proposals import announcements


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


def test_what_announcing_is_worth() -> None:
    """A server's own connection is what others save theirs for; what its certificate lacks, clients leave out."""
    facts = {"www.a.test": True, "img.a.test": True, "off.b.test": False, "odd.b.test": None}
    sets = pl.DataFrame(
        [
            {"site": "a.test", "server": "www.a.test", "host": host, "covered_by_certificate": covered}
            for host, covered in facts.items()
        ]
    )
    lacking = [pl.lit(None, kind).alias(name) for name, kind in ORIGIN_SETS.polars_schema.items()]
    sets = sets.with_columns(one for one in lacking if one.meta.output_name() not in sets.columns)
    saved = sets.select("site", "server", "host", *(pl.lit(3, pl.Int64).alias(name) for name in SAVINGS))
    worth = dict(announcements(sets, saved).select("host", "connections_saved_firefox").iter_rows())
    assert worth == {"www.a.test": 0, "img.a.test": 3, "off.b.test": 0, "odd.b.test": None}
    # Without word of the browsers nothing is known.
    assert announcements(sets, None)["connections_saved_firefox"].to_list() == [None] * 4
