"""Folders of browsers: gone with the crawl, or at the latest when the next one looks."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from originset.crawler.browsers.scratch import scratch_folder, sweep

_KEEP = (
    "from originset.crawler.browsers.scratch import scratch_folder\n"
    "with scratch_folder() as f: print(f, flush=True); input()"
)


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:  # a short name: pytest's own are too long for sockets below them
        monkeypatch.setenv("TMPDIR", folder)
        monkeypatch.setattr(tempfile, "tempdir", folder)
        yield Path(folder)


def test_folders_of_the_dead_are_removed_and_of_the_living_kept(root: Path) -> None:
    foreign = root / "originset-foreign"  # not one of ours: nobody ever owned it
    foreign.mkdir()
    (root / "originset-link").symlink_to(foreign)
    with subprocess.Popen([sys.executable, "-c", _KEEP], stdin=-1, stdout=-1, text=True) as other:
        assert other.stdout is not None
        theirs = Path(other.stdout.readline().strip())
        with scratch_folder() as ours:
            (theirs / "profile").mkdir()
            assert theirs.parent == ours.parent == root
            assert sweep() == 0
            assert {theirs, ours} < set(root.iterdir())
            other.kill()
            other.wait()
            assert theirs.exists()
            assert sweep() == 1
            assert not theirs.exists()
            assert ours.exists()
        assert not ours.exists()
    assert {path.name for path in root.iterdir()} == {"originset-foreign", "originset-link"}
