"""The choice of names against one that counts sets in plain Python, and by hand where sets are not tried."""

import random
from itertools import combinations

import polars as pl
import pytest

from originset.models.certificates.greedy_names import GREEDY_NAMES, best_savings, greedy_names
from originset.models.parameters import Parameters

SCHEMA = {"server_key": pl.String, "names": pl.List(pl.String), "connections": pl.Int64}


def chosen(rows):
    """The rows of the choice, by provider and rank; ``rows``: provider, names that connections lack, how many."""
    missing = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    found = greedy_names({"provider_missing_names": missing}, Parameters())["greedy_names"]
    assert found.schema == GREEDY_NAMES
    return found.sort("server_key", "rank").rows()


def naive(rows):
    """The same, one connection at a time."""
    found = []
    for key in sorted({key for key, *_ in rows}):
        sets = [(frozenset(names), count) for of, names, count in rows if of == key]
        names = sorted(frozenset().union(*(one for one, _ in sets)))
        taken: list[str] = []
        while len(taken) < len(names):
            left = [(one - set(taken), count) for one, count in sets]
            shares = {name: round(sum(n / len(one) for one, n in left if name in one), 6) for name in names}
            best = min((-shares[name], name) for name in names if name not in taken)[1]
            saved = sum(count for one, count in left if one == {best})
            taken.append(best)
            size = len(taken)
            most = max(sum(n for one, n in sets if one <= set(some)) for some in combinations(names, size))
            found.append((key, size, best, saved, most))
    return found


@pytest.mark.parametrize("seed", range(40))
def test_against_one_connection_at_a_time(seed: int) -> None:
    source = random.Random(seed)  # noqa: S311 - the same ones each time
    rows = [
        (source.choice("kl"), sorted(source.sample("abcdef", source.choice((1, 1, 2, 3)))), source.randint(1, 9))
        for _ in range(source.randint(1, 10))
    ]
    assert chosen(rows) == naive(rows)


def test_no_more_than_ten_names() -> None:
    rows = [("k", [f"n{number:02}"], 20 - number) for number in range(11)]
    found = chosen(rows)
    assert [(rank, name, saved) for _, rank, name, saved, _ in found] == [
        (number + 1, f"n{number:02}", 20 - number) for number in range(10)
    ]
    assert found[-1][4] == sum(range(11, 21)), "the ten largest"


@pytest.mark.parametrize(("names", "bound"), [(12, 0), (13, 2)])
def test_sets_are_tried_of_twelve_names_and_not_of_more(names: int, bound: int) -> None:
    """Pairs that all share a name: the first of two saves nothing, and half of each connection is what shares say."""
    rows = [("k", ["hub", f"n{number:02}"], 4) for number in range(names - 1)]
    (_, _, name, saved, at_most), (*_, second, with_second) = chosen(rows)[:2]
    assert (name, saved, second) == ("hub", 0, 4)
    assert at_most == (0 if bound == 0 else 2 * (names - 1))
    assert with_second == (4 if bound == 0 else 2 * (names - 1) + bound)


def test_connections_without_missing_names() -> None:
    assert chosen([]) == []


def test_the_best_sets_of_given_sizes() -> None:
    rows = [(0, "a", 5), (0, "b", 5), (1, "c", 4), (2, "b", 1)]
    sets = pl.DataFrame(rows, schema=["set", "name", "connections"], orient="row")
    assert best_savings(sets) == [4, 6, 10]
    ten = pl.DataFrame([(n, f"n{n}", 1) for n in range(12)], schema=sets.schema, orient="row")
    assert best_savings(ten) == list(range(1, 11))
