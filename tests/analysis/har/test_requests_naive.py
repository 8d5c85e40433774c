"""What is read of entries against a reader that takes them one at a time (tests/fixtures/naive_hars.py)."""

import json
import random
from pathlib import Path

import mutated_hars
import naive_hars
import pytest
from corpora import corpus
from naive_hars import require_equal_reading

HARS = Path(__file__).parents[2] / "fixtures" / "hars"


def test_recordings_are_read_alike() -> None:
    texts = [path.read_bytes() for path in sorted(HARS.rglob("*.har"))]
    assert all(require_equal_reading(text) for text in texts)


def test_what_fuzzing_left_is_read_alike() -> None:
    assert sum(require_equal_reading(text) for text in corpus("har_text").values())


def test_spoilt_hars_are_read_alike() -> None:
    source, texts = random.Random(8336), mutated_hars.bases(HARS)  # noqa: S311 - the same ones each time
    assert sum(require_equal_reading(mutated_hars.mutate(source, texts)) for _ in range(100)) > 100


@pytest.mark.parametrize("creator", ["Firefox", "WebInspector", "mitmproxy", "WebPagetest", "other"])
@pytest.mark.parametrize("status", [200, "200"])
def test_unusual_values_are_read_alike(creator: str, status: object) -> None:
    """A value of another type has all of a file read in another way, which is to change nothing else."""
    entry = {
        "startedDateTime": "2024-01-01T00:00:00+14:00",
        "request": {"url": "https://A.test:8443/", "method": " \\ud800x"},
        "response": {"status": status, "content": {"mimeType": "a/\\ud83d"}, "headersSize": 100, "bodySize": 3.5},
        "timings": {"connect": 3, "ssl": 9, "dns": 0, "wait": -0.0},
        "connection": "12",
    }
    pages = [{"id": "a", "startedDateTime": "2024-01-01T00:00:01Z"}, {"id": "b", "startedDateTime": None}]
    for more in ({}, {"_connectionId": "3"}, {"pageref": "b"}, {"_socket": 3}):
        log = {"creator": {"name": creator}, "pages": pages, "entries": [entry | more, entry]}
        assert require_equal_reading(json.dumps({"log": log}).encode()) == 2


def test_another_reading_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (HARS / "small.har").read_bytes()
    monkeypatch.setitem(naive_hars._PORTS, "https", 444)
    with pytest.raises(AssertionError, match="port"):
        require_equal_reading(text)


NO_HARS = (b"{}", b"[]", b'{"log":', b'{"log":{}}', b'{"log":{"entries":{}}}')
BROKEN_ESCAPE = rb'{"log":{"entries":[{"pageref":"\ud8"x"}]}}'


@pytest.mark.parametrize("text", [*NO_HARS, BROKEN_ESCAPE])
def test_what_is_no_har_is_refused_by_both(text: bytes) -> None:
    assert require_equal_reading(text) == 0
    assert naive_hars.naive_rows(text) is None
