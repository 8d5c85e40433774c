"""Both browsers visit real servers: a verdict of the linter is what became of the page's request for another host."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from healthy_testbed import healthy_testbed
from lab_changes import CHANGES, Change
from lab_lint import lab_folder, linted

from originset.crawler.settings import VisitSettings
from originset.crawler.testbed import scenario_file
from originset.crawler.testbed.server_lab.lab_servers import running
from originset.crawler.testbed.server_lab.situation_observation import prepare_folder
from originset.crawler.testbed.server_lab.situation_text import ADDRESS, DOMAIN, HOSTS, OTHER_ADDRESS, situations
from originset.crawler.visits.visit_browsers import browser_for, visit
from originset.crawler.visits.visit_record import VisitRequest
from originset.data.captures.capture import Extension
from originset.data.errors import MissingDependency
from originset.data.http_status import MISDIRECTED_REQUEST
from originset.data.studies.identity import crawl_visit_id

pytestmark = [pytest.mark.browser, pytest.mark.testbed, pytest.mark.alone, pytest.mark.soak]

WWW, STATIC = f"www.{DOMAIN}", f"static.{DOMAIN}"
PAGE = f"<!doctype html><title>www</title><iframe src=https://{STATIC}/a></iframe>"
# What makes the situation's own answer for www a page that loads something of static.
PAGES = {
    "nginx": ("return 200 www;", f"default_type text/html; return 200 '{PAGE}';"),
    "haproxy": ("text/plain string www", f'text/html string "{PAGE}"'),
}
FULL = os.environ.get("ORIGINSET_SOAK") == "full"
SAMPLE = ("haproxy-by-server-name", "nginx-misdirected")
# One of the two hosts is not there, or a 421 becomes another answer.
UNLIKE = (
    "nginx-two-addresses", "nginx-default-refuses", "nginx-wildcard-and-exact", "nginx-misdirected-error-page",
    "haproxy-own-address",
)  # fmt: skip
SITUATIONS = {one.name: one for one in situations() if one.server in PAGES and one.name not in UNLIKE}
CHANGED = [one for one in CHANGES if one.situation == "haproxy-by-server-name"]
SENT = {"safe", "421", "wrong site", "client certificate bypassed"}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory):
    hosts = {f"{host}.{DOMAIN}": {"addresses": [ADDRESS], "certificate": "all", "external": True} for host in HOSTS}
    hosts[f"unused.{DOMAIN}"] = {"addresses": [OTHER_ADDRESS], "certificate": "all", "external": True}
    tables = {"title": "The lab", "certificate": {"all": {"names": list(hosts)}}, "host": hosts, "site": {WWW: {}}}
    with healthy_testbed(scenario_file.from_tables(tables), tmp_path_factory.mktemp("testbed")) as running_testbed:
        yield running_testbed


@pytest.fixture(scope="module", params=["chromium", "firefox"])
def browser(lab, request) -> Iterator:
    settings = VisitSettings(browser=request.param, environment=lab.environment)
    with browser_for(settings) as started:
        yield started


def visited(browser: Any, name: str) -> tuple[list[tuple[int, str]], Extension]:
    """Status and media type of each answer for ``static`` but those of 421.

    After a 421 a browser asks again on a connection of its own. In some visits Firefox tells of the 421 alone, so that
    a visit in which it tells of nothing else is made again, three times at most.
    """
    for number in range(1, 5):
        har, extension = visit(
            browser, VisitRequest(crawl_visit_id(name, "lab", number, "", 1), WWW, f"https://{WWW}/")
        )
        answers = [one["response"] for one in har["entries"] if urlsplit(one["request"]["url"]).hostname == STATIC]
        seen = [(one["status"], one["content"]["mimeType"].partition(";")[0]) for one in answers]
        others = [one for one in seen if one[0] != MISDIRECTED_REQUEST]
        if others or not seen:
            break
    return others, extension


@pytest.mark.parametrize("name", SITUATIONS if FULL else SAMPLE)
def test_a_browser_does_what_the_verdict_says(name: str, lab, browser, tmp_path) -> None:
    situation = SITUATIONS[name]
    _, verdicts = linted(situation.server, situation.configuration, lab_folder(tmp_path / "linted"))
    (found,) = [one for one in verdicts if (one.opened_for, one.requested) == (WWW, STATIC)]
    folder = tmp_path / "server"
    folder.mkdir()
    prepare_folder(folder, lab.authority)
    try:
        with running(situation.server, situation.configuration.replace(*PAGES[situation.server]), folder, [ADDRESS]):
            seen, extension = visited(browser, name)
    except MissingDependency as missing:
        if os.environ.get("ORIGINSET_REQUIRE_TESTBED"):
            raise
        pytest.skip(str(missing))
    if found.verdict == "wrong site":
        assert set(seen) == {(200, "text/html")}  # the page has a frame with itself, too
    elif found.verdict == "client certificate bypassed" or situation.answers["static"]["static"] == "200 static":
        assert seen == [(200, "text/plain")]
    else:
        assert (200, "text/plain") not in seen
    if browser.settings.browser == "chromium":
        joined = {host for one in extension.connections if one.first_host == WWW for host in one.pooled_by_ip}
        assert (STATIC in joined) == (found.verdict in SENT)


@pytest.mark.parametrize("one", CHANGED if FULL else CHANGED[:1], ids=str)
def test_a_browser_gets_the_right_site_after_a_proposed_change(one: Change, lab, browser, tmp_path) -> None:
    prepare_folder(tmp_path, lab.authority)
    text = one.applied(SITUATIONS[one.situation].configuration).replace(*PAGES["haproxy"])
    with running("haproxy", text, tmp_path, [ADDRESS]):
        seen, _ = visited(browser, str(one))
    assert seen[-1] == (200, "text/plain")
