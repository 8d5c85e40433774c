"""The DevTools client over pipes whose other end a test holds: messages in pieces, in heaps, late, and none."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator

import msgspec
import pytest

from originset.crawler.browsers import devtools as devtools_module
from originset.crawler.browsers.devtools import (
    DevTools,
    DevToolsError,
    DevToolsLost,
    DevToolsOversized,
    DevToolsSilent,
    without_lone_surrogates,
)


class Browser:
    """The other end of the pipes."""

    def __init__(self) -> None:
        self.answers, self._out = os.pipe()
        self._in, self.commands = os.pipe()

    def say(self, *messages: dict[str, object], cut: int | None = None) -> None:
        """Write messages; with ``cut`` the last so many bytes are left out."""
        text = b"".join(json.dumps(message).encode() + b"\0" for message in messages)
        os.write(self._out, text[: len(text) - cut] if cut else text)

    def write(self, text: bytes) -> None:
        while text:
            text = text[os.write(self._out, text) :]

    def heard(self) -> dict[str, object]:
        """The next command; all of it is there in one piece."""
        (command, rest) = os.read(self._in, 1 << 16).split(b"\0")
        assert rest == b""
        message: dict[str, object] = json.loads(command)
        return message

    def leave(self) -> None:
        os.close(self._out)
        os.close(self._in)


@pytest.fixture
def browser() -> Iterator[Browser]:
    browser = Browser()
    yield browser
    for descriptor in (browser.answers, browser.commands, browser._out, browser._in):
        try:
            os.close(descriptor)
        except OSError:
            continue


@pytest.fixture
def devtools(browser: Browser) -> DevTools:
    return DevTools(browser.answers, browser.commands)


def test_an_answer_among_events(browser: Browser, devtools: DevTools) -> None:
    events = []
    devtools.on_event = lambda session, method, params: events.append((session, method, msgspec.json.decode(params)))
    browser.say(
        {"method": "Page.a", "params": {"n": 1}, "sessionId": "S"},
        {"id": 7, "result": {"nobody": "asked"}},
        {"id": 1, "result": {"product": "Chrome/1"}},
        {"method": "Page.b"},
    )
    assert devtools.call("Browser.getVersion", "S", wanted=True) == {"product": "Chrome/1"}
    assert browser.heard() == {"id": 1, "method": "Browser.getVersion", "params": {"wanted": True}, "sessionId": "S"}
    assert events == [("S", "Page.a", {"n": 1})], "what comes after the answer waits"
    assert devtools.pump(0)
    assert events[1:] == [(None, "Page.b", {})]
    assert not devtools.pump(0)


def test_a_message_in_pieces(browser: Browser, devtools: DevTools) -> None:
    events = []
    devtools.on_event = lambda _, method, params: events.append((method, len(params)))
    browser.say({"method": "Page.first"}, {"method": "Page.second"}, cut=5)
    assert devtools.pump(0)
    assert not devtools.pump(0.01), "it has not ended"
    browser.write(b'nd"}\0')
    assert devtools.pump(0)
    assert [method for method, _ in events] == ["Page.first", "Page.second"]


def test_a_message_larger_than_any_pipe(browser: Browser, devtools: DevTools) -> None:
    text = "x" * (3 << 20)
    message = json.dumps({"id": 1, "result": {"value": text}}).encode() + b"\0"
    writer = threading.Thread(target=browser.write, args=(message,))
    writer.start()
    assert devtools.call("Runtime.evaluate") == {"value": text}
    writer.join()


@pytest.mark.promise("messages-are-bounded")
def test_a_message_without_an_end(browser: Browser, devtools: DevTools, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devtools_module, "MAX_MESSAGE", 1 << 20)
    text = json.dumps({"method": "Page.long", "params": {"text": "x" * ((1 << 20) - 100)}}).encode() + b"\0"
    written = text + text + b"x" * ((1 << 20) + 1)
    writer = threading.Thread(target=browser.write, args=(written,))
    writer.start()
    assert [devtools.pump(10), devtools.pump(10)] == [True, True], "each is shorter than the bound"
    with pytest.raises(DevToolsOversized, match="more than 1 MiB"):
        devtools.pump(10)
    writer.join()


def test_a_command_larger_than_any_pipe(browser: Browser, devtools: DevTools) -> None:
    read: list[bytes] = []

    def listen() -> None:
        while not b"".join(read).endswith(b"\0"):
            read.append(os.read(browser._in, 1 << 16))

    reader = threading.Thread(target=listen)
    reader.start()
    devtools.send("Page.navigate", url="x" * (1 << 20))
    reader.join()
    assert json.loads(b"".join(read)[:-1])["params"] == {"url": "x" * (1 << 20)}


def test_a_refusal_and_a_silence(browser: Browser, devtools: DevTools) -> None:
    browser.say({"id": 1, "error": {"code": -32601, "message": "not found"}})
    with pytest.raises(DevToolsError, match=r"Page\.no: not found"):
        devtools.call("Page.no")
    with pytest.raises(DevToolsSilent, match=r"Page\.never within 0\.01 s"):
        devtools.call("Page.never", timeout_s=0.01)
    browser.say({"id": 2, "result": {}}, {"id": 3, "result": {"late": False}})
    assert devtools.call("Page.after") == {"late": False}


def test_a_browser_that_leaves(browser: Browser, devtools: DevTools) -> None:
    browser.say({"method": "Page.last"}, {"method": "Page.cut"}, cut=3)
    browser.leave()
    assert devtools.pump(0)
    with pytest.raises(DevToolsLost, match="closed its DevTools"):
        devtools.pump(10)
    with pytest.raises(DevToolsLost, match="closed its DevTools"):
        devtools.send("Page.navigate")


@pytest.mark.parametrize(
    ("escaped", "expected"),
    [
        (rb"\ud800", "\ufffd"),
        (rb"\uDFFF\uDFFF", "\ufffd\ufffd"),
        (rb"\ud83d\ude00", "\U0001f600"),
        (rb"\ud83d\ud83d\ude00", "\ufffd\U0001f600"),
        (rb"\\\ud800", "\\\ufffd"),
        (rb"\\ud800", "\\ud800"),
        (rb"\n\"\ud7ff", '\n"\ud7ff'),
    ],
)
def test_halves_of_characters(escaped: bytes, expected: str) -> None:
    assert msgspec.json.decode(without_lone_surrogates(b'"%b"' % escaped)) == expected


@pytest.mark.promise("messages-cost-their-visit")
def test_a_message_with_half_a_character(browser: Browser, devtools: DevTools) -> None:
    events = []
    devtools.on_event = lambda _, method, params: events.append((method, msgspec.json.decode(params)))
    browser.say({"method": "Page.a", "params": {"name": "\ud800"}}, {"id": 1, "result": {"value": "a\udc00"}})
    assert devtools.call("Runtime.evaluate") == {"value": "a\ufffd"}
    assert events == [("Page.a", {"name": "\ufffd"})]


@pytest.mark.promise("messages-cost-their-visit")
@pytest.mark.parametrize("message", [b"{", b'{"id": "x"}', b'{"method": "Page.a", "params": {"n": "\xff"}}'])
def test_a_message_that_cannot_be_read(browser: Browser, devtools: DevTools, message: bytes) -> None:
    devtools.on_event = lambda _, _method, params: msgspec.json.decode(params)
    browser.write(message + b"\0")
    with pytest.raises(DevToolsLost, match="cannot be read"):
        devtools.pump(10)
