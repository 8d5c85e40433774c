"""Traffic of a ring during its change against before, beside certificates without it."""

import math

import numpy as np
import polars as pl
import pytest

from originset.models.plans.inventory.ring_changes import RingChange
from originset.models.plans.inventory.ring_comparison import compare_ring
from originset.models.plans.inventory.rollout import Change

LIB = "lib.cdn.test"


def change(ring: int, number: int, group: str = "experiment") -> RingChange:
    names, later = ([LIB], []) if group == "experiment" else (["000.x.test"], [LIB])
    made = Change(certificate=f"c{number}", group=group, names=names, later=later)
    return RingChange(ring, made, (f"s{number}.test", f"*.s{number}.test"))


def traffic(connections: dict[int, int], **counters: dict[int, int]) -> pl.LazyFrame:
    rows = [
        {"site": f"s{number}.test", "host": LIB, "connections": count}
        | {name: values[number] for name, values in counters.items()}
        for number, count in connections.items()
    ]
    # What goes elsewhere, or comes from elsewhere, does not count.
    other = dict.fromkeys(counters, 10_000)
    rows += [{"site": "s1.test", "host": "other.test", "connections": 10_000, **other}]
    rows += [{"site": "elsewhere.test", "host": LIB, "connections": 10_000, **other}]
    return pl.DataFrame(rows).lazy()


WITH_CONTROL = {1: [change(1, 1), change(1, 2, "control")], 2: [change(2, 3)]}


def test_groups_of_different_size_are_compared_by_ratios() -> None:
    """The control is ten times as large, and the second period twice as long."""
    found = compare_ring(WITH_CONTROL, 1, traffic({1: 1000, 2: 10_000}), traffic({1: 1000, 2: 20_000}))
    (row, *_) = found.rows.iter_rows(named=True)
    assert (row["experiment_before"], row["experiment_during"]) == (1000, 1000)
    assert (row["control_before"], row["control_during"]) == (10_000, 20_000)
    assert row["change"] == pytest.approx(0.5, rel=1e-3)
    spread = 1.959964 * math.sqrt(2 / 1000.5 + 1 / 10_000.5 + 1 / 20_000.5)
    assert math.log(row["high"] / row["low"]) == pytest.approx(2 * spread)
    assert (found.connections, found.instead, found.is_worse) == ("fewer", None, False)
    worse = compare_ring(WITH_CONTROL, 1, traffic({1: 1000, 2: 10_000}), traffic({1: 2000, 2: 10_000}))
    assert (worse.connections, worse.is_worse) == ("more", True)
    bounded = compare_ring(
        WITH_CONTROL, 1, traffic({1: 1000, 2: 10_000}), traffic({1: 1000, 2: 10_000}), most_ratio=1.2
    )
    assert (bounded.connections, bounded.rows["change"][0]) == ("fewer", pytest.approx(1, rel=1e-3))


def test_hosts_below_wildcards_and_names_written_otherwise() -> None:
    rows = pl.DataFrame({"site": ["WWW.s1.test.", "s2.test"], "host": [LIB.upper(), LIB], "connections": [50, 60]})
    found = compare_ring(WITH_CONTROL, 1, rows.lazy(), rows.lazy())
    assert found.rows.row(0)[1:5] == (50, 50, 60, 60)
    assert found.connections == "undecided"


@pytest.mark.parametrize(
    ("before", "during"), [({1: 9, 2: 99}, {1: 0, 2: 99}), ({1: 99, 2: 99}, {1: 0, 2: 9}), ({1: 99, 2: 10}, {1: 0})]
)
def test_few_connections_decide_nothing(before: dict[int, int], during: dict[int, int]) -> None:
    found = compare_ring(WITH_CONTROL, 1, traffic(before), traffic(during))
    assert (found.connections, found.rows["change"][0], found.is_worse) == ("undecided", None, False)


def test_that_no_connection_is_left_is_what_it_is_for() -> None:
    found = compare_ring(WITH_CONTROL, 1, traffic({1: 20, 2: 20}), traffic({2: 20}))
    assert found.connections == "fewer"
    # Four numbers of that size tell a change by a tenth from none: (1.96 / ln 1.1)^2 * 4.
    assert found.needed == 1692


@pytest.mark.parametrize(
    ("ring", "counts", "said", "control"),
    [
        (2, {1: 0, 2: 50, 3: 50}, "the controls of the rings before", 50),
        (1, {1: 50, 3: 60}, "certificates of the rings to come", 60),
        (2, {3: 50}, "without a control: during against before", None),
    ],
)
def test_what_takes_the_place_of_a_control(ring: int, counts: dict[int, int], said: str, control: int | None) -> None:
    found = compare_ring(WITH_CONTROL, ring, traffic(counts), traffic(counts))
    assert said in (found.instead or "")
    assert found.rows["control_before"][0] == control


def test_the_last_ring_is_the_control_itself() -> None:
    rings = {
        1: WITH_CONTROL[1],
        2: [RingChange(2, Change(certificate="c2", group="experiment", names=[LIB], later=[]), ("s2.test",))],
    }
    found = compare_ring(rings, 2, traffic({1: 10, 2: 100}), traffic({1: 10, 2: 50}))
    assert (found.rows["experiment_before"][0], found.rows["control_before"][0]) == (100, None)
    assert "without a control" in (found.instead or "")


def test_certificates_that_go_their_own_ways_make_the_interval_wide() -> None:
    """Two certificates of which one loses what the other wins say nothing of the next one."""
    rings = {1: [change(1, 1), change(1, 2), change(1, 3, "control"), change(1, 4, "control")]}
    before = traffic(dict.fromkeys(range(1, 5), 1000))
    alike = compare_ring(rings, 1, before, traffic({1: 700, 2: 700, 3: 1000, 4: 1000}))
    apart = compare_ring(rings, 1, before, traffic({1: 0, 2: 1400, 3: 1000, 4: 1000}))
    assert (alike.connections, apart.connections) == ("fewer", "undecided")
    assert apart.needed > 100 * alike.needed
    beside = compare_ring(rings, 1, before, traffic({1: 700, 2: 700, 3: 0, 4: 2000}))
    assert beside.connections == "undecided"
    assert beside.needed > 100 * alike.needed


def test_the_interval_of_certificates_is_that_of_a_ratio_of_totals() -> None:
    """Cochran 1977, section 6.3, by hand: residuals of 1 / 4 and -1 / 4 of two certificates, doubled by 2 / (2 - 1)."""
    rings = {1: [change(1, 1), change(1, 2)]}
    found = compare_ring(rings, 1, traffic({1: 2000, 2: 2000}), traffic({1: 3000, 2: 1000}))
    (row, *_) = found.rows.iter_rows(named=True)
    assert row["change"] == 1
    spread = 1.959964 * math.sqrt(2 * 2 * (1000 / 4000.5) ** 2)
    assert math.log(row["high"]) == pytest.approx(spread)
    assert math.log(row["low"]) == pytest.approx(-spread)
    # As many as it takes by two numbers of that size, as often as certificates vary more than connections.
    times = 2 * 2 * (1000 / 4000.5) ** 2 / (2 / 4000.5)
    assert found.needed == math.ceil(2 * (1.959964 / math.log(1.1)) ** 2 * times)


@pytest.mark.parametrize("connections", [9, 10])
def test_ten_connections_are_enough(connections: int) -> None:
    """Of the control before, which is then the ring's own, and of each number, of which an interval is given."""
    counts = traffic({1: connections, 2: connections})
    found = compare_ring(WITH_CONTROL, 1, counts, counts)
    assert (found.instead is None) == (found.rows["change"][0] == 1) == (connections == 10)
    few_during = compare_ring(WITH_CONTROL, 1, traffic({1: 99, 2: 99}), traffic({1: 99, 2: connections}))
    assert (few_during.rows["change"][0] is not None) == (connections == 10)


def test_a_bound_at_the_intervals_end_decides_nothing() -> None:
    before, during = traffic({1: 1000, 2: 1000}), traffic({1: 500, 2: 1000})
    (row, *_) = compare_ring(WITH_CONTROL, 1, before, during).rows.iter_rows(named=True)
    for bound in (row["low"], row["high"]):
        assert compare_ring(WITH_CONTROL, 1, before, during, most_ratio=bound).connections == "undecided"


def test_shares_are_compared_in_percentage_points() -> None:
    requests = {"requests": {1: 100_000, 2: 100_000}}
    connections = {1: 1000, 2: 1000}

    def shares(during: int, control: int) -> pl.DataFrame:
        found = compare_ring(
            WITH_CONTROL, 1, traffic(connections, **requests, errors={1: 100, 2: 100}),
            traffic(connections, **requests, errors={1: during, 2: control}),
        )  # fmt: skip
        return found.rows

    (row,) = shares(400, 100).filter(measure="errors").to_dicts()
    assert (row["experiment_before"], row["experiment_during"]) == (0.1, 0.4)
    assert row["change"] == pytest.approx(0.3)
    assert row["verdict"] == "worse"
    # As much more of them in the control: something else is the matter.
    (row,) = shares(400, 400).filter(measure="errors").to_dicts()
    assert (row["change"], row["verdict"]) == (pytest.approx(0), "not worse")
    others = shares(100, 100).filter(~pl.col("measure").is_in(["errors", "new connections"]))
    assert set(others["verdict"]) == {"not measured"}


def test_the_interval_of_a_share_is_that_of_agresti_and_coull() -> None:
    """With two more of each number: 12 of 1004, 32 of 1004, 22 of 2004 twice."""
    before = traffic({1: 99, 2: 99}, requests={1: 1000, 2: 2000}, errors={1: 10, 2: 20})
    during = traffic({1: 99, 2: 99}, requests={1: 1000, 2: 2000}, errors={1: 30, 2: 20})

    def errors(**bounds: float) -> dict[str, object]:
        (row,) = compare_ring(WITH_CONTROL, 1, before, during, **bounds).rows.filter(measure="errors").to_dicts()
        return row

    row = errors()
    assert [row["change"], row["low"], row["high"]] == pytest.approx([2, 0.5686644423, 3.4313355577])
    assert row["verdict"] == "worse"
    # Its end is not above a bound that is as large.
    assert [errors(most_points=row[end])["verdict"] for end in ("low", "high")] == ["undecided", "not worse"]


def test_a_share_of_nothing_is_not_measured() -> None:
    before = traffic({1: 99, 2: 99}, requests={1: 1000, 2: 1000}, errors={1: 1, 2: 1})
    during = traffic({1: 99, 2: 99}, requests={1: 1000, 2: 0}, errors={1: 1, 2: 0})
    (row,) = compare_ring(WITH_CONTROL, 1, before, during).rows.filter(measure="errors").to_dicts()
    assert (row["verdict"], row["experiment_before"], row["change"]) == ("not measured", None, None)
    alone = {1: [change(1, 1)]}
    (row,) = compare_ring(alone, 1, before, before).rows.filter(measure="errors").to_dicts()
    assert (row["experiment_before"], row["control_before"], row["change"]) == (0.1, None, 0)


@pytest.mark.parametrize("mean", [10, 100])
def test_intervals_miss_no_more_often_than_they_say(mean: int) -> None:
    """Ratios of Poisson numbers that have not changed; of few connections nothing is said in half of the cases."""
    rng = np.random.default_rng(8336)
    draws, given, missed = 150, 0, 0
    for before, control_before, during, control_during in rng.poisson(mean, (draws, 4)).tolist():
        found = compare_ring(
            WITH_CONTROL, 1, traffic({1: before, 2: control_before}), traffic({1: during, 2: control_during})
        )
        given += found.rows["change"][0] is not None and found.instead is None
        missed += found.connections != "undecided" and found.instead is None
    assert given > draws / 20
    assert missed <= 0.075 * given
