"""A recording of 2021 by its own browser's rules, by today's, and by those of a browser that somebody asks about."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hand_made_har import write_har

from originset.cli.modelling.as_browser import rules_of_browser
from originset.crawler.testbed.rules import rule_catalogue
from originset.crawler.testbed.rules.versions.version_changes import rule_changes
from originset.data.errors import UsageError
from originset.data.reference.browser_rules import browser_rules

TODAY = browser_rules()["chromium"].version
CHROME_95 = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/95.0.4638.54 Safari/537.36"


def needs(run, har: Path, *options: str):
    """By whose rules: the version, the connections from least to most, and the lookups."""
    done = run("explain", har, "--format", "json", *options)
    assert done.returncode == 0, done.stderr
    (page,) = json.loads(done.stdout)["pages"]
    assert page["browser_version"] == "95.0.4638.54"
    return {
        one["rules_of"]: (
            one["rules_version"],
            (one["connections_low"], one["connections_high"]),
            one["lookups"],
        )
        for one in page["needs"]
    }


def of_2021(folder: Path) -> Path:
    """A stand-in: a page of three names, two of them at one address."""
    requests = [
        ("https://www.own.test/", "104.20.8.1", "1"),
        ("https://static.own.test/a.png", "104.20.8.1", "1"),
        ("https://far.own.test/b.png", "104.20.8.2", "2"),
    ]
    har = write_har(folder / "page.har", requests, "2021-10-20T12:00:00Z")
    content = json.loads(har.read_text())
    for entry in content["log"]["entries"]:
        entry["request"]["headers"] = [{"name": "User-Agent", "value": CHROME_95}]
    har.write_text(json.dumps(content))
    return har


def changed_rules() -> set[str]:
    """Those that any Chromium after 92 follows otherwise than the next older one that was observed."""
    return {
        change.rule
        for rule in rule_catalogue.rule_names()
        for change in rule_changes(rule)
        if change.before.browser == "chromium" and int(change.after.major) > 92
    }


def test_a_recording_of_2021_by_its_own_rules_todays_and_those_asked_about(run, tmp_path: Path) -> None:
    by_rules = needs(run, of_2021(tmp_path), "--as-browser", "firefox")
    assert by_rules == {
        # Three names at two addresses; whether one certificate covers two of them is not recorded.
        "recorded": ("92.0.4512.0", (2, 3), 3),
        "today": (TODAY, (2, 3), 3),
        "as_browser": (browser_rules()["firefox"].version, (2, 3), 3),
    }


def test_a_real_recording_of_2021_differs_in_what_has_changed_alone(run, shared: Path) -> None:
    """By the matrix only what ORIGIN frames do has changed, of which a HAR has none: so it needs the same."""
    by_rules = needs(run, shared / "data/hars/real/CDP__chromehar__www.vercel.com.san.har")
    assert {name: version for name, (version, *_) in by_rules.items()} == {"recorded": "92.0.4512.0", "today": TODAY}
    assert by_rules["recorded"][1:] == by_rules["today"][1:]
    assert changed_rules()
    for rule in changed_rules():
        assert any(host.origin_set for host in rule_catalogue.scenario(rule).hosts.values()), rule


def test_it_is_said_in_the_text_and_in_the_report(run, tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    done = run("explain", of_2021(tmp_path), "--as-browser", "chromium@88", "--out", report)
    said = " ".join(done.stdout.split())
    for sentence in (
        "The causes follow the rules of Chromium 92.0.4512.0, the nearest observed version",
        f"By the rules of today, of {TODAY}, it needs ",
        "By the rules of Chromium 88.0.4298.0 the page needs ",
    ):
        assert sentence in said
        assert sentence in report.read_text()


@pytest.mark.parametrize(
    ("browser", "taken"),
    [("chromium@88", "88.0.4298.0"), ("chromium@90.0.4430.72", "88.0.4298.0"), ("chromium", TODAY)],
)
def test_the_nearest_older_version_is_asked(browser: str, taken: str) -> None:
    rules = rules_of_browser(None, None, browser)
    assert rules is not None
    assert rules.version == taken


@pytest.mark.parametrize("browser", ["safari@17", "safari", "chromium@", "chromium@new", "", "@88"])
def test_a_browser_without_rules_is_refused(browser: str) -> None:
    with pytest.raises(UsageError, match="no rules of the browser"):
        rules_of_browser(None, None, browser)


def test_the_refusal_is_a_line(run, tmp_path: Path) -> None:
    done = run("explain", of_2021(tmp_path), "--as-browser", "safari@17")
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "originset: error: no rules of the browser safari@17 are known; name one such as chromium@88 or firefox"
    ]
