"""Pages that take all they can: their visit ends with the reason, and the crawl's own process stays as it was."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler

import psutil
import pytest
from interpreter_hold import ends_while_held
from web_server import Quiet, serving

from originset.crawler.browsers import devtools, firefox
from originset.crawler.settings import BrowserName, VisitSettings
from originset.crawler.visits import page_log
from originset.crawler.visits.event_limits import EventBudget
from originset.crawler.visits.visit_browsers import browser_for, visit
from originset.crawler.visits.visit_record import VisitRequest
from originset.data.captures.capture import pack_capture

pytestmark = [pytest.mark.browser, pytest.mark.testbed]

BROWSERS: tuple[BrowserName, ...] = ("chromium", "headless-shell", "firefox")
PAGES = {
    "/memory": "for (const kept = [];;) kept.push(new Uint8Array(64 << 20).fill(1))",
    "/data": (
        "const body = 'A'.repeat(4 << 20); let n = 0;"
        "const next = () => { new Image().src = `data:image/png;base64,${n++}${body}`;"
        "n < 60 && setTimeout(next, 20) }; next()"
    ),
    "/address": "fetch(`/${'a'.repeat(500000)}`)",
    "/requests": "for (let n = 0; n < 200; n++) new Image().src = `/image${n}`",
}
MOST_MEMORY = 1 << 30


HALF_A_CHARACTER = b"\xed\xa0\x80"  # as UTF-8 would have U+D800, if it had


class Pages(Quiet, BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        script = PAGES.get(self.path)
        if self.path == "/halves":
            # The browser is asked for the first 200 UTF-16 units of a title.
            title = "a" * 199 + "\N{GRINNING FACE}"
            script = "const part = {'\\ud800'() { fetch('/missing') }}; part['\\ud800']()"
            body = f"<!doctype html><meta charset=utf-8><title>{title}</title><script>{script}</script>".encode()
            head = (b"HTTP/1.0 200 %b", b"X-Half: %b", b"Content-Type: text/html; charset=%b")
            self.wfile.write(b"\r\n".join(line % HALF_A_CHARACTER for line in head) + b"\r\n\r\n" + body)
            return
        self.answer(404, b"") if script is None else self.answer(200, f"<p>page<script>{script}</script>".encode())


@pytest.fixture(scope="module")
def pages() -> Iterator[str]:
    with serving(Pages) as address:
        yield address


def request(url: str) -> VisitRequest:
    return VisitRequest("0123456789abcdef", "site.test", url)


@pytest.mark.promise("browsers-memory-is-bounded")
@pytest.mark.parametrize("browser", BROWSERS)
def test_a_browser_that_takes_too_much_memory(pages: str, browser: BrowserName) -> None:
    settings = VisitSettings(browser=browser, timeout_s=60, allow_private=True, most_memory=MOST_MEMORY)
    with browser_for(settings) as running:
        seen = visit(running, request(f"{pages}/memory"))[1].visit
        assert running.killed
    assert (seen.status, seen.error) == ("failed", "memory")
    assert seen.error_code is not None
    assert "MB" in seen.error_code


@pytest.mark.promise("deadlines-hold")
@pytest.mark.parametrize("browser", BROWSERS)
def test_a_deadline_while_the_interpreter_is_held(
    pages: str, browser: BrowserName, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By what is done with an event: once the browser is gone, the visit says why."""
    ended = []

    class Held(EventBudget):
        def take(self, size: int) -> bool:
            if not ended:
                ended.append(ends_while_held(running.pids[0]))
            return super().take(size)

    monkeypatch.setattr(page_log, "EventBudget", Held)
    settings = VisitSettings(browser=browser, timeout_s=1, grace_s=1, allow_private=True)
    with browser_for(settings) as running:
        seen = visit(running, request(f"{pages}/data"))[1].visit
        assert running.killed
    assert ended == [True]
    assert (seen.status, seen.error) == ("failed", "hang")


@pytest.mark.promise("messages-are-bounded")
@pytest.mark.parametrize("browser", BROWSERS)
def test_a_message_of_any_length(pages: str, browser: BrowserName, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (devtools, firefox):
        monkeypatch.setattr(module, "MAX_MESSAGE", 1 << 18)
    with browser_for(VisitSettings(browser=browser, timeout_s=20, allow_private=True)) as running:
        assert visit(running, request(f"{pages}/missing"))[1].visit.error == "http"
        seen = visit(running, request(f"{pages}/address"))[1].visit
        assert running.killed
    assert (seen.status, seen.error) == ("failed", "oversized")
    assert seen.error_code is not None


@pytest.mark.promise("visits-are-bounded")
@pytest.mark.parametrize("browser", BROWSERS)
def test_data_urls_stay_out_of_our_memory(pages: str, browser: BrowserName) -> None:
    """Of 60 times 4 MB."""
    ours = psutil.Process()
    with browser_for(VisitSettings(browser=browser, timeout_s=20, quiet_s=2, allow_private=True)) as running:
        visit(running, request(f"{pages}/missing"))
        before = ours.memory_info().rss
        har_log, _ = visit(running, request(f"{pages}/data"))
        assert ours.memory_info().rss - before < 100 << 20
    urls = [entry["request"]["url"] for entry in har_log["entries"]]
    assert len([url for url in urls if url.startswith("data:image/png")]) <= 60
    assert max(map(len, urls)) < 1000


@pytest.mark.promise("visits-are-bounded")
@pytest.mark.parametrize("browser", BROWSERS)
def test_more_requests_than_are_recorded(pages: str, browser: BrowserName, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_log, "EventBudget", partial(EventBudget, most_requests=50))
    with browser_for(VisitSettings(browser=browser, timeout_s=20, allow_private=True)) as running:
        har_log, extension = visit(running, request(f"{pages}/requests"))
        assert len(har_log["entries"]) == 50
        assert (extension.visit.status, extension.visit.error) == ("partial", "oversized")
        assert "truncated" in extension.visit.quality
        monkeypatch.undo()
        har_log, extension = visit(running, request(f"{pages}/requests"))
        assert (extension.visit.status, extension.visit.quality) == ("ok", [])
        assert len(har_log["entries"]) > 200


@pytest.mark.promise("messages-cost-their-visit")
@pytest.mark.parametrize("browser", BROWSERS)
def test_halves_of_characters(pages: str, browser: BrowserName) -> None:
    """In a title, a function's name, a header and a reason phrase."""
    with browser_for(VisitSettings(browser=browser, timeout_s=20, allow_private=True)) as running:
        har_log, extension = visit(running, request(f"{pages}/halves"))
        assert not running.killed
    assert (extension.visit.status, extension.visit.viewport) == ("ok", "1280x800")
    assert f"{pages}/missing" in {entry["request"]["url"] for entry in har_log["entries"]}
    assert pack_capture(har_log, extension)
