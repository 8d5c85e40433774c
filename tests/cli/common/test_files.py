"""Files that commands write where the user says: whole or not at all, and never in place of what is no file."""

import os
import threading
from pathlib import Path

import pytest

from originset.cli.common.files import write_bytes, write_text
from originset.data.errors import UsageError


def test_a_file_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text("an older and longer plan")
    write_text(path, "ö")
    assert path.read_bytes() == b"\xc3\xb6"
    assert [one.name for one in tmp_path.iterdir()] == ["plan.json"]


@pytest.mark.promise("out-follows-no-link")
def test_a_link_is_not_written_through(tmp_path: Path) -> None:
    """Neither a link to a file nor one to nowhere is followed or replaced."""
    (tmp_path / "real").mkdir()
    link = tmp_path / "link"
    link.symlink_to("real/report.html")
    for _ in range(2):
        with pytest.raises(UsageError, match="is a symbolic link; remove it, or name the file itself with --out"):
            write_text(link, "new")
        assert link.is_symlink()
        (tmp_path / "real" / "report.html").touch()
    assert (tmp_path / "real" / "report.html").read_text() == ""


def test_a_link_of_the_kernels_is_written_to() -> None:
    read, write = os.pipe()
    try:
        write_text(Path(f"/dev/fd/{write}"), "plan")
        assert os.read(read, 100) == b"plan"
    finally:
        os.close(read)
        os.close(write)


def test_a_pipe_is_written_to_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_bytes(pipe, b"frame")
    reader.join()
    assert read == [b"frame"]
    assert pipe.is_fifo()


@pytest.mark.parametrize("place", ["none/plan.json", "file/plan.json"])
def test_a_place_that_cannot_be_written_is_the_users_to_change(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot be written"):
        write_text(tmp_path / place, "plan")
    assert [one.name for one in tmp_path.iterdir()] == ["file"]
