"""What fuzzing found before is a finding for as long as it is raised, and no longer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from doors import Bound, Door
from findings import BoundedReader, keep_finding, remove_mended_findings

from originset.data.errors import InputError


def _read(data: bytes, *, whole: bool) -> None:
    if data.startswith(b"bad"):
        raise TypeError(f"{len(data)}, {whole}")
    if data.startswith(b"large"):
        bytearray(b"\1") * (150 << 20)
    raise InputError("a", "not-a", "refused as it should be")


_DOOR = Door("a", _read, lambda: iter(()), lambda _: {}, (), 100, Bound(1 << 20, 0), Bound(0, 0), None)


def test_findings_that_are_mended_go(tmp_path: Path) -> None:
    for data in (b"bad and long", b"bad"):
        try:
            BoundedReader(_DOOR).read(data)
        except TypeError as error:
            keep_finding(tmp_path, data, error)
    for name, data in (("Large-a-1", b"large"), ("Large-b-1", b"large, too"), ("ValueError-a-1", b"good by now")):
        (tmp_path / "findings" / name).write_bytes(data)
        (tmp_path / "findings" / f"{name}.txt").write_text("what was raised")
    kept = ["Large-a-1", "Large-b-1", "TypeError-door"]
    remove_mended_findings(tmp_path, _DOOR)
    found = {path.name for path in tmp_path.glob("findings/*")}
    assert found == {*kept, *(f"{name}.txt" for name in kept)}
    assert (tmp_path / "findings" / "TypeError-door").read_bytes() == b"bad"
    mended = replace(_DOOR, read=lambda _data, *, whole: None)
    remove_mended_findings(tmp_path, mended)
    assert not list(tmp_path.glob("findings/*"))
