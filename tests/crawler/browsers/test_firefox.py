"""A real Firefox in the testbed: what it loads, over which connections, and that nothing is left of it."""

import os
import signal
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from originset.crawler.browsers.firefox import Firefox
from originset.crawler.settings import VisitSettings
from originset.crawler.testbed import scenario_file
from originset.crawler.testbed.testbed import Testbed
from originset.crawler.visits.visit_browsers import Browser, browser_for, visit
from originset.crawler.visits.visit_record import VisitRequest
from originset.data.errors import BrowserError, MissingDependency

pytestmark = [pytest.mark.testbed, pytest.mark.browser]

# The same page three times: two names, two addresses, and a certificate that covers both or not.
PROMISES = """
dns = "192.0.2.56"
[certificate.with]
names = ["*.with.test"]
[certificate.without]
names = ["*.without.test"]
[certificate.bare]
names = ["www.bare.test"]
[certificate.bare-static]
names = ["static.bare.test"]

[host."www.with.test"]
addresses = ["104.22.0.1"]
certificate = "with"
origin_set = ["https://www.with.test", "https://static.with.test"]
[host."static.with.test"]
addresses = ["104.22.0.2"]
certificate = "with"

[host."www.without.test"]
addresses = ["104.22.0.3"]
certificate = "without"
[host."static.without.test"]
addresses = ["104.22.0.4"]
certificate = "without"

[host."www.bare.test"]
addresses = ["104.22.0.5"]
certificate = "bare"
origin_set = ["https://www.bare.test", "https://static.bare.test"]
[host."static.bare.test"]
addresses = ["104.22.0.6"]
certificate = "bare-static"
"""
for _site in ("with", "without", "bare"):
    PROMISES += f"""
[site."www.{_site}.test"]
loads = [
  {{ style = "https://static.{_site}.test/a.css" }},
  {{ script = "https://static.{_site}.test/a.js" }},
  {{ image = "https://static.{_site}.test/a.png" }},
  {{ image = "https://www.{_site}.test/b.png" }},
]
"""


def browsers(profile: Path) -> list[psutil.Process]:
    return [one for one in psutil.process_iter(["cmdline"]) if str(profile) in (one.info["cmdline"] or [])]


def test_an_origin_frame_saves_a_connection(testbed: Testbed, tmp_path: Path) -> None:
    used = {}
    with (
        Testbed(scenario_file.parse(PROMISES), tmp_path / "promises") as lab,
        Firefox(lab.authority.root, environment=lab.environment) as firefox,
    ):
        for site in lab.sites:
            before = len(lab.requests())
            loaded = firefox.load(f"https://{site}/")
            requests = lab.requests()[before:]
            assert {one.status for one in requests} == {200}
            paths = {f"https://{one.host}{one.path}" for one in requests}
            assert paths == {one.url for one in loaded if not one.url.startswith("data:")}
            assert len(paths) == 5
            used[site] = len({one.connection for one in requests})
    assert used == {"www.with.test": 1, "www.without.test": 2, "www.bare.test": 2}


@pytest.mark.promise("visits-are-cold")
def test_every_load_starts_without_a_past(testbed: Testbed) -> None:
    with Firefox(testbed.authority.root, environment=testbed.environment) as firefox:
        seen = []
        for _ in range(2):
            before = len(testbed.requests())
            firefox.load("https://www.gazette.example/")
            requests = testbed.requests()[before:]
            assert {one.path for one in requests} == {"/", "/main.css", "/main.js", "/photo.png", "/logo.svg"}
            seen.append({one.connection for one in requests})
    assert not seen[0] & seen[1]
    resumed = {one.connection for one in testbed.handshakes() if one.resumed}
    assert not resumed & (seen[0] | seen[1])


def test_what_does_not_load_is_told_and_does_no_harm(testbed: Testbed) -> None:
    with Firefox(testbed.authority.root, environment=testbed.environment) as firefox:
        for site, reason in [("gone.test", "HOST"), ("refused.test", "REFUSED"), ("expired.test", "EXPIRED_CERT")]:
            with pytest.raises(BrowserError, match=reason):
                firefox.load(f"https://{site}/")
        with pytest.raises(BrowserError, match="took longer than"):
            firefox.load("https://wiki.test/", timeout_s=0.0)
        assert {one.status for one in firefox.load("https://wiki.test/")} == {200}


@pytest.fixture(scope="module")
def browser(testbed: Testbed) -> Iterator[Browser]:
    settings = VisitSettings(browser="firefox", timeout_s=20, quiet_s=0.3, environment=testbed.environment)
    with browser_for(settings) as running:
        yield running


@pytest.mark.parametrize(
    ("site", "error", "code"),
    [
        ("gone.test", "dns", "NS_ERROR_UNKNOWN_HOST"),
        ("refused.test", "connect", "NS_ERROR_CONNECTION_REFUSED"),
        ("expired.test", "tls", "SEC_ERROR_EXPIRED_CERTIFICATE"),
    ],
)
def test_sites_that_fail(browser: Browser, site: str, error: str, code: str) -> None:
    har_log, extension = visit(browser, VisitRequest("0123456789abcdef", site, f"https://{site}/"))
    assert (extension.visit.status, extension.visit.error, extension.visit.error_code) == ("failed", error, code)
    # Firefox sometimes tells of the navigation's failure before it tells of the request's.
    assert [entry["response"].get("_error", code) for entry in har_log["entries"]] == [code]
    assert extension.visit.consent_banner == "unknown"


def test_without_trust_nothing_loads(testbed: Testbed) -> None:
    with Firefox(environment=testbed.environment) as firefox, pytest.raises(BrowserError, match="UNKNOWN_ISSUER"):
        firefox.load("https://shop.test/")


@pytest.fixture
def scratch(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A place of its own for what a browser writes; pytest's have names too long for that."""
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.setattr("tempfile.tempdir", folder)
        yield Path(folder)


@pytest.mark.promise("browsers-end")
def test_nothing_is_left_of_it(testbed: Testbed, scratch: Path) -> None:
    with Firefox(testbed.authority.root, environment=testbed.environment) as firefox:
        (profile,) = scratch.iterdir()
        (parent,) = browsers(profile)
        family = [parent, *parent.children(recursive=True)]
        firefox.load("https://anna.test/")
    assert not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in family)
    assert list(scratch.iterdir()) == []


def test_a_lost_browser_is_told(testbed: Testbed, scratch: Path) -> None:
    with Firefox(testbed.authority.root, environment=testbed.environment) as firefox:
        (profile,) = scratch.iterdir()
        (parent,) = browsers(profile)
        threading.Timer(0.2, os.kill, (parent.pid, signal.SIGKILL)).start()
        with pytest.raises(BrowserError, match="was lost"):
            all(firefox.load("https://travel.test/") for _ in range(100))
    assert browsers(profile) == []


def test_a_machine_without_firefox(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("SE_MANAGER_PATH", "/bin/false")  # Selenium Manager, which looks beyond the path
    with pytest.raises(MissingDependency, match="apt-get install firefox-esr"), Firefox():
        pytest.fail("there is no Firefox on this PATH")


def test_one_too_old_is_told_once_not_page_by_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Firefox, "_events", ("browsingContext.notInventedYet",))
    with pytest.raises(MissingDependency, match=r"a Firefox newer than \d+\."), Firefox():
        pass
