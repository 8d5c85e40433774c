"""Commands on a study that somebody else made, and what they write where disks are full or links lie in the way."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from received_study import Victim, contents, place_link, victim

from originset.data.captures.capture import Extension, Visit, capture_paths, write_capture
from originset.data.studies.shards import shard_paths
from originset.data.studies.study import Study

IDS = "ab" + "0" * 14, "cd" + "0" * 14


@pytest.fixture
def study(modelled_example: Study, tmp_path: Path) -> Study:
    shutil.copytree(modelled_example.root, tmp_path / "received")
    return Study(tmp_path / "received")


@pytest.fixture
def hurt(tmp_path: Path) -> Victim:
    return victim(tmp_path)


def captured(study: Study) -> Study:
    study.create()
    for visit_id in IDS:
        facts = {"visit_id": visit_id, "site": "a.test", "url": "u", "final_url": "u", "status": "ok"}
        visit = Visit(**facts, started_at="2026-11-21T04:00:00.000000Z")
        write_capture(study.captures, {"version": "1.2", "creator": {}, "entries": []}, Extension(visit=visit))
    return study


@contextmanager
def small_disk(place: Path, kilobytes: int) -> Iterator[Path]:
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "none", str(place)], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def originset(study: Study, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    call = [sys.executable, "-m", "originset", "--study", study.root, *arguments]
    return subprocess.run(call, capture_output=True, text=True, check=False)


@pytest.mark.promise("links-are-not-followed")
@pytest.mark.parametrize("name", [".lock", "ledger.sqlite", "study.duckdb.tmp", "captures", "tables/requests"])
@pytest.mark.parametrize(
    "command", [["analyze"], ["study", "model"], ["study", "merge", "OTHER"], ["crawl", "SITES"], ["import", "HAR"]]
)
def test_no_command_follows_a_link(run: Callable, study: Study, tmp_path: Path, name: str, command: list[str]) -> None:
    """Whatever command is run on a study that holds a link, what that leads to stays as it is."""
    hurt = victim(tmp_path)
    place_link(study, name, hurt.file if "." in name and "tmp" not in name else hurt.folder)
    (tmp_path / "sites.txt").write_text("a.test\n")
    (tmp_path / "page.har").write_text('{"log": {"entries": []}}')
    named = {"OTHER": captured(Study(tmp_path / "other")).root, "SITES": tmp_path / "sites.txt"}
    named |= {"HAR": tmp_path / "page.har"}
    done = run(*(named.get(word, word) for word in command))
    assert done.returncode == 2
    assert "internal error" not in done.stderr
    assert hurt.unharmed()


@pytest.mark.promise("shards-have-checksums")
def test_a_report_tells_of_bits_that_changed(run: Callable, study: Study, tmp_path: Path) -> None:
    """A report is of the rows that were written: a shard whose bits changed ends it with one line."""
    (path,) = shard_paths(study, "requests")
    whole = path.read_bytes()
    for at in range(40):
        changed = bytearray(whole)
        changed[len(whole) * at // 40] ^= 1 << at % 8
        path.write_bytes(changed)
        done = run("study", "report", "--out", tmp_path / "report.html")
        assert (done.returncode, "internal error" in done.stderr) == (2, False), at
        assert "example.parquet is damaged" in done.stderr
        assert not (tmp_path / "report.html").exists()


@pytest.mark.promise("databases-are-ours")
def test_a_query_of_another_kind_of_database(run: Callable, study: Study) -> None:
    study.database_path.unlink()
    with closing(sqlite3.connect(study.database_path)) as connection:
        connection.execute("CREATE TABLE requests (a)")
        connection.commit()
    done = run("query", "--sql", "FROM requests")
    assert done.returncode == 2
    assert "no database of DuckDB's" in done.stderr


@pytest.mark.promise("places-are-named-by-users")
def test_captures_elsewhere_are_read_once_the_user_named_the_place(run: Callable, study: Study, tmp_path: Path) -> None:
    """Analyze reads captures outside the study only after --captures named their place."""
    place = captured(Study(tmp_path / "other")).captures
    study.manifest_path.write_text(json.dumps({**study.manifest(), "captures": str(place)}))
    done = run("analyze")
    assert done.returncode == 2
    assert f"add: --captures {shlex.quote(str(place))}" in done.stderr
    assert run("analyze", "--captures", tmp_path / "else").returncode == 2
    assert "2 captures read" in run("analyze", "--captures", place).stderr
    assert "2 captures unchanged" in run("analyze").stderr


@pytest.mark.promise("places-are-named-by-users")
def test_captures_elsewhere_are_merged_once_the_user_named_the_place(
    run: Callable, study: Study, tmp_path: Path
) -> None:
    """Merge takes captures from outside a study only after --captures named their place."""
    hidden = captured(Study(tmp_path / "other")).captures
    source = Study(tmp_path / "source")
    source.create()
    source.manifest_path.write_text(json.dumps({**source.manifest(), "captures": str(hidden)}))
    assert "which you have not named for it" in run("study", "merge", source.root).stderr
    assert "none of the studies" in run("study", "merge", source.root, "--captures", "/nowhere").stderr
    assert not list(capture_paths(study.captures))
    assert "2 captures and 0 imported visits" in run("study", "merge", source.root, "--captures", hidden).stderr


@pytest.mark.promise("studies-are-private")
def test_a_merge_shares_only_files_that_are_ours_alone(run: Callable, study: Study, tmp_path: Path) -> None:
    """Captures that are merged are readable by their owner alone, whatever they were before."""
    other = captured(Study(tmp_path / "other"))
    open_to_all, ours = capture_paths(other.captures)
    open_to_all.chmod(0o644)
    before = contents(other.captures)
    assert run("study", "merge", other.root).returncode == 0
    copied, linked = capture_paths(study.captures)
    assert [stat.S_IMODE(path.stat().st_mode) for path in (copied, linked)] == [0o600, 0o600]
    assert not copied.samefile(open_to_all)
    assert linked.samefile(ours)
    assert set(before) == set(contents(other.captures))


@pytest.mark.promise("faults-lose-nothing")
def test_a_merge_onto_a_full_disk_names_the_file_that_was_to_be(tmp_path: Path) -> None:
    source = captured(Study(tmp_path / "source"))
    for path in capture_paths(source.captures):
        path.write_bytes(os.urandom(1 << 20))
    with small_disk(tmp_path / "disk", 700) as disk:
        whole = Study(disk / "whole")
        done = originset(whole, "study", "merge", source.root)
        assert done.returncode == 2
        assert f"No space left on device: {whole.captures}" in done.stderr
        assert f"then run again: originset --study {whole.root} study merge" in done.stderr
        assert not list(capture_paths(whole.captures))


@pytest.mark.promise("faults-lose-nothing")
@pytest.mark.parametrize("kilobytes", [100, 200, 500, 1500])
def test_a_bundle_onto_a_full_disk_is_one_line(study: Study, tmp_path: Path, kilobytes: int) -> None:
    with small_disk(tmp_path / "disk", kilobytes) as disk:
        done = originset(study, "study", "artifact", "--out", disk / "bundle.tar.gz")
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
        assert f"{disk / 'bundle.tar.gz'} cannot be written (No space left on device: {disk}" in done.stderr
        assert list(disk.iterdir()) == []


@pytest.mark.promise("out-follows-no-link")
@pytest.mark.parametrize(
    "command",
    [
        ["study", "report"],
        ["study", "artifact"],
        ["plan", "provider", "x"],
        ["plan", "config", "--server", "h2o", "--plan", "none"],
    ],
)
def test_what_is_written_is_not_written_through_a_link(
    run: Callable, hurt: Victim, tmp_path: Path, command: list[str]
) -> None:
    """A file that is named with --out is not written through a symbolic link."""
    (tmp_path / "out").symlink_to(hurt.file)
    done = run(*command, "--out", tmp_path / "out")
    assert done.returncode == 2
    assert hurt.unharmed()


@pytest.mark.promise("out-follows-no-link")
def test_figures_are_not_written_through_links(run: Callable, hurt: Victim, tmp_path: Path) -> None:
    """Files in a folder that is named with --out take the place of links; what those lead to stays as it is."""
    here = "chromium-at-here"
    names = ["numbers.csv", *(f"{here}/figure-3.{suffix}" for suffix in ("svg", "csv", "pdf", "png"))]
    (tmp_path / "figures" / here).mkdir(parents=True)
    for name in names:
        (tmp_path / "figures" / name).symlink_to(hurt.file)
    names.append("chromium-at-there")
    (tmp_path / "figures" / names[-1]).symlink_to(hurt.folder)
    assert run("study", "figures", "--out", tmp_path / "figures").returncode == 0
    assert hurt.unharmed()
    assert [name for name in names if (tmp_path / "figures" / name).is_symlink()] == []
    assert all((tmp_path / "figures" / name).exists() for name in names)


@pytest.mark.promise("faults-lose-nothing")
@pytest.mark.parametrize("output_format", ["table", "json", "jsonl", "csv", "parquet"])
def test_a_full_disk_behind_stdout_is_named(output_format: str, study: Study) -> None:
    call = [sys.executable, "-m", "originset", "--study", study.root, "query", "--format", output_format]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(call, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert "No space left on device: standard output; make room" in done.stderr
