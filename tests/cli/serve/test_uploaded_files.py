"""Uploads: within bounds, for their owner alone, under harmless names, and gone afterwards."""

from __future__ import annotations

import errno
import http.client
import logging
import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from served_pages import BOUNDARY, TOKEN, Served, form, served

from originset.cli.serve import application, uploaded_files
from originset.cli.serve.uploaded_files import MOST_FILES, file_name

MOST_BYTES = 200_000
HOSTILE_NAMES = [
    "../../../etc/passwd", "..", ".", "...", "/etc/passwd", "C:\\\\windows\\\\x.har", "a%0D%0Ab.har", "x" * 3000,
    "é" * 500, "\u202erah.exe", "-rf", ".bashrc", "%22", "a;b|c$(d)`e`", "<script>.har", "page.har", "\x1b[2J",
]  # fmt: skip


class Explained:
    """What there was to explain, when it was to be explained."""

    def __init__(self) -> None:
        self.contents: list[bytes] = []
        self.names: list[str] = []
        self.modes: set[int] = set()
        self.folders: list[Path] = []

    def __call__(self, files: Sequence[Path], folder: Path) -> str:
        self.contents += [file.read_bytes() for file in files]
        self.names += [file.name for file in files]
        self.folders += [folder, *(file.parent for file in files)]
        self.modes |= {stat.S_IMODE(path.stat().st_mode) for path in (*files, folder, *(file.parent for file in files))}
        return "<p>explained"


@pytest.fixture
def explained(monkeypatch: pytest.MonkeyPatch) -> Explained:
    made = Explained()
    monkeypatch.setattr(application, "explain_files", made)
    return made


@pytest.fixture(scope="module")
def bounded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("uploads"), most_bytes=MOST_BYTES) as running:
        yield running


@pytest.mark.promise("serve-keeps-no-upload")
def test_what_is_uploaded_is_its_owners_and_does_not_stay(bounded: Served, explained: Explained) -> None:
    files = [("page.har", b"a" * 90_000), ("page.har", b"--\r\n--" + BOUNDARY.encode()[:5] + b"\r\n"), ("", b"")]
    answer = bounded.upload(*files)
    assert (answer.status, answer.text) == (200, "<p>explained")
    assert explained.contents == [content for name, content in files if name]
    assert explained.names == ["page.har", "page.har"]
    assert explained.modes == {0o700, 0o600}
    assert list(bounded.folder.iterdir()) == []


@pytest.mark.promise("serve-bounds-uploads")
def test_names_lead_nowhere(bounded: Served, explained: Explained) -> None:
    answer = bounded.upload(*((name, name.encode()) for name in HOSTILE_NAMES))
    assert answer.status == 200
    assert explained.contents == [name.encode() for name in HOSTILE_NAMES]
    folder, *own = explained.folders
    assert own == [folder / str(number + 1) for number in range(len(HOSTILE_NAMES))]
    assert all(name == file_name(name) and len(name.encode()) < 255 and name[0] != "." for name in explained.names)
    assert list(bounded.folder.iterdir()) == []


@pytest.mark.promise("serve-bounds-uploads")
def test_a_form_that_says_that_it_is_too_large_is_not_read(bounded: Served, explained: Explained) -> None:
    answer = bounded.ask(
        f"/{TOKEN}/explain", "POST", Origin=f"http://{bounded.authority}", Content_Length=str(MOST_BYTES + 1),
        Content_Type=f"multipart/form-data; boundary={BOUNDARY}",
    )  # fmt: skip
    assert answer.status == 400
    assert "more than 200,000 bytes" in answer.text


@pytest.mark.promise("serve-bounds-uploads")
def test_a_form_without_a_length_is_read_up_to_the_bound(bounded: Served, explained: Explained) -> None:
    body = form(("page.har", b"a" * MOST_BYTES))
    chunks = [b"%x\r\n%s\r\n" % (len(body), body), b"0\r\n\r\n"]
    answer = bounded.upload(Transfer_Encoding="chunked", Content_Length=None)
    assert answer.status == 400, "its form is no chunk"
    answer = bounded.ask(
        f"/{TOKEN}/explain", "POST", b"".join(chunks), Origin=f"http://{bounded.authority}", Content_Length=None,
        Transfer_Encoding="chunked", Content_Type=f"multipart/form-data; boundary={BOUNDARY}",
    )  # fmt: skip
    assert answer.status == 400
    assert "more than 200,000 bytes" in answer.text
    assert list(bounded.folder.iterdir()) == []


@pytest.mark.promise("serve-bounds-uploads")
@pytest.mark.parametrize(
    ("body", "kind", "problem"),
    [
        (form(*[("a", b"")] * (MOST_FILES + 1)), None, "count exceeded"),
        (form(), None, "no file was chosen"),
        (form(("", b"")), None, "no file was chosen"),
        (form(("a.har", b"{}"))[:-8], None, "cannot be read"),
        (b"", None, "cannot be read"),
        (b"\xff" * 1000, None, "cannot be read"),
        (b"--" + BOUNDARY.encode() + b"\r\n" + b"A" * 100_000, None, "length exceeded"),
        (b"{}", "application/json", "no form with files"),
        (b"{}", "multipart/form-data", "no form with files"),
        (b"a", "multipart/form-data; boundary=" + "x" * 2000, "cannot be read"),
        (form(("a", b"")).replace(b"filename", b"f\xfflename"), None, "cannot be read"),
    ],
)
def test_what_no_browser_sends_is_refused(
    bounded: Served, explained: Explained, body: bytes, kind: str | None, problem: str
) -> None:
    answer = bounded.ask(
        f"/{TOKEN}/explain", "POST", body, Origin=f"http://{bounded.authority}",
        Content_Type=kind or f"multipart/form-data; boundary={BOUNDARY}",
    )  # fmt: skip
    assert (answer.status, explained.contents) == (400, [])
    assert problem in answer.text
    assert list(bounded.folder.iterdir()) == []


@pytest.mark.promise("serve-keeps-no-upload")
def test_an_upload_that_is_broken_off_leaves_nothing(
    bounded: Served, explained: Explained, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And is no fault, which would be logged with its traceback."""
    logged: list[logging.LogRecord] = []
    monkeypatch.setattr(logging.getLogger("uvicorn").handlers[0], "emit", logged.append)
    connection = http.client.HTTPConnection(bounded.authority)
    connection.putrequest("POST", f"/{TOKEN}/explain")
    connection.putheader("Origin", f"http://{bounded.authority}")
    connection.putheader("Content-Type", f"multipart/form-data; boundary={BOUNDARY}")
    connection.putheader("Content-Length", "100000")
    connection.endheaders(form(("page.har", b"a" * 50_000))[:50_000])
    _wait_for(lambda: list(bounded.folder.glob("*/1/page.har")))
    connection.close()
    _wait_for(lambda: not list(bounded.folder.iterdir()))
    # The next is explained when the one broken off has had its answer.
    assert bounded.upload(("page.har", b"{}")).status == 200
    assert (explained.contents, logged) == ([b"{}"], [])


@pytest.mark.promise("serve-keeps-no-upload")
def test_an_upload_for_which_there_is_no_room(
    bounded: Served, explained: Explained, monkeypatch: pytest.MonkeyPatch
) -> None:
    def create_no_file(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(uploaded_files._Files, "_create", create_no_file)
    answer = bounded.upload(("page.har", b"{}"))
    assert (answer.status, explained.contents) == (400, [])
    assert "the files cannot be kept (No space left on device)" in answer.text
    assert list(bounded.folder.iterdir()) == []


def _wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)
