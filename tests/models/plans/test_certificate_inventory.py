"""Plans for many certificates: no proposed name breaks a rule, and nothing better is possible within the limits."""

from itertools import combinations
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from originset.models.plans.certificate_inventory import INVENTORY, PAIRS, InventoryPlan, Limits, plan_inventory

NAMES = ("a.test", "*.a.test", "b.test", "lib.cdn.test", "font.cdn.test", "*.c.test", "c.test", "x.c.test", "10.0.0.1")
SITES = ("a.test", "www.a.test", "b.test", "c.test", "x.c.test", "y.c.test", "nowhere.test")
HOSTS = (*SITES, "lib.cdn.test", "font.cdn.test", "10.0.0.1", "bad host", "single", "*.c.test")
OWNERS = st.sampled_from(["cdn", "a", "b", None])


@st.composite
def inventories(draw: st.DrawFn) -> list[dict[str, Any]]:
    return [
        {
            "certificate": f"c{number}",
            "names": draw(st.lists(st.sampled_from(NAMES), max_size=4, unique=True)),
            "key_holder": draw(st.sampled_from(["cdn", "cdn", "customer", None])),
            "ca": draw(st.sampled_from(["le", "other", None])),
            "owner": draw(OWNERS),
            "shared": draw(st.sampled_from([True, True, False, None])),
            "opt_out": draw(st.sampled_from([False, False, True, None])),
            "multi_cdn": draw(st.sampled_from([False, False, True, None])),
            "caa": draw(st.sampled_from([None, None, ["le"], []])),
        }
        for number in range(draw(st.integers(1, 4)))
    ]


PAIR = st.tuples(st.sampled_from(SITES), st.sampled_from(HOSTS), st.integers(0, 9))


def planned(rows: list[dict[str, Any]], pairs: list[tuple[str, str, int]], limits: Limits) -> InventoryPlan:
    return plan_inventory(pl.DataFrame(rows, schema=INVENTORY), pl.LazyFrame(pairs, schema=PAIRS, orient="row"), limits)


def serving(rows: list[dict[str, Any]], host: str) -> list[dict[str, Any]]:
    exact = [row for row in rows if host in row["names"]]
    return exact or [row for row in rows if f"*.{host.partition('.')[2]}" in row["names"]]


def allowed(rows: list[dict[str, Any]], asker: dict[str, Any], host: str) -> bool:
    """The rules, one by one, for one certificate and one host."""
    if host in asker["names"] or f"*.{host.partition('.')[2]}" in asker["names"]:
        return False
    if host in ("bad host", "single", "10.0.0.1", "*.c.test") or not serving(rows, host):
        return False
    server = serving(rows, host)[0]
    own = server["owner"] is not None and server["owner"] == asker["owner"]
    return (
        asker["key_holder"] == "cdn"
        and not asker["opt_out"]
        and not server["opt_out"]
        and bool(server["shared"] or own)
        and not server["multi_cdn"]
        and (server["caa"] is None or asker["ca"] in server["caa"])
    )


@settings(max_examples=60, deadline=None)
@given(inventories(), st.lists(PAIR, max_size=12), st.integers(0, 3), st.integers(1, 5))
def test_no_rule_is_broken_and_nothing_better_is_possible(
    rows: list[dict[str, Any]], pairs: list[tuple[str, str, int]], additions: int, names: int
) -> None:
    made = planned(rows, pairs, Limits(additions, names))
    chosen: dict[str, dict[str, int]] = {}
    for row in made.additions.iter_rows(named=True):
        chosen.setdefault(row["certificate"], {})[row["name"]] = row["connections_saved"]
    for asker in rows:
        own = [
            pair for pair in pairs if [row["certificate"] for row in serving(rows, pair[0])] == [asker["certificate"]]
        ]
        worth: dict[str, int] = {}
        for _, host, connections in own:
            if allowed(rows, asker, host):
                worth[host] = worth.get(host, 0) + connections
        room = max(0, min(additions, names - len(asker["names"])))
        best = max((sum(group) for size in range(room + 1) for group in combinations(worth.values(), size)), default=0)
        mine = chosen.get(asker["certificate"], {})
        assert mine.items() <= worth.items()
        assert len(mine) <= room
        assert sum(mine.values()) == best
    # Every pair is accounted for once.
    assert made.left_out["pairs"].sum() == len(pairs)
    assert made.left_out["connections"].sum() == sum(connections for *_, connections in pairs)


def test_what_was_left_out_is_said() -> None:
    usual = {"key_holder": "cdn", "ca": "le", "shared": False, "opt_out": False, "multi_cdn": False}
    rows = [
        {**usual, "certificate": "a", "names": ["a.test", "*.a.test"], "owner": "a"},
        {**usual, "certificate": "b", "names": ["b.test"], "owner": "b", "key_holder": "customer"},
        {**usual, "certificate": "full", "names": ["f.test", *(f"{n}.f.test" for n in range(99))], "owner": "f"},
        {**usual, "certificate": "lib", "names": ["lib.cdn.test"], "owner": "cdn", "shared": True},
        {**usual, "certificate": "many", "names": ["m.cdn.test"], "owner": "cdn", "shared": True, "multi_cdn": True},
        {**usual, "certificate": "caa", "names": ["caa.cdn.test"], "owner": "cdn", "shared": True, "caa": ["x"]},
        {**usual, "certificate": "out", "names": ["out.test"], "owner": "o", "shared": True, "opt_out": True},
        {**usual, "certificate": "two", "names": ["two.test"], "owner": "t"},
        {**usual, "certificate": "too", "names": ["two.test"], "owner": "t"},
    ]
    pairs = [
        ("a.test", "lib.cdn.test", 10), ("www.a.test.", "LIB.cdn.test", 5), ("a.test", "img.a.test", 3),
        ("a.test", "b.test", 7), ("b.test", "lib.cdn.test", 2), ("gone.test", "lib.cdn.test", 1),
        ("a.test", "elsewhere.test", 4), ("f.test", "lib.cdn.test", 6), ("a.test", "m.cdn.test", 8),
        ("a.test", "caa.cdn.test", 9), ("out.test", "lib.cdn.test", 20), ("a.test", "out.test", 30),
        ("two.test", "lib.cdn.test", 40), ("a.test", "single", 50),
    ]  # fmt: skip
    made = planned([dict.fromkeys(INVENTORY) | row for row in rows], pairs, Limits())
    assert made.additions.rows() == [("a", "lib.cdn.test", 1, 2, 15, 14)]
    assert dict(made.left_out.select("reason", "connections").iter_rows()) == {
        "the host is no name for a certificate": 50,
        "the site is on several certificates": 40,
        "the host has opted out": 30,
        "the site has opted out": 20,
        "planned": 15,
        "the host's CAA does not permit the CA": 9,
        "other CDNs serve the host too": 8,
        "the host is another customer's": 7,
        "no room: the CA's limit": 6,
        "the host is not served here": 4,
        "already covered": 3,
        "the customer holds the key": 2,
        "the site is on no certificate of the inventory": 1,
    }


@pytest.mark.parametrize("first", ["rows", "pairs"])
def test_nothing_gives_nothing(first: str) -> None:
    rows = [] if first == "rows" else [dict.fromkeys(INVENTORY) | {"certificate": "a", "names": ["a.test"]}]
    made = planned(rows, [], Limits())
    assert made.additions.is_empty()
    assert made.left_out.is_empty()
