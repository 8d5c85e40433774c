"""JSON files that commands read: what is wrong is said with its place, and never in the decoder's words."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

import msgspec
import pytest

from originset.data.errors import InputError
from originset.data.files.json_file import read_json


class Part(msgspec.Struct):
    """What is within."""

    size: int


class Whole(msgspec.Struct):
    """What a file holds."""

    parts: list[Part]
    kind: Literal["x", "y"] = "x"
    sizes: dict[str, int] = {}
    time: float | str = 0


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "it ends before its JSON does"),
        (b'{"parts": [}', "it is not JSON at byte 11"),
        (b'{"parts": []} x', "it is not JSON at byte 15"),
        (b"[]", "it is a list, not an object"),
        (b"{}", "it lacks parts"),
        (b'{"parts": [{"size": 1}, {}]}', "parts[1] lacks size"),
        (b'{"parts": [{"size": 1}, {"size": "1"}]}', "parts[1].size is text, not a whole number"),
        (b'{"parts": [], "kind": "z"}', "kind has a value that is not one of those permitted"),
        (b'{"parts": [], "sizes": {"a": null}}', "sizes[] is null, not a whole number"),
        (b'{"parts": [], "time": []}', "time is a list, not a number or text"),
        (b'{"parts": [], "kind": "\xff"}', "it has text that is not UTF-8"),
        (b'{"parts": [], "else": ' + b"[" * 100_000, "it is nested too deeply"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "whole.json"
    path.write_bytes(content)
    with pytest.raises(InputError) as raised:
        read_json(path, Whole, "a whole", most_bytes=1 << 20)
    assert str(raised.value) == f"{path}: is not a whole: {said}"
    assert raised.value.reason == "not-a-whole"


def test_what_is_right_is_read_up_to_a_bound(tmp_path: Path) -> None:
    path = tmp_path / "whole.json"
    path.write_text('{"parts": [{"size": 3}], "later": "field"}')
    assert read_json(path, Whole, "a whole", most_bytes=42) == Whole(parts=[Part(3)])
    with pytest.raises(InputError, match="is too large for a whole: it has more than 41 bytes"):
        read_json(path, Whole, "a whole", most_bytes=41)
    with pytest.raises(InputError, match="cannot be read"):
        read_json(tmp_path / "none", Whole, "a whole", most_bytes=42)


def test_a_pipe_is_not_waited_for_and_no_link_followed(tmp_path: Path) -> None:
    (tmp_path / "whole.json").write_text('{"parts": []}')
    (tmp_path / "link.json").symlink_to(tmp_path / "whole.json")
    os.mkfifo(tmp_path / "pipe.json")
    with pytest.raises(InputError, match="is a symbolic link"):
        read_json(tmp_path / "link.json", Whole, "a whole", most_bytes=42)
    with pytest.raises(InputError, match="is not a regular file"):
        read_json(tmp_path / "pipe.json", Whole, "a whole", most_bytes=42)
