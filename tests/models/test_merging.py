"""Connections after merging by evidence, against one page at a time."""

import itertools

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from originset.data.schema import TABLES
from originset.models.evidence import pair_levels
from originset.models.merging import links, merged_counts

HOSTS = [f"h{i}" for i in range(7)]
pairs = st.tuples(st.sampled_from(HOSTS), st.sampled_from(HOSTS)).filter(lambda pair: pair[0] < pair[1])


def evidence_of(levels, against=()):
    """``levels``: pair to level."""
    rows = [{"host_a": a, "host_b": b, "level": level, "contradicts": False} for (a, b), level in levels.items()]
    rows += [{"host_a": a, "host_b": b, "level": 0, "contradicts": True} for a, b in against]
    schema = TABLES["colocation_evidence"].polars_schema
    frame = pl.DataFrame([{name: row.get(name) for name in schema} for row in rows], schema=schema)
    return frame.cast(dict.fromkeys(("host_a", "host_b"), pl.Categorical)).lazy()


def counts(located, evidence):
    schema = {"visit": pl.Int32, "key": pl.Categorical, "host": pl.Categorical}
    frame = pl.DataFrame(located, schema=schema, orient="row")
    unit = pl.col("host").to_physical().cast(pl.Int64).alias("unit")
    rows = merged_counts(frame.with_columns(unit), links(pair_levels(evidence).collect()), "certificate")
    assert rows["visit"].is_unique().all()
    return {row["visit"]: (row["edge"], row["deployable"]) for row in rows.iter_rows(named=True)}


def components(hosts, links):
    groups = [{host} for host in hosts]
    for a, b in links:
        touched = [group for group in groups if a in group or b in group]
        if a in hosts and b in hosts:
            groups = [group for group in groups if group not in touched] + [set().union(*touched)]
    return len(groups)


@settings(max_examples=150, deadline=None)
@given(
    located=st.lists(st.tuples(st.integers(0, 1), st.sampled_from("kl"), st.sampled_from(HOSTS)), max_size=25),
    levels=st.dictionaries(pairs, st.integers(0, 5), max_size=12),
)
def test_equal_to_one_page_at_a_time(located, levels):
    found = counts(located, evidence_of(levels))
    assert set(found) == {visit for visit, _, _ in located}
    for visit in found:
        keys = {key for other, key, _ in located if other == visit}
        hosts = {key: {row[2] for row in located if row[:2] == (visit, key)} for key in keys}
        for rung, least in enumerate((2, 3)):
            links = [pair for pair, level in levels.items() if level >= least]
            assert found[visit][rung] == sum(components(hosts[key], links) for key in keys)


@settings(max_examples=150, deadline=None)
@given(
    hosts=st.sets(st.sampled_from(HOSTS), min_size=1),
    levels=st.dictionaries(pairs, st.integers(0, 5), max_size=15),
    against=st.sets(pairs, max_size=6),
)
def test_a_refusal_never_helps(hosts, levels, against):
    located = [(0, "k", host) for host in sorted(hosts)]
    plain = counts(located, evidence_of(levels))[0]
    edge, deployable = counts(located, evidence_of(levels, against))[0]
    assert plain[0] <= edge
    assert plain[1] <= deployable <= len(hosts)
    if any(set(pair) <= hosts for pair in against):
        assert deployable >= 2, "two hosts of which one is refused where the other is served are not one connection"


def test_hosts_that_were_refused_are_kept_apart_though_a_third_connects_them():
    levels = {("h0", "h1"): 3, ("h1", "h2"): 3}
    located = [(0, "k", host) for host in ("h0", "h1", "h2")]
    assert counts(located, evidence_of(levels)) == {0: (1, 1)}
    assert counts(located, evidence_of(levels, [("h0", "h2")])) == {0: (2, 2)}


def test_long_chains():
    many = [f"n{i:04}" for i in range(3000)]
    levels = dict.fromkeys(itertools.pairwise(many), 2)
    assert counts([(0, "k", host) for host in many], evidence_of(levels)) == {0: (1, 3000)}


def test_nothing():
    assert counts([], evidence_of({})) == {}
