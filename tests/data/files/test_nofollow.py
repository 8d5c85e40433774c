"""Files below a folder: no link is followed at any level, nothing is waited for, and errors name the whole path."""

import os
from pathlib import Path

import pytest

from originset.data.files.atomic_files import disk_fault, read_whole, replacing
from originset.data.files.nofollow import (
    Listing,
    NotRegularError,
    descriptor_path,
    list_folder,
    open_folder,
    open_regular,
    read_regular,
    remove_file,
    rename_file,
    stat_regular,
)


@pytest.fixture
def below(tmp_path: Path) -> Path:
    """A folder with a file two levels down, one beside it that is reached by links at each level, and other kinds."""
    folder = tmp_path / "below"
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "b" / "file").write_bytes(b"ours")
    (tmp_path / "other" / "b").mkdir(parents=True)
    (tmp_path / "other" / "b" / "file").write_bytes(b"theirs")
    (folder / "link").symlink_to(tmp_path / "other")
    (folder / "a" / "link").symlink_to(tmp_path / "other" / "b")
    (folder / "a" / "b" / "link").symlink_to(tmp_path / "other" / "b" / "file")
    os.mkfifo(folder / "a" / "b" / "pipe")
    return folder


def test_a_descriptor_s_path_leads_to_what_was_opened(below: Path) -> None:
    with open_folder(below, "a", "b") as folder:
        (below / "a").rename(below / "elsewhere")
        (below / "a" / "b").mkdir(parents=True)
        assert Path(descriptor_path(folder), "file").read_bytes() == b"ours"


LINKS = [("link", "b", "file"), ("a", "link", "file"), ("a", "b", "link")]


@pytest.mark.parametrize("names", LINKS)
def test_no_link_is_followed_at_any_level(below: Path, names: tuple[str, ...]) -> None:
    calls = (
        lambda: os.close(open_regular(below, *names)),
        lambda: read_regular(below, *names, limit=100),
        lambda: stat_regular(below, *names),
        lambda: read_whole(below.joinpath(*names), 100, below=below),
        lambda: os.close(open_regular(below, *names, flags=os.O_WRONLY | os.O_TRUNC)),
    )
    for call in calls:
        with pytest.raises(NotRegularError, match="is a symbolic link, and none is followed"):
            call()
    assert (below.parent / "other" / "b" / "file").read_bytes() == b"theirs"


@pytest.mark.parametrize("names", LINKS[:2])
def test_nothing_is_written_or_removed_behind_a_link(below: Path, names: tuple[str, ...]) -> None:
    with pytest.raises(NotRegularError), replacing(below.joinpath(*names), below=below) as beside:
        beside.write_bytes(b"harm")
    with pytest.raises(NotRegularError):
        remove_file(below, *names)
    with pytest.raises(NotRegularError):
        rename_file(below, names, ("a", "new"), folder_mode=0o700)
    with pytest.raises(NotRegularError):
        rename_file(below, ("a", "b", "file"), names, folder_mode=0o700)
    with pytest.raises(NotRegularError):
        list_folder(below, *names[:-1])
    assert [path.name for path in (below.parent / "other").rglob("*")] == ["b", "file"]
    assert (below / "a" / "b" / "file").read_bytes() == b"ours"


def test_a_link_in_a_files_place_is_replaced_or_removed_not_what_it_leads_to(below: Path) -> None:
    link = below / "a" / "b" / "link"
    with replacing(link, below=below) as beside:
        beside.write_bytes(b"new")
    assert (link.is_symlink(), link.read_bytes()) == (False, b"new")
    link.unlink()
    link.symlink_to(below.parent / "other" / "b" / "file")
    remove_file(below, "a", "b", "link")
    remove_file(below, "a", "b", "link")
    assert (below.parent / "other" / "b" / "file").read_bytes() == b"theirs"


def test_the_folder_itself_may_be_reached_through_a_link(below: Path, tmp_path: Path) -> None:
    (tmp_path / "named").symlink_to(below)
    assert read_regular(tmp_path / "named", "a", "b", "file", limit=4) == b"ours"


@pytest.mark.parametrize("name", ["pipe", "../b"])
def test_a_pipe_is_not_waited_for(below: Path, name: str) -> None:
    for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR | os.O_CREAT):
        with pytest.raises(NotRegularError, match="is not a regular file"):
            open_regular(below, "a", "b", name, flags=flags)
    with pytest.raises(NotRegularError, match="is not a regular file"):
        stat_regular(below, "a", "b", name)


def test_a_device_is_not_read() -> None:
    with pytest.raises(NotRegularError, match="is not a regular file"):
        read_regular(Path("/dev"), "zero", limit=1 << 20)


def test_what_is_longer_than_its_bound(below: Path) -> None:
    with pytest.raises(OverflowError):
        read_regular(below, "a", "b", "file", limit=3)


def test_a_listing_tells_kinds_apart(below: Path) -> None:
    (below / "a" / "b" / "folder").mkdir()
    assert list_folder(below, "a", "b") == Listing(("file",), ("folder",), ("link", "pipe"))
    assert list_folder(below, "nowhere", "at", "all") == Listing()


def test_a_file_in_a_folders_place(below: Path) -> None:
    with pytest.raises(NotRegularError, match="is not a folder"), open_folder(below, "a", "b", "file"):
        pass


def test_errors_name_the_whole_path(below: Path) -> None:
    with pytest.raises(FileNotFoundError) as told:
        open_regular(below, "a", "none")
    assert told.value.filename == str(below / "a" / "none")
    (below / "a" / "full").symlink_to("/dev/full")
    with pytest.raises(NotRegularError) as refused:
        open_regular(below, "a", "full")
    assert disk_fault(refused.value) is not None
    assert str(below / "a" / "full") in str(disk_fault(refused.value))


def test_a_full_disk_is_told_with_the_file_that_was_to_be(tmp_path: Path) -> None:
    def fill(beside: Path) -> None:
        with Path("/dev/full").open("wb", buffering=0) as full:
            full.write(beside.name.encode())

    with pytest.raises(OSError, match="No space left") as told, replacing(tmp_path / "shard") as beside:
        fill(beside)
    assert disk_fault(told.value) == (f"No space left on device: {tmp_path / 'shard'}", "make room")
    assert list(tmp_path.iterdir()) == []


def test_a_link_that_takes_the_place_of_what_is_being_written_gets_nothing(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.write_bytes(b"theirs")
    (tmp_path / "study").mkdir()
    with replacing(tmp_path / "study" / "file") as beside:
        (being_written,) = (tmp_path / "study").iterdir()
        being_written.unlink()
        being_written.symlink_to(theirs)
        beside.write_bytes(b"ours")
    assert theirs.read_bytes() == b"theirs"
