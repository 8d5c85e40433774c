"""A browser's version by the User-Agent header that it sent."""

from __future__ import annotations

import json

import pytest

from originset.analysis.har.user_agents import sent_version

CHROME_95 = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/95.0.4638.54 Safari/537.36"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


def har(agent: str, name: str = "User-Agent", indent: int | None = None) -> bytes:
    headers = [{"name": "Accept", "value": "*/*"}, {"name": name, "value": agent}]
    return json.dumps({"log": {"entries": [{"request": {"headers": headers}}]}}, indent=indent).encode()


@pytest.mark.parametrize(
    ("agent", "browser", "version"),
    [
        (CHROME_95, "chromium", "95.0.4638.54"),
        (CHROME_95.replace("Chrome", "HeadlessChrome"), "chromium", "95.0.4638.54"),
        (CHROME_95.replace("95.0.4638.54", "110.0.0.0"), "chromium", "110.0.0.0"),
        (FIREFOX, "firefox", "140.0"),
        (FIREFOX, "chromium", None),  # it passes for another one
        (CHROME_95, None, None),
        (CHROME_95, "safari", None),
        ("Chrome/" + "9" * 900, "chromium", None),
        ("NotChrome/95.0", "chromium", None),
        ("Chrome/95.0.1.2.3", "chromium", None),
    ],
)
def test_it_is_the_version_of_the_browser_that_the_file_is_of(agent, browser, version) -> None:
    assert sent_version(har(agent), browser) == version
    assert sent_version(har(agent, "user-agent", indent=2), browser) == version


def test_what_a_page_contains_is_no_header() -> None:
    page = {"log": {"comment": har("Chrome/1.2.3.4").decode(), "entries": []}}
    assert sent_version(json.dumps(page).encode(), "chromium") is None
