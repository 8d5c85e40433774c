"""A rollout's rings joined with the inventory, and in which group each site is."""

from pathlib import Path

import msgspec
import polars as pl
import pytest

from originset.data.errors import InputError, UsageError
from originset.models.plans.inventory.ring_changes import RingChange, groups_of_sites, ring_changes
from originset.models.plans.inventory.rollout import Change, Ring, Rollout

FIRST = Change(certificate="c1", group="experiment", names=["lib.test"], later=[])
SECOND = Change(certificate="c2", group="control", names=["000.test"], later=["lib.test"])
LAST = Change(certificate="c2", group="control", names=["lib.test"], later=[])
NAMES = {"c1": ("*.one.test", "one.test"), "c2": ("*.two.test",)}


def write_inventory(path: Path, names: dict[str, tuple[str, ...] | None]) -> None:
    columns = {"certificate": list(names), "names": [None if own is None else list(own) for own in names.values()]}
    pl.DataFrame(columns, schema_overrides={"names": pl.List(pl.String)}).write_parquet(path)


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    rings = [
        Ring(ring=1, certificates=[FIRST, SECOND], connections_saved=3),
        Ring(ring=2, certificates=[LAST], connections_saved=1),
    ]
    rollout, inventory = tmp_path / "rollout.json", tmp_path / "inventory.parquet"
    rollout.write_bytes(msgspec.json.encode(Rollout(seed="s", rings=rings)))
    write_inventory(inventory, NAMES)
    return rollout, inventory


def test_each_ring_has_its_certificates_with_their_names_of_today(files: tuple[Path, Path]) -> None:
    second = RingChange(1, SECOND, NAMES["c2"])
    every = {1: [RingChange(1, FIRST, NAMES["c1"]), second], 2: [RingChange(2, LAST, NAMES["c2"])]}
    assert ring_changes(*files, None) == every
    assert ring_changes(*files, 2) == {2: every[2]}
    assert [one.host for one in every[1]] == ["one.test", None], "the first that is no wildcard"


def test_a_certificate_whose_names_are_not_known_has_none(files: tuple[Path, Path]) -> None:
    rollout, inventory = files
    write_inventory(inventory, {"c1": None, "c2": ("two.test",)})
    (first, second) = ring_changes(rollout, inventory, 1)[1]
    assert (first.names, second.names) == ((), ("two.test",))


def test_what_is_not_there_is_named(files: tuple[Path, Path]) -> None:
    rollout, inventory = files
    with pytest.raises(UsageError, match="has no ring 3"):
        ring_changes(rollout, inventory, 3)
    write_inventory(inventory, {"c1": ("one.test",)})
    with pytest.raises(InputError, match="has no certificate 'c2'"):
        ring_changes(rollout, inventory, None)


def test_a_site_is_in_the_group_of_the_certificate_that_covers_it(files: tuple[Path, Path]) -> None:
    group_of = groups_of_sites(ring_changes(*files, None))
    assert [group_of(site) for site in ("one.test", "www.one.test", "a.two.test")] == ["experiment"] * 2 + ["control"]
    assert [group_of(site) for site in ("a.b.one.test", "two.test", "test", "other.test")] == [None] * 4


def test_a_site_stays_in_the_group_of_its_first_ring() -> None:
    later = RingChange(2, FIRST, ("two.test",))
    assert groups_of_sites({1: [RingChange(1, SECOND, ("two.test",))], 2: [later]})("two.test") == "control"
