"""The file of a rollout: what is none is one line with the file and the place."""

from pathlib import Path

import msgspec
import pytest

from originset.data.errors import InputError
from originset.models.plans.inventory.rollout import Change, Ring, Rollout
from originset.models.plans.inventory.rollout_file import read_rollout


def written(folder: Path, *numbers: int, saved: int = 3, version: int = 1) -> Path:
    rings = ", ".join(f'{{"ring": {number}, "certificates": [], "connections_saved": {saved}}}' for number in numbers)
    path = folder / "rings.json"
    path.write_text(f'{{"seed": "s", "version": {version}, "rings": [{rings}]}}')
    return path


def test_what_was_written_is_read(tmp_path: Path) -> None:
    change = Change(certificate="c1", group="experiment", names=["lib.test"], later=[])
    rings = [Ring(ring=number, certificates=[change], connections_saved=2**40) for number in (1, 2)]
    rollout = Rollout(seed="s", rings=rings)
    path = tmp_path / "rings.json"
    path.write_bytes(msgspec.json.encode(rollout))
    assert read_rollout(path) == rollout
    assert read_rollout(written(tmp_path)).rings == []


@pytest.mark.parametrize(
    ("numbers", "place"),
    [
        ([10**30], "rings[0].ring"),
        ([2**31], "rings[0].ring"),
        ([1, -1], "rings[1].ring"),
        ([0, 1], "rings[0].ring"),
        ([1, 1], "rings[1].ring is 1, not 2"),
        ([1, 3], "rings[1].ring is 3, not 2"),
        ([2, 1], "rings[0].ring is 2, not 1"),
    ],
)
@pytest.mark.promise("rollouts-are-in-order")
def test_rings_are_numbered_from_1_in_their_order(tmp_path: Path, numbers: list[int], place: str) -> None:
    path = written(tmp_path, *numbers)
    with pytest.raises(InputError) as caught:
        read_rollout(path)
    assert str(path) in str(caught.value)
    assert place in str(caught.value)


@pytest.mark.parametrize("other", [{"saved": -1}, {"saved": 2**63}, {"saved": 10**30}, {"version": 2}])
@pytest.mark.promise("rollouts-are-in-order")
def test_numbers_that_no_rollout_has(tmp_path: Path, other: dict[str, int]) -> None:
    place = "version" if "version" in other else r"rings\[0\].connections_saved"
    with pytest.raises(InputError, match=rf"rings.json.* is not a rollout: {place}"):
        read_rollout(written(tmp_path, 1, **other))
