"""Whoever wrote the plan, a set holds valid origins only, the server's own among them, and fits a frame."""

import msgspec
import pytest

from originset.cli.writers.origin_set import OriginSet, choose, quoted
from originset.data.errors import UsageError
from originset.models.plans.origin_plan import Announced, Basis, LeftOut, Plan, Server

BASIS = Basis(study="S", visits=1, vantages=1)


def made(origins: list[str], left_out: list[LeftOut] | None = None) -> Plan:
    entries = [
        Announced(origin=origin, level=3, requests=1, visits=1, seen_share=1.0, coalesces_today=False)
        for origin in origins
    ]
    return Plan(
        site="a.test",
        basis=BASIS,
        servers=[Server(server="a.test", announce=entries, left_out=left_out or [], warnings=[])],
        additions=[],
        additions_left_out=[],
        additions_not_taken=0,
        certificate_id=None,
        certificate_names=None,
    )


def test_what_was_added_by_hand_must_be_in_the_plans_certificate() -> None:
    plan = msgspec.structs.replace(
        made(["https://a.test", "https://b.a.test", "https://c.b.a.test", "https://stranger.test"]),
        names=["a.test", "*.a.test"],
    )
    chosen, refused = choose(plan, None)
    assert chosen.origins == ("https://a.test", "https://b.a.test")
    assert refused == [
        f'left out "https://{host}": the plan\'s certificate does not cover it'
        for host in ("c.b.a.test", "stranger.test")
    ]
    # A server with a certificate of its own is not measured by the site's.
    chosen, refused = choose(msgspec.structs.replace(plan, names=["other.test"]), None)
    assert (len(chosen.origins), refused) == (4, [])


def sized(total: int) -> list[str]:
    """Valid origins, the server's first, whose payload has exactly ``total`` bytes."""
    origins = ["https://a.test"]
    rest = total - 16
    while rest > 0:
        size = min(rest, 100) if rest != 101 + 10 else 90
        size = size if rest - size == 0 or rest - size >= 20 else size - 20
        name = f"n{len(origins)}".ljust(size - 2 - len("https://.bb"), "x")
        origins.append(f"https://{name[:40]}{'.' if len(name) > 40 else ''}{name[41:]}.bb")
        rest -= size
    return origins


@pytest.mark.parametrize(("total", "fits"), [(16_381, True), (16_382, True), (16_383, False)])
def test_the_limit_of_a_frame_to_the_byte(total: int, fits: bool) -> None:
    origins = sized(total)
    assert sum(2 + len(origin) for origin in origins) == total
    if fits:
        assert choose(made(origins), None)[0].origins == tuple(sorted(origins))
    else:
        with pytest.raises(UsageError, match="16383 bytes"):
            choose(made(origins), None)


def test_a_hostile_plan_gives_its_valid_origins_and_a_reason_for_each_other(hostile_plans) -> None:
    for plan, expected in hostile_plans:
        chosen, refused = choose(plan, None)
        assert list(chosen.origins) == expected
        assert len(refused) == chosen.left_out == 4
        for line in [*refused, *chosen.remarks()]:
            assert line.isascii()
            assert line.isprintable()


def test_an_origin_twice_is_there_once() -> None:
    assert choose(made(["https://b.test", "https://a.test", "https://b.test"]), None)[0] == OriginSet(
        "a.test", "a.test", ("https://a.test", "https://b.test"), BASIS, 0
    )


def test_the_server_itself_is_never_missing() -> None:
    left = LeftOut(
        host="a.test", port=443, reason="misdirected", detail="told why", requests=1, visits=1, coalesces_today=False
    )
    with pytest.raises(UsageError, match="told why"):
        choose(made(["https://b.test"], [left]), None)


def test_quoted_text_is_shortened() -> None:
    assert quoted("x" * 81) == '"' + "x" * 80 + '..."'
