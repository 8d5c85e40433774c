"""Which groups open connections: what is not known keeps both ways open, and no way falls outside the range."""

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from originset.models.browsers.replay import SURE, opened, replayed
from originset.models.browsers.sharing_rules import MAYBE, NO, YES


@st.composite
def relations(draw):
    """A number of groups and, for some pairs of them, whether the later may use the earlier's connection."""
    count = draw(st.integers(1, 7))
    pairs = [(later, earlier) for later in range(count) for earlier in range(later)]
    return count, [(*pair, draw(st.sampled_from((NO, MAYBE, YES)))) for pair in pairs]


def outcome(count, triples):
    possible = [triple for triple in triples if triple[2] != NO]
    opens, used = opened(count, *(list(part) for part in zip(*possible, strict=True))) if possible else opened(
        count, [], [], []
    )  # fmt: skip
    return opens.tolist(), used.tolist()


def replay_of_known(count, triples):
    """The rule in its plainest form: in order, each uses an earlier connection if it can, else opens one."""
    opens = [True] * count
    for later in range(count):
        opens[later] = not any(opens[earlier] for other, earlier, may in triples if other == later and may == YES)
    return opens


@given(relations(), st.data())
def test_every_way_it_may_be_lies_in_the_range(relation, data) -> None:
    count, triples = relation
    opens, _ = outcome(count, triples)
    known = [(a, b, data.draw(st.sampled_from((NO, YES))) if may == MAYBE else may) for a, b, may in triples]
    truth = replay_of_known(count, known)
    for number in range(count):
        assert opens[number] == MAYBE or (opens[number] == YES) == truth[number]
    assert opens.count(YES) <= sum(truth) <= opens.count(YES) + opens.count(MAYBE)


@given(relations())
def test_what_is_known_gives_one_number(relation) -> None:
    count, triples = relation
    known = [(a, b, may) for a, b, may in triples if may != MAYBE]
    opens, used = outcome(count, known)
    assert [one == YES for one in opens] == replay_of_known(count, known)
    # Who opens none uses one that is open, and an earlier one.
    assert all((used[n] == -1) == (opens[n] == YES) for n in range(count))
    assert all(used[n] < n and (used[n] == -1 or opens[used[n]] == YES) for n in range(count))


def test_what_shares_another_hosts_connection_shares_it_with_its_own_host() -> None:
    # 1 uses the connection of 0; 2 is of the host of 1, and of nobody else's.
    opens, used = opened(3, [1, 2], [0, 1], [YES, SURE])
    assert opens.tolist() == [YES, NO, NO]
    assert used.tolist() == [-1, 0, 1]


def test_a_name_is_looked_up_unless_what_carries_it_spares_that() -> None:
    pairs = [
        # group, group_held, way, asked, and what is said of the name
        (1, 0, YES, False, False),
        (2, 0, YES, True, True),
        (3, 0, MAYBE, False, None),
        (4, 0, MAYBE, True, True),
        (5, 1, YES, False, True),  # what opens none carries nobody, so that it opens its own
        (6, 3, MAYBE, False, True),
        (6, 0, YES, True, True),  # it certainly uses this one, for which it is asked
    ]
    taken = pl.DataFrame(
        [(group, held, way, way, False, asked, False, False, False, None) for group, held, way, asked, _ in pairs],
        schema={"group": pl.UInt32, "group_held": pl.UInt32, "way": pl.Int8, "may": pl.Int8, "as_recorded": pl.Boolean,
                "asked": pl.Boolean, "refused": pl.Boolean, "either_first": pl.Boolean, "hides_spare": pl.Boolean,
                "experienced_by": pl.Float64},
        orient="row",
    )  # fmt: skip
    groups = pl.DataFrame({"group": range(7)}, schema={"group": pl.UInt32})
    found = replayed(groups, taken)
    assert found["looked_up"].to_list() == [True, *{group: said for group, *_, said in pairs}.values()]
    assert found["opens"].to_list() == [YES, NO, NO, MAYBE, MAYBE, YES, NO]
    assert found["joins"].to_list() == [None, 0, 0, None, None, None, 0]
