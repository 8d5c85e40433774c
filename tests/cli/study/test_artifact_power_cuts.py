"""A power cut while a bundle is written: the bundle of before is there or the new one, which stays once it is named."""

import sys
from pathlib import Path

from crash_states import files_below, power_cuts, run_traced

_PACK = """
import sys
from pathlib import Path
from originset.cli.study.artifact import _pack
world = Path(sys.argv[1])
_pack(world / "top", world / "bundle.tar.gz")
(world / "promises").write_text("bundle")
"""


def test_a_bundle_is_whole_or_that_of_before(tmp_path: Path) -> None:
    world = tmp_path / "world"
    (world / "top").mkdir(parents=True)
    (world / "top" / "ARTIFACT.md").write_bytes(bytes(range(256)) * 40)
    (world / "bundle.tar.gz").write_bytes(b"of before")
    cuts = power_cuts(files_below(world), run_traced([sys.executable, "-P", "-c", _PACK, str(world)], world, tmp_path))
    new = (world / "bundle.tar.gz").read_bytes()
    found = [(files["bundle.tar.gz"], promises) for files, promises in cuts.states.values()]
    assert {bundle for bundle, _ in found} == {b"of before", new}
    assert {bundle for bundle, promises in found if promises} == {new}
