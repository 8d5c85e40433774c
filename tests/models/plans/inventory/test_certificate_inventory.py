"""Plans for many certificates: no proposed name breaks a rule, and nothing better is possible within the limits."""

from itertools import combinations
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from originset.models.plans.inventory.certificate_inventory import (
    INVENTORY,
    PAIRS,
    InventoryPlan,
    Limits,
    plan_inventory,
)

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


def covers(row: dict[str, Any], host: str) -> bool:
    return host in row["names"] or f"*.{host.partition('.')[2]}" in row["names"]


def units_of(rows: list[dict[str, Any]], pairs: list[tuple[str, str, int]]) -> list[list[dict[str, Any]]]:
    """Certificates that cover a site together are joined until nothing more is to be joined."""
    units = [[row] for row in rows]
    for site, *_ in pairs:
        together = {row["certificate"] for row in serving(rows, site)}
        met = [unit for unit in units if any(row["certificate"] in together for row in unit)]
        units = [unit for unit in units if unit not in met] + [[row for unit in met for row in unit]]
    return [unit for unit in units if unit]


def allowed(rows: list[dict[str, Any]], asker: dict[str, Any], host: str) -> bool:
    """The rules, one by one, for one certificate and one host: the operator's word, or that of all who have it."""
    if host in ("bad host", "single", "10.0.0.1", "*.c.test") or not serving(rows, host):
        return False
    servers = [server for server in serving(rows, host) if server["shared"]]
    own = bool(servers)
    servers = servers or serving(rows, host)
    return (
        asker["key_holder"] == "cdn"
        and not asker["opt_out"]
        and not any(server["opt_out"] or server["multi_cdn"] for server in servers)
        and (own or {server["owner"] for server in servers} == {asker["owner"]} != {None})
        and all(server["caa"] is None or asker["ca"] in server["caa"] for server in servers)
    )


@settings(max_examples=30, deadline=None)
@given(inventories(), st.lists(PAIR, max_size=12), st.integers(0, 3), st.integers(1, 5))
def test_no_rule_is_broken_and_nothing_better_is_possible(
    rows: list[dict[str, Any]], pairs: list[tuple[str, str, int]], additions: int, names: int
) -> None:
    made = planned(rows, pairs, Limits(additions, names))
    chosen: dict[str, dict[str, int]] = {}
    for row in made.additions.iter_rows(named=True):
        chosen.setdefault(row["unit"], {})[row["name"]] = row["connections_saved"]
    units = units_of(rows, pairs)
    by_name = {row["certificate"]: row for row in rows}
    for unit in units:
        members = sorted(row["certificate"] for row in unit)
        worth: dict[str, int] = {}
        for site, host, connections in pairs:
            at = serving(rows, site)
            if not at or at[0] not in unit or all(covers(row, host) for row in at):
                continue
            if all(allowed(rows, row, host) for row in unit):
                worth[host] = worth.get(host, 0) + connections
        room = max(0, min(additions, names - max(len(row["names"]) for row in unit)))
        best = max((sum(group) for size in range(room + 1) for group in combinations(worth.values(), size)), default=0)
        mine = chosen.pop(members[0], {})
        assert mine.items() <= worth.items()
        assert len(mine) <= room
        assert sum(mine.values()) == best
        for row in made.additions.filter(unit=members[0]).iter_rows(named=True):
            assert row["certificates"] == [name for name in members if not covers(by_name[name], row["name"])]
    assert not chosen
    # Every pair is accounted for once.
    assert made.left_out["pairs"].sum() == len(pairs)
    assert made.left_out["connections"].sum() == sum(connections for *_, connections in pairs)


def test_certificates_that_cover_a_site_together_get_the_same_names() -> None:
    """An RSA and an ECDSA certificate with the same names; an old and a new one, of which the new has a name more."""
    usual = dict.fromkeys(INVENTORY) | {"key_holder": "cdn", "ca": "le", "shared": False, "owner": "a"}
    shared = usual | {"owner": "cdn", "shared": True}
    rows = [
        usual | {"certificate": "rsa", "names": ["a.test", "*.a.test"]},
        usual | {"certificate": "ecdsa", "names": ["*.a.test", "a.test"], "ca": "other"},
        usual | {"certificate": "old", "names": ["b.test"], "owner": "b"},
        usual | {"certificate": "new", "names": ["b.test", "lib.cdn.test"], "owner": "b"},
        shared | {"certificate": "lib-rsa", "names": ["lib.cdn.test"]},
        shared | {"certificate": "lib-ecdsa", "names": ["lib.cdn.test"], "caa": ["le", "other"]},
        shared | {"certificate": "font", "names": ["font.cdn.test"], "caa": ["le"]},
    ]
    pairs = [
        ("a.test", "lib.cdn.test", 10), ("www.a.test", "lib.cdn.test", 5), ("a.test", "font.cdn.test", 7),
        ("b.test", "lib.cdn.test", 4), ("b.test", "font.cdn.test", 3),
    ]  # fmt: skip
    made = planned(rows, pairs, Limits())
    assert made.additions.select("unit", "certificates", "name", "connections_saved").rows() == [
        ("rsa", ["rsa", "ecdsa"], "lib.cdn.test", 15),
        ("old", ["old"], "lib.cdn.test", 4),
        ("old", ["old", "new"], "font.cdn.test", 3),
    ]
    assert dict(made.left_out.select("reason", "connections").iter_rows()) == {
        "planned": 22,
        "the host's CAA does not permit the CA": 7,
    }


def test_a_name_that_everybody_has_joins_nobody() -> None:
    usual = dict.fromkeys(INVENTORY) | {"key_holder": "cdn", "shared": True}
    rows = [usual | {"certificate": f"c{n}", "names": [f"s{n}.test", "everybody.test"]} for n in range(9)]
    rows.append(usual | {"certificate": "lib", "names": ["lib.test"]})
    pairs = [("everybody.test", "lib.test", 100), ("s3.test", "lib.test", 1)]
    made = planned(rows, pairs, Limits())
    assert made.additions.select("unit", "certificates", "connections_saved").rows() == [("c3", ["c3"], 1)]
    assert made.left_out.filter(reason="the site is on too many certificates")["connections"].item() == 100
    joined = planned(rows[1:], pairs, Limits())
    assert joined.additions.select("unit", "connections_saved").rows() == [("c1", 101)]


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
    assert made.additions.rows() == [
        ("two", ["two", "too"], "lib.cdn.test", 1, 1, 40, 14),
        ("a", ["a"], "lib.cdn.test", 1, 2, 15, 14),
    ]
    assert dict(made.left_out.select("reason", "connections").iter_rows()) == {
        "the host is no name for a certificate": 50,
        "the host has opted out": 30,
        "the site has opted out": 20,
        "planned": 55,
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
