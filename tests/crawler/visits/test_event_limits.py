"""What is taken in of what a page makes its browser tell."""

from __future__ import annotations

import json
import tracemalloc

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from originset.crawler.visits.event_limits import (
    MAX_EVENT_BYTES,
    EventBudget,
    text_without_data_urls,
    without_data_urls,
)
from originset.crawler.visits.page_log import PageLog

LONG = "A" * 10_000


def raw(value: object) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(value))


def cut(value: object) -> object:
    """By both ways, which do the same."""
    found = msgspec.json.decode(without_data_urls(raw(value)))
    assert json.loads(text_without_data_urls(msgspec.json.encode(value).decode())) == found
    return found


@pytest.mark.promise("visits-are-bounded")
def test_content_of_data_urls_is_left_out() -> None:
    given_in = {
        "url": f"data:image/png;base64,{LONG}",
        "quotes": f'data:text/html,<a href="data:x">\\{LONG}\\\\',
        "bare": f"data:{LONG}",
        "headers": {"data:": "data:", "x": f"a data:,{LONG}", "y": f"blob:{LONG}"},
        "stack": [{"url": f"data:text/javascript,{LONG}"}],
    }
    assert cut(given_in) == {
        "url": "data:image/png;base64,",
        "quotes": "data:text/html,",
        "bare": f"data:{'A' * 255},",
        "headers": {"data:,": "data:,", "x": f"a data:,{LONG}", "y": f"blob:{LONG}"},
        "stack": [{"url": "data:text/javascript,"}],
    }


@given(st.recursive(st.text() | st.text().map('x"data:{}'.format), st.lists, max_leaves=8), st.text())
def test_what_is_none_stays(value: object, text: str) -> None:
    """JSON stays JSON of the same shape, whatever quotes and backslashes are in it."""
    padded = [value, "x" + text, LONG]
    found = cut(padded)
    assert isinstance(found, list)
    assert len(found) == 3
    assert found[2] == LONG
    if '"data:' not in json.dumps(padded, ensure_ascii=False).replace('\\"', '"'):
        assert found == padded


def sent(number: int, url: str) -> msgspec.Raw:
    return raw({"requestId": str(number), "request": {"url": url, "method": "GET"}, "timestamp": 1, "documentURL": url})


@pytest.mark.promise("visits-are-bounded")
def test_data_urls_take_no_memory() -> None:
    """Once 4 MB and more were kept of each, twice."""
    page = PageLog("main")
    event = sent(0, "data:image/png;base64," + "A" * (4 << 20))
    tracemalloc.start()
    for number in range(50):
        page.add("Network.requestWillBeSent", msgspec.Raw(bytes(event).replace(b'"0"', b'"%d"' % number, 1)))
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(page.exchanges) == 50
    assert {exchange.sent.request.url for exchange in page.exchanges} == {"data:image/png;base64,"}
    assert kept < 1 << 20
    assert not page.budget.exceeded


@pytest.mark.promise("visits-are-bounded")
def test_requests_are_bounded() -> None:
    page = PageLog("main")
    page.budget = EventBudget(most_requests=10)
    for number in range(20):
        page.add("Network.requestWillBeSent", sent(number, f"https://site.test/{number}"))
        created = {"requestId": f"w{number}", "url": "wss://site.test/"}
        page.add("Network.webSocketCreated", raw(created))
    assert len(page._latest) == 10
    assert page.budget.exceeded


@pytest.mark.promise("visits-are-bounded")
def test_bytes_are_bounded() -> None:
    page = PageLog("main")
    page.budget = EventBudget(most_bytes=100_000)
    for number in range(20):
        page.add("Network.requestWillBeSent", sent(number, f"https://site.test/{LONG}"))
    assert 0 < len(page.exchanges) < 10
    assert page.budget.exceeded


@pytest.mark.promise("visits-are-bounded")
def test_one_event_is_bounded() -> None:
    page = PageLog("main")
    page.add("Network.requestWillBeSent", sent(1, "https://site.test/"))
    page.add("Network.requestWillBeSent", sent(2, "https://site.test/" + "a" * MAX_EVENT_BYTES))
    assert len(page.exchanges) == 1
    assert page.budget.exceeded
