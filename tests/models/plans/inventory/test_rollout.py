"""Rollouts: every certificate once, controls of the same length, the same rings for the same seed."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from originset.models.origins import check_host
from originset.models.plans.inventory.rollout import control_name, rollout


def additions(certificates: int) -> pl.DataFrame:
    rows = [
        (f"c{n}", [f"c{n}"], name, n + k)
        for n in range(certificates)
        for k, name in enumerate(("lib.cdn.test", "f.cdn.test"))
    ]
    return pl.DataFrame(rows, schema=["unit", "certificates", "name", "connections_saved"], orient="row")


def test_every_certificate_is_in_one_ring() -> None:
    made = rollout(additions(2000), "x.test", "seed")
    sizes = [len(ring.certificates) for ring in made.rings]
    assert sizes[:4] == [20, 80, 400, 1500]
    changes = [change for ring in made.rings[:4] for change in ring.certificates]
    assert len({change.certificate for change in changes}) == len(changes) == 2000
    controls = [change for change in changes if change.group == "control"]
    assert 10 <= len(controls) <= 50
    assert {change.group for ring in made.rings[3:] for change in ring.certificates} == {"experiment"}
    # What the control waited for, it gets at the end.
    assert {change.certificate: change.names for change in made.rings[4].certificates} == {
        change.certificate: change.later for change in controls
    }
    # The control's names save nothing; certificate N's two save N and N + 1.
    for ring in made.rings:
        counted = [int(one.certificate[1:]) for one in ring.certificates if one.group == "experiment"]
        assert ring.connections_saved == sum(2 * number + 1 for number in counted)
    for change in controls:
        assert sorted(map(len, change.names)) == sorted(map(len, change.later))
        assert set(change.names).isdisjoint(change.later)
        assert all(name.endswith(".x.test") for name in change.names)
    assert made == rollout(additions(2000).sample(fraction=1, shuffle=True, seed=1), "x.test", "seed")
    assert made.rings != rollout(additions(2000), "x.test", "other").rings


def test_certificates_of_a_unit_are_in_one_ring_and_group() -> None:
    doubled = additions(2000).with_columns(
        certificates=pl.concat_list(pl.col("certificates").list.first(), pl.format("{}-ecdsa", "unit"))
    )
    made, single = rollout(doubled, "x.test", "seed"), rollout(additions(2000), "x.test", "seed")
    assert [ring.connections_saved for ring in made.rings] == [ring.connections_saved for ring in single.rings]
    for ring, other in zip(made.rings, single.rings, strict=True):
        by_certificate = {change.certificate: change for change in ring.certificates}
        assert len(by_certificate) == 2 * len(other.certificates)
        for change in other.certificates:
            first, second = by_certificate[change.certificate], by_certificate[f"{change.certificate}-ecdsa"]
            assert first == change
            assert (second.group, second.names, second.later) == (first.group, first.names, first.later)


def test_a_name_goes_to_those_of_a_unit_that_lack_it() -> None:
    rows = [("old", ["old"], "lib.test", 4), ("old", ["old", "new"], "font.test", 3)]
    made = rollout(pl.DataFrame(rows, schema=additions(1).schema, orient="row"), "x.test", "seed")
    changes = {change.certificate: change.names for ring in made.rings for change in ring.certificates}
    assert changes == {"old": ["lib.test", "font.test"], "new": ["font.test"]}
    assert sum(ring.connections_saved for ring in made.rings) == 7


@given(st.integers(1, 240), st.text(max_size=20))
def test_control_names_have_the_length_and_are_names(length: int, certificate: str) -> None:
    name = control_name(length, "x.test", certificate)
    if length < len("a.x.test"):
        assert name is None
    else:
        assert name is not None
        assert len(name) == length
        check_host(name)


@pytest.mark.parametrize(
    ("room", "labels"),
    [(1, [1]), (63, [63]), (64, [62, 1]), (65, [63, 1]), (66, [63, 2]), (127, [63, 63]), (128, [63, 62, 1])],
)
def test_control_names_have_few_labels(room: int, labels: list[int]) -> None:
    assert control_name(len(".x.test"), "x.test", "certificate") is None
    name = control_name(room + len(".x.test"), "x.test", "certificate")
    assert name is not None
    assert [len(label) for label in name.removesuffix(".x.test").split(".")] == labels
    assert name != control_name(len(name), "x.test", "another")


def test_a_domain_that_is_none() -> None:
    with pytest.raises(ValueError, match=r"x\.test/"):
        rollout(additions(1), "x.test/", "seed")


@pytest.mark.parametrize(("certificates", "sizes"), [(1, [1]), (3, [1, 1, 1]), (20, [1, 1, 3, 15])])
def test_few_certificates(certificates: int, sizes: list[int]) -> None:
    made = rollout(additions(certificates), "x.test", "seed")
    assert [len(ring.certificates) for ring in made.rings[: len(sizes)]] == sizes
    assert all(ring.certificates for ring in made.rings)
    assert [ring.ring for ring in made.rings] == list(range(1, len(made.rings) + 1))
    assert {change.group for change in made.rings[len(sizes) - 1].certificates} == {"experiment"}
