"""Groups of hosts and what pairs of them share, against one pair at a time."""

import itertools

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from originset.models import neighbours as n

hosts = st.integers(0, 6)
groups = st.lists(st.tuples(st.integers(0, 4), hosts), max_size=25)
located = st.lists(st.tuples(hosts, st.sampled_from("pqr"), st.integers(0, 3)), unique_by=lambda row: row[:2])


def frame(rows):
    return n.grouped(pl.DataFrame(rows, schema={"group": pl.Int64, "host": pl.UInt32}, orient="row"))


def sets(rows):
    found = {group: {host for other, host in rows if other == group} for group, _ in rows}
    return {group: hosts for group, hosts in found.items() if len(hosts) > 1}


def places(rows):
    return n.places(pl.DataFrame(rows, schema={"host": pl.UInt32, "place": pl.String, "at": pl.Int64}, orient="row"))


def expected(pairs, rows):
    """Pair, place and the earlier of the times that both hosts of it were last there."""
    at = {(host, place): when for host, place, when in rows}
    return {
        (one, other, place, min(at[one, place], at[other, place]))
        for one, other in pairs
        for place in "pqr"
        if (one, place) in at and (other, place) in at
    }


def told(found, where):
    return {
        (row["pair"] >> 32, row["pair"] & 0xFFFFFFFF, where.texts[row["place"]], row["at"])
        for row in found.rows(named=True)
    }


@given(rows=groups)
def test_groups_have_each_host_once_and_no_group_has_one(rows):
    assert frame(rows).rows() == sorted((group, host) for group, hosts in sets(rows).items() for host in hosts)


@given(one=groups, other=groups)
def test_each_different_set_is_listed_once(one, other):
    listed = n.lists([frame(one), frame(other)]).group_by("list").agg("host")["host"].to_list()
    distinct = {frozenset(hosts) for rows in (one, other) for hosts in sets(rows).values()}
    assert len(listed) == len(distinct)
    assert {frozenset(hosts) for hosts in listed} == distinct


@settings(deadline=None)
@given(rows=groups, where=located)
def test_pairs_of_a_list_that_share_a_place(rows, where):
    pairs = {pair for hosts in sets(rows).values() for pair in itertools.combinations(sorted(hosts), 2)}
    found = n.sharing(n.lists([frame(rows)]), places(where))
    assert told(found, places(where)) == expected(pairs, where)
    assert found.select("pair", "place").is_unique().all()


@settings(deadline=None)
@given(rows=groups, servers=st.lists(st.integers(-1, 6), min_size=5, max_size=5), where=located)
def test_pairs_with_a_server_of_the_group(rows, servers, where):
    group = frame(rows)
    beside = n.beside(group, np.array([servers[number] for number in group["group"]], np.int64))
    pairs = {
        (min(host, servers[number]), max(host, servers[number]))
        for number, hosts in sets(rows).items()
        if servers[number] in hosts
        for host in hosts - {servers[number]}
    }
    assert sorted(beside["pair"]) == sorted(one << 32 | other for one, other in pairs)
    assert told(n.both_at(beside, places(where)), places(where)) == expected(pairs, where)


@given(lengths=st.lists(st.integers(1, 5), max_size=6), together=st.integers(1, 9))
def test_all_pairs_within_runs_some_at_a_time(lengths, together):
    ends = list(itertools.accumulate(lengths))
    starts = np.array([end - length for end, length in zip(ends, lengths, strict=True)], np.int64)
    found = [
        list(zip(one.tolist(), other.tolist(), strict=True))
        for one, other in n.pairs_within(starts, sum(lengths), together)
    ]
    runs = [range(end - length, end) for end, length in zip(ends, lengths, strict=True)]
    assert list(itertools.chain(*found)) == [pair for run in runs for pair in itertools.combinations(run, 2)]
    assert all(len(some) <= max(together, 4) for some in found), "one row has 4 at most"


def test_of_several_places_the_first_by_name_and_the_last_time_are_told():
    where = places([(0, "q", 3), (1, "q", 2), (0, "p", 1), (1, "p", 1), (2, "alone", 9)])
    found = n.sharing(
        pl.DataFrame({"list": [0, 0, 0], "host": [0, 1, 2]}, {"list": pl.Int64, "host": pl.UInt32}), where
    )
    assert n.told([found, found], where, "at ").rows() == [(1, "at p", 2)]
