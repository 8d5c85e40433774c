"""Which visit is next, and what an order depends on."""

from __future__ import annotations

import threading
import time

from hypothesis import given
from hypothesis import strategies as st

from originset.crawler.crawl.frontier import Frontier, RateLimit, chosen, in_shard, shuffled
from originset.data.ledger.crawl_ledger import LedgerRow


def row(site: str, repeat: int = 1) -> LedgerRow:
    return LedgerRow(site, "here", 1, repeat)


def never() -> bool:
    return False


@given(st.sets(st.text("abc.", min_size=1)), st.integers(0, 1 << 63), st.integers(1, 9))
def test_what_is_left_keeps_its_order(sites: set[str], seed: int, step: int) -> None:
    rows = [row(site) for site in sorted(sites)]
    order = shuffled(rows, seed)
    assert sorted(order, key=lambda one: one.site) == rows
    left = order[::step]
    assert shuffled(sorted(left, key=lambda one: one.site), seed) == left


def test_another_seed_is_another_order() -> None:
    rows = [row(f"{n}.test") for n in range(50)]
    assert shuffled(rows, 1) != shuffled(rows, 2)
    assert shuffled(rows, 1) != rows


@given(st.text(min_size=1), st.integers(1, 20))
def test_a_site_is_in_one_shard(site: str, count: int) -> None:
    assert sum(in_shard(site, number, count) for number in range(1, count + 1)) == 1


def test_shards_are_of_a_size() -> None:
    sizes = [sum(in_shard(f"{n}.test", number, 4) for n in range(4000)) for number in range(1, 5)]
    assert min(sizes) > 900


def test_links_are_chosen_alike_wherever_they_are_found() -> None:
    links = [f"https://a.test/{n}" for n in range(100)]
    some = chosen(7, "a.test", links, 5)
    assert len(some) == 5
    assert chosen(7, "a.test", [*reversed(links), *links], 5) == some
    assert chosen(7, "a.test", [link for link in links if link not in some[:2]], 5)[:3] == some[2:]
    assert chosen(8, "a.test", links, 5) != some


def test_a_site_is_visited_by_one_at_a_time() -> None:
    rows = [row("a.test"), row("a.test", 2), row("b.test"), row("a.test", 3)]
    schedule = Frontier(rows, lambda one: one.site)
    first, second = schedule.take(never), schedule.take(never)
    assert (first, second) == (rows[0], rows[2])
    assert len(schedule) == 2
    taken: list[LedgerRow | None] = []
    waiting = threading.Thread(target=lambda: taken.append(schedule.take(never)))
    waiting.start()
    waiting.join(0.05)
    assert taken == []
    schedule.done(rows[0], [row("c.test")])
    waiting.join()
    assert taken == [rows[1]]
    assert schedule.take(never) == row("c.test")
    for one in (rows[1], rows[2], row("c.test")):
        schedule.done(one)
    assert schedule.take(never) == rows[3]
    schedule.done(rows[3])
    assert schedule.take(never) is None


def test_what_follows_from_the_last_is_waited_for() -> None:
    schedule = Frontier([row("a.test")], lambda one: one.site)
    schedule.take(never)
    taken: list[LedgerRow | None] = []
    waiting = threading.Thread(target=lambda: taken.append(schedule.take(never)))
    waiting.start()
    schedule.done(row("a.test"), [row("a.test", 2)])
    waiting.join()
    assert taken == [row("a.test", 2)]


def test_who_is_told_to_end_takes_nothing() -> None:
    schedule = Frontier([row("a.test")], lambda one: one.site)
    assert schedule.take(lambda: True) is None
    assert len(schedule) == 1


def test_a_pause_before_another_attempt() -> None:
    schedule = Frontier([row("a.test"), row("b.test")], lambda one: one.site)
    assert schedule.take(never) == row("a.test")
    start = time.monotonic()
    schedule.put(row("a.test"), 0.2)
    assert schedule.take(never) == row("b.test")
    assert schedule.take(never) == row("a.test")
    assert time.monotonic() - start >= 0.2


def test_servers_are_paced_across_sites() -> None:
    asked: list[str] = []

    def rate_limits(one: LedgerRow) -> tuple[RateLimit, ...]:
        asked.append(one.site)
        return () if one.site == "free.test" else (RateLimit("192.0.2.1", 0.2),)

    rows = [row("a.test"), row("b.test"), row("free.test"), row("a.test", 2)]
    schedule = Frontier(rows, lambda one: one.site, rate_limits)
    start = time.monotonic()
    order = []
    for _ in rows:
        taken = schedule.take(never)
        assert taken is not None
        order.append(taken)
        schedule.done(taken)
    assert order[:2] == [row("a.test"), row("free.test")]
    assert set(order) == set(rows)
    assert time.monotonic() - start >= 0.4, "two more to the paced server, 0.2 s apart"
    assert sorted(asked) == ["a.test", "b.test", "free.test"]


def test_several_at_once_are_of_different_sites() -> None:
    rows = [row("a.test"), row("a.test", 2), row("b.test"), row("c.test"), row("d.test")]
    schedule = Frontier(rows, lambda one: one.site)
    assert schedule.take_batch(never, 3) == [row("a.test"), row("b.test"), row("c.test")]
    assert schedule.take_batch(never, 3) == [row("d.test")]
    assert not schedule.finished
    for site in "abcd":
        schedule.done(row(f"{site}.test"))
    assert schedule.take_batch(never, 3) == [row("a.test", 2)]
    schedule.done(row("a.test", 2))
    assert schedule.finished
    assert schedule.take_batch(never, 3) == []


def test_what_is_given_up_is_left_over_and_not_waited_for() -> None:
    schedule = Frontier([row("a.test"), row("a.test", 2)], lambda one: one.site)
    assert schedule.take(never) == row("a.test")
    schedule.give_up(row("a.test"))
    assert (len(schedule), schedule.finished) == (2, False)
    assert schedule.take(never) == row("a.test", 2)
    schedule.done(row("a.test", 2))
    assert (len(schedule), schedule.finished) == (1, True)
    assert schedule.take(never) is None
