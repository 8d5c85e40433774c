"""A power cut during a rollout: its state is never older than the last command that was begun or ended after it."""

import sys
from pathlib import Path

import msgspec
from crash_states import power_cuts, run_traced

from originset.cli.plan.rollout.rollout_state import RolloutState

_RUN = """
import os, sys
from pathlib import Path
from originset.cli.plan.rollout.ring_commands import RolloutFiles
from originset.cli.plan.rollout.rollout_state import StateFile
class Files:
    folder, rollout = Path(sys.argv[1]) / "rings", Path(__import__("originset").__file__)
    def forward(self, ring): return [None] * 9
promises = os.open(Path(sys.argv[1]) / "promises", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
file = StateFile(Files(), 1)
with file.locked() as state:
    state.ring, state.direction = 1, "forward"
    for state.place in range(4):
        file.ended(["reload"], 0)
        os.write(promises, b"%d\\n" % state.place)
"""


def test_a_rollout_goes_on_where_it_was(tmp_path: Path) -> None:
    world = tmp_path / "world"
    world.mkdir()
    cuts = power_cuts({}, run_traced([sys.executable, "-P", "-c", _RUN, str(world)], world, tmp_path))
    places = set()
    for files, promises in cuts.states.values():
        content = files.get("rings/state.json")
        place = -1 if content is None else msgspec.json.decode(content, type=RolloutState).place
        assert place >= max(map(int, promises), default=-1)
        places.add(place)
    assert places == {-1, 0, 1, 2, 3}
