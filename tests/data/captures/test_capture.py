"""A capture survives its round trip, and nothing else passes for one."""

import json
from pathlib import Path

import pytest
import zstandard

from originset.data.captures import capture
from originset.data.errors import InputError

EXTENSION = capture.Extension(
    visit=capture.Visit(
        visit_id="00ff00ff00ff00ff",
        site="a.test",
        url="https://a.test/",
        started_at="2026-01-02T03:04:05.000006Z",
        status="ok",
    ),
    connections=[capture.Connection(id=7, tls=True, chain=["aa", "bb"], used=True)],
    dns=[capture.DnsQuery(lookup_id=0, host="a.test", rtype="A", answers=["192.0.2.1"], attempts=1)],
    certificates={"aa": "AAAA"},
)


def test_round_trip(tmp_path: Path) -> None:
    path = capture.write_capture(tmp_path, {"version": "1.2", "entries": []}, EXTENSION)
    assert path == tmp_path / "00" / "00ff00ff00ff00ff.har.zst"
    assert list(capture.capture_paths(tmp_path)) == [path]
    text = capture.read_capture_bytes(path)
    assert json.loads(text)["log"]["version"] == "1.2"
    assert capture.decode_extension(text, str(path)) == EXTENSION


def test_a_half_written_capture_is_not_seen(tmp_path: Path) -> None:
    path = capture.write_capture(tmp_path, {}, EXTENSION)
    path.rename(path.with_name(f".{path.name}.1.tmp"))
    assert list(capture.capture_paths(tmp_path)) == []


@pytest.mark.promise("faults-lose-nothing")
def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(TypeError):
        capture.write_capture(tmp_path, {"entries": [object()]}, EXTENSION)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


@pytest.mark.promise("captures-are-bounded")
@pytest.mark.parametrize("cut", [0, 1, 20, -1])
def test_a_cut_file_is_refused(tmp_path: Path, cut: int) -> None:
    path = capture.write_capture(tmp_path, {"entries": list(range(1000))}, EXTENSION)
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(InputError):
        capture.decode_extension(capture.read_capture_bytes(path), str(path))


@pytest.mark.parametrize("text", ["", "{}", '{"log":{}}', '{"log":{"_originset":{"visit":{}}}}', "\x00"])
def test_other_json_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="not a capture"):
        capture.decode_extension(text.encode(), "x")


def test_a_later_version_is_refused() -> None:
    text = json.dumps(
        {
            "log": {
                "_originset": {
                    "version": 2,
                    "visit": json.loads('{"visit_id":"x","site":"x","url":"x","started_at":"x","status":"ok"}'),
                }
            }
        }
    )
    with pytest.raises(InputError, match="version 2"):
        capture.decode_extension(text.encode(), "x")


@pytest.mark.promise("captures-are-bounded")
def test_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture, "MAX_BYTES", 1 << 16)
    path = tmp_path / "x"
    path.write_bytes(zstandard.ZstdCompressor().compress(b" " * (1 << 20)))
    with pytest.raises(InputError, match="would unpack to more"):
        capture.read_capture_bytes(path)
