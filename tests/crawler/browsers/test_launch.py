"""How Chromium is started: what its profile says, and that the profile is heeded."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import pytest

from originset.crawler.browsers import launch
from originset.crawler.browsers.chromium import Chromium
from originset.crawler.browsers.launch import end_with_parent, merged_features, start_with_pipes
from originset.crawler.settings import BrowserName, ThirdPartyCookies, VisitSettings
from originset.data.errors import BrowserError, MissingDependency

_POPUP = "window.open('about:blank') === null"


def test_lists_of_features_become_one() -> None:
    flags = ["--a", "--enable-features=x,y", "--disable-features=p", "--b", "--enable-features=z"]
    assert merged_features(flags) == ["--a", "--b", "--enable-features=x,y,z", "--disable-features=p"]
    assert merged_features(["--a"]) == ["--a"]


@pytest.mark.browser
@pytest.mark.parametrize(("cookies", "mode"), [("allowed", 0), ("blocked", 1)])
def test_the_profile_is_heeded(cookies: ThirdPartyCookies, mode: int) -> None:
    with Chromium(VisitSettings(third_party_cookies=cookies)) as chromium:
        devtools = chromium.devtools
        context = devtools.call("Target.createBrowserContext")["browserContextId"]
        page = devtools.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = devtools.call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        popup = devtools.call("Runtime.evaluate", session, expression=_POPUP, returnByValue=True)
        assert popup["result"]["value"] is True, "popups are blocked"
        preferences = _preferences(chromium)
    assert preferences["profile"]["cookie_controls_mode"]["value"] == mode
    for part, name in (("search", "suggest_enabled"), ("signin", "allowed"), ("safebrowsing", "enabled")):
        assert preferences[part][name]["value"] is False, f"{part}.{name}"


def _preferences(chromium: Chromium) -> dict[str, dict[str, dict[str, object]]]:
    """What the browser itself takes its profile to say."""
    devtools = chromium.devtools
    target = devtools.call("Target.createTarget", url="chrome://prefs-internals/")["targetId"]
    session = devtools.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
    script = """new Promise(resolve => {
      const look = () => {
        try { JSON.parse(document.body.innerText); resolve(document.body.innerText); } catch { setTimeout(look, 20); }
      };
      look();
    })"""
    told = devtools.call("Runtime.evaluate", session, 30, expression=script, awaitPromise=True, returnByValue=True)
    found: dict[str, dict[str, dict[str, object]]] = json.loads(told["result"]["value"])
    return found


@pytest.mark.promise("consoles-fill-no-disk")
@pytest.mark.browser
@pytest.mark.parametrize("browser", ["chromium", "headless-shell"])
def test_what_a_page_says_in_its_console_fills_no_disk(browser: BrowserName, monkeypatch: pytest.MonkeyPatch) -> None:
    files: list[Path] = []
    monkeypatch.setattr(launch, "stderr_file", lambda folder: files.append(folder / "stderr.txt") or files[-1])
    with Chromium(VisitSettings(browser=browser)) as chromium:
        devtools = chromium.devtools
        target = devtools.call("Target.createTarget", url="about:blank")["targetId"]
        session = devtools.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        devtools.call("Runtime.evaluate", session, expression="console.error('x'.repeat(1e6)); document.title")
        time.sleep(0.2)
        assert files[0].stat().st_size < 100_000


def test_a_program_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(BrowserError, match="it did not start"):
        start_with_pipes(VisitSettings(), "chromium", ("/nonexistent",), (), tmp_path)


def test_a_browser_that_cannot_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("originset.crawler.browsers.chromium.find_binary", lambda _: "/bin/false")
    with pytest.raises(BrowserError, match="it did not start"), Chromium(VisitSettings()):
        pytest.fail("it started")


def test_a_browser_does_not_outlive_a_parent_that_ended_first() -> None:
    """The kernel tells of a parent's end only who asked before."""
    # The shell is another parent than this process, as whoever takes in the children of a dead one is.
    by_another = ("sh", "-c", '"$@"; echo "code $?"', "sh")
    command = (*end_with_parent(), "echo", "it runs")
    assert subprocess.run([*by_another, *command], capture_output=True, text=True, check=True).stdout == "code 1\n"
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "it runs\n"


def test_no_browser_starts_that_could_outlive_us(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("originset.crawler.programs.search_path", lambda: "/nonexistent")
    with pytest.raises(MissingDependency, match="setpriv is missing; run: apt-get install util-linux"):
        end_with_parent()
