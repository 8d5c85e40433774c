"""A NetLog read from its pipe: whatever a page makes the browser write there, our memory is bounded."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from originset.crawler.netlog import stream as module
from originset.crawler.netlog.stream import NetLogStream
from originset.data.captures.capture import Features
from originset.data.netlog import events
from originset.data.netlog.events import Parser

HEAD = (
    b'{"constants": {"logEventTypes": {"WANTED": 1, "OTHER": 2}, "logSourceType": {"S": 1}, '
    b'"netError": {}, "timeTickOffset": 0},\n"events": [\n'
)
PATIENCE_S = 30


class Pipe:
    def __init__(self, folder: Path) -> None:
        self.stream = NetLogStream(folder / "pipe", frozenset({"WANTED"}))
        self._fd = os.open(folder / "pipe", os.O_WRONLY)
        self.write(HEAD)

    def write(self, text: bytes) -> None:
        while text:
            text = text[os.write(self._fd, text) :]

    def event(self, number: int, padding: bytes = b"", kind: int = 1) -> None:
        line = b'{"source":{"id":%d,"type":1},"time":"1","type":%d,"params":{"x":"%s"}},\n'
        self.write(line % (number, kind, padding))

    def numbers(self, last: int) -> list[int]:
        """The events up to the one with this number."""
        found: list[int] = []
        deadline = time.monotonic() + PATIENCE_S
        while last not in found:
            assert time.monotonic() < deadline
            found += [event.source for event in self.stream.take()]
            time.sleep(0.01)
        return found

    def close(self) -> None:
        os.close(self._fd)
        self.stream.close()


@pytest.fixture
def pipe(tmp_path: Path) -> Iterator[Pipe]:
    opened = Pipe(tmp_path)
    yield opened
    opened.close()


def test_events_come_whole(pipe: Pipe) -> None:
    for number in range(1000):
        pipe.event(number, b"x" * 1000, kind=1 + number % 2)
    pipe.event(1000)
    assert pipe.numbers(1000) == [*range(0, 1000, 2), 1000]
    assert not pipe.stream.take_loss()


@pytest.mark.parametrize("params", [b'{"url":"\x8c"}', b"[" * 5_000 + b"]" * 5_000])
def test_a_line_that_cannot_be_read_costs_itself_alone(tmp_path: Path, params: bytes) -> None:
    """The thread that reads goes on: a browser whose pipe nobody reads any more would wait for ever."""
    name = "URL_REQUEST_START_JOB"
    stream = NetLogStream(tmp_path / "pipe", frozenset({name}))
    mark = stream.expect("https://a.test/")
    with (tmp_path / "pipe").open("wb") as writer:
        writer.write(HEAD.replace(b"WANTED", name.encode()))
        for number, text in ((1, params), (2, b'{"url":"https://a.test/"}')):
            line = b'{"source":{"id":%d,"type":1},"time":"1","type":1,"params":%s},\n' % (number, text)
            writer.write(line)
            writer.flush()
    stream.close()
    assert mark.is_set()


@pytest.mark.promise("visits-are-bounded")
def test_a_line_is_bounded(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "_LONGEST_LINE", 1 << 20)
    pipe.event(1, b"x" * (1 << 19))
    pipe.event(2, b"x" * (3 << 20))
    pipe.event(3)
    assert pipe.numbers(3) == [1, 3]
    assert pipe.stream.take_loss()
    assert not pipe.stream.take_loss(), "it was told"


@pytest.mark.promise("visits-are-bounded")
def test_what_waits_is_bounded(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_WAITING", 1 << 20)
    for number in range(100):
        pipe.event(number, b"x" * (1 << 16))
    deadline = time.monotonic() + PATIENCE_S
    while not pipe.stream.take_loss():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    mark = pipe.stream.expect("https://mark.test/")
    assert not mark.is_set()
    assert sum(len(event.params) for event in pipe.stream.take()) <= 1 << 20
    pipe.event(1000)
    assert 1000 in pipe.numbers(1000), "once they are taken, others may wait"


def test_the_features_that_the_browser_was_started_with() -> None:
    """What several flags say is one list, and a feature's parameters stay with it."""
    parser = Parser(frozenset())
    client = (
        b'"clientInfo": {"command_line": "chromium --enable-features=B:delay/1d,A --headless '
        b'--disable-features=C --enable-features=HappyEyeballsV3 --user-data-dir=/home/me"}, '
        b'"activeFieldTrialGroups": ["Trial:Group"], '
    )
    assert parser.event(HEAD.splitlines()[0].replace(b'"netError"', client + b'"netError"')) is None
    assert parser.constants is not None
    assert parser.constants.features == Features(
        enabled=["A", "B:delay/1d", "HappyEyeballsV3"], disabled=["C"], field_trials=["Trial:Group"]
    )


def test_a_log_that_does_not_name_the_browsers_flags() -> None:
    parser = Parser(frozenset())
    parser.event(HEAD.splitlines()[0])
    assert parser.constants is not None
    assert parser.constants.features == Features(enabled=None, disabled=None, field_trials=None)
