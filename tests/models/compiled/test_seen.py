"""Numbers for keys, held against a dictionary."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from originset.models.compiled.seen import Seen

# Few different halves, so that keys often share one, the place in the table, and the bits that an entry has of them.
halves = st.sampled_from([0, 1, 2**11, 2**12, 2**32, 2**32 + 1, 2**63, 2**64 - 1])
calls = st.lists(st.lists(st.tuples(halves, halves), max_size=70), max_size=6)


def hashes(values):
    return np.array(list(values), np.uint64)


@given(calls=calls)
def test_numbers_are_by_first_appearance(calls) -> None:
    seen, known = Seen(), {}
    for keys in calls:
        before = len(known)
        numbers, new = seen.numbers(hashes(one for one, _ in keys), hashes(other for _, other in keys))
        assert numbers.tolist() == [known.setdefault(key, len(known)) for key in keys]
        assert [keys[row] for row in new] == list(known)[before:]
        assert seen.count == len(known)


def test_it_grows() -> None:
    seen, rng = Seen(), np.random.default_rng(1)
    keys = rng.integers(0, 2**64, (2, 30_000), np.uint64)
    first, _ = seen.numbers(keys[0, :20_000].copy(), keys[1, :20_000].copy())
    again, new = seen.numbers(keys[0], keys[1])
    assert first.tolist() == again[:20_000].tolist()
    assert new.tolist() == list(range(20_000, 30_000))


def test_halves_belong_together() -> None:
    with pytest.raises(ValueError, match="different length"):
        Seen().numbers(hashes([1]), hashes([]))
