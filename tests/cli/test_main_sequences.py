"""Any sequence of crawls, imports, analyses, models and merges, killed or on damaged files, keeps a study's rows.

Commands run in this process; a crawl's visits are simulated (tests/fixtures/crashed_crawl.py). A killed command ends at
one of its changes of the disk, and is given again. A few short sequences, or 200 long ones with
``ORIGINSET_SOAK=full``.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from unittest.mock import patch

import orjson
import pytest
from crash_states import PROMISES
from crashed_crawl import crawl
from generated_hars import generated_hars
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from originset.cli.main import main
from originset.data.captures.capture import capture_paths
from originset.data.errors import StudyError
from originset.data.files import atomic_files, nofollow
from originset.data.studies.database import open_database
from originset.data.studies.shards import scan
from originset.data.studies.study import Study

_FULL = os.environ.get("ORIGINSET_SOAK") == "full"
_HARS = 4
# How many of a command's changes are made before it is killed, at most.
_CHANGES = 25

pytestmark = pytest.mark.slow


class _CommandKilled(BaseException):
    """A command ends here."""


@contextmanager
def _killed_after(changes: int) -> Iterator[None]:
    """What is run ends at its n-th change of a folder, if it makes so many."""
    left = changes

    def sync(folder: int) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise _CommandKilled
        os.fsync(folder)

    with patch.object(nofollow, "sync_names", sync), patch.object(atomic_files, "sync_names", sync):
        yield


@cache
def _material() -> tuple[Path, dict[str, int], dict[str, int]]:
    """HARs and another study; requests by visit of each HAR by itself, and of what the other study imported."""
    folder = Path(tempfile.mkdtemp(prefix="sequences-"))
    for number, text in enumerate(generated_hars(_HARS + 1)):
        har = orjson.loads(text)
        har["log"]["entries"] = har["log"]["entries"][:6]
        place = folder / ("elsewhere" if number == _HARS else "hars") / f"{number}.har"
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(orjson.dumps(har))
    (folder / "other").mkdir()
    crawl(folder / "other", 2)
    for study, files in (("other/study", "elsewhere"), ("alone", "hars")):
        assert main.main(["--study", str(folder / study), "import", str(folder / files)], standalone_mode=False) == 0
    return folder, _requests(Study(folder / "alone")), _requests(Study(folder / "other" / "study"))


def _requests(study: Study) -> dict[str, int]:
    """How many requests each visit of the tables has; each visit is there once."""
    visits = scan(study, "visits").select("visit_id").collect()["visit_id"].to_list()
    assert len(set(visits)) == len(visits)
    counts = dict(scan(study, "requests").group_by("visit_id").len().collect().iter_rows())
    assert counts.keys() <= set(visits)
    return {visit_id: counts.get(visit_id, 0) for visit_id in visits}


class StudySequences(RuleBasedStateMachine):
    """A study, what its tables are to hold, and what is damaged."""

    @initialize()
    def begin(self) -> None:
        self.material, self.of_hars, self.of_other = _material()
        self.folder = Path(tempfile.mkdtemp(prefix="sequence-"))
        self.study = Study(self.folder / "study")
        self.imported: dict[str, int] = {}
        self.captures: set[str] = set()
        self.analysed: set[str] = set()
        self.sites = 0
        self.has_hars = self.merged = False
        self.damaged: set[str] = set()

    def run(self, *words: str, killed_after: int | None = None) -> None:
        arguments = ["--study", str(self.study.root), *words]
        if killed_after is not None:
            try:
                with _killed_after(killed_after):
                    main.main(arguments, standalone_mode=False)
            except _CommandKilled:
                pass
        assert main.main(arguments, standalone_mode=False) in {0, None}

    @rule(sites=st.integers(1, 4), killed_after=st.none() | st.integers(0, _CHANGES))
    def crawl(self, sites: int, killed_after: int | None) -> None:
        if killed_after is not None:
            try:
                with _killed_after(killed_after):
                    crawl(self.folder, sites)
            except _CommandKilled:
                pass
        promises = self.folder / PROMISES
        promised = set(promises.read_text().split()) if promises.exists() else set()
        assert not promised & set(crawl(self.folder, sites)), "a visit that was told as made was made again"
        self.sites = max(self.sites, sites)
        self.captures = {path.name.partition(".")[0] for path in capture_paths(self.study.captures)}
        assert len(self.captures) >= sites
        assert set(crawl(self.folder, sites)) == set()

    @rule(killed_after=st.none() | st.integers(0, _CHANGES))
    def import_hars(self, killed_after: int | None) -> None:
        self.run("import", str(self.material / "hars"), killed_after=killed_after)
        self.imported |= self.of_hars
        self.has_hars = True
        self.damaged.discard("import")

    @precondition(lambda self: self.study.manifest_path.exists() and not self.damaged - {"captures", "database"})
    @rule(killed_after=st.none() | st.integers(0, _CHANGES))
    def analyze(self, killed_after: int | None) -> None:
        self.run("analyze", killed_after=killed_after)
        self.analysed = set(self.captures)
        self.damaged -= {"captures", "database"}
        with open_database(self.study) as connection:
            visits = {visit for (visit,) in connection.execute("SELECT visit_id FROM visits").fetchall()}
        assert visits == self.analysed | self.imported.keys()

    @precondition(lambda self: self.study.database_path.exists() and not self.damaged - {"database"})
    @rule(colocation=st.sampled_from(["asn", "ip"]), killed_after=st.none() | st.integers(0, 6))
    def model(self, colocation: str, killed_after: int | None) -> None:
        self.run("study", "model", "--colocation", colocation, killed_after=killed_after)
        self.damaged.discard("database")

    @precondition(lambda self: self.study.manifest_path.exists() and not self.damaged)
    @rule(killed_after=st.none() | st.integers(0, _CHANGES))
    def merge(self, killed_after: int | None) -> None:
        self.run("study", "merge", str(self.material / "other" / "study"), killed_after=killed_after)
        self.imported |= self.of_other
        self.captures |= {path.name.partition(".")[0] for path in capture_paths(self.material / "other/study/captures")}
        self.merged = True

    @precondition(lambda self: self.study.manifest_path.exists() and not self.damaged)
    @rule(what=st.sampled_from(["import", "captures", "database", "ledger"]), share=st.floats(0, 0.95))
    def damage(self, what: str, share: float) -> None:
        """Cut a file short, or remove the ledger, as its error says; what makes it whole again is another rule."""
        shards = sorted((self.study.tables / "requests").glob(f"{what}-*.parquet"))
        if what == "import" and (self.merged or not shards):  # what was merged is merged again from its own study
            return
        if what == "captures" and not shards:
            return
        if what == "database" and not self.study.database_path.exists():
            return
        if what == "ledger":
            for path in self.study.root.glob("ledger.*"):
                path.unlink()
            return
        path = self.study.database_path if what == "database" else shards[0]
        os.truncate(path, int(share * path.stat().st_size))
        self.damaged.add(what)

    @invariant()
    def what_is_read_is_right(self) -> None:
        if not self.study.manifest_path.exists():
            return
        try:
            found = _requests(self.study)
        except StudyError:
            assert self.damaged & {"import", "captures"}
            return
        assert not self.damaged & {"import", "captures"}
        assert found == {**dict.fromkeys(self.analysed, 0), **self.imported}

    def teardown(self) -> None:
        if not hasattr(self, "folder"):
            return
        shutil.rmtree(self.folder)


@pytest.mark.promise("faults-lose-nothing")
def test_any_sequence_keeps_what_a_study_holds() -> None:
    run_state_machine_as_test(
        StudySequences,
        settings=settings(
            max_examples=200 if _FULL else 3,
            stateful_step_count=15 if _FULL else 6,
            deadline=None,
            derandomize=not _FULL,
            suppress_health_check=list(HealthCheck),
        ),
    )
