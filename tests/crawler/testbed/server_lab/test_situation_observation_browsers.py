"""Both browsers visit real servers: a verdict of the linter is what became of a page's request for another host."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from lab_changes import CHANGES, Change
from lab_lint import READERS, lab_folder, linted, linted_text, require_servers
from lab_visits import Seen, lab_testbed, visited

from originset.crawler.settings import VisitSettings
from originset.crawler.testbed.server_lab.situation_observation import running_situation
from originset.crawler.testbed.server_lab.situation_text import ADDRESS, DOMAIN, OTHER_ADDRESS, Situation, situations
from originset.crawler.visits.visit_browsers import Browser, browser_for
from originset.data.http_status import MISDIRECTED_REQUEST
from originset.models.servers.shared_connections import Verdict

pytestmark = [pytest.mark.browser, pytest.mark.testbed, pytest.mark.alone, pytest.mark.soak]

FULL = os.environ.get("ORIGINSET_SOAK") == "full"
SAMPLE = (
    "apache-one-certificate", "haproxy-by-server-name", "haproxy-varnish", "nghttpx-by-server-name",
    "nginx-misdirected",
)  # fmt: skip
CHANGED = [one for one in CHANGES if str(one) == "haproxy-by-server-name-421"]
PAIRS = (("www", "static"), ("static", "www"), ("www", "other")) if FULL else (("www", "static"),)


def is_installed(situation: Situation) -> bool:
    """Whether its servers are there; an error where all are to be."""
    try:
        require_servers(situation)
    except pytest.skip.Exception:
        return False
    return True


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory, request):
    """The testbed, and the address of static."""
    with lab_testbed(tmp_path_factory.mktemp("testbed"), request.param) as testbed:
        yield testbed, request.param


@pytest.fixture(scope="module", params=["chromium", "firefox"])
def browser(lab, request) -> Iterator[Browser]:
    with browser_for(VisitSettings(browser=request.param, environment=lab[0].environment)) as started:
        yield started


def happened(verdict: Verdict, seen: Seen, situation: Situation, then: str) -> bool:
    """Whether a verdict is what the browser saw."""
    own = situation.answers[then][then]
    last = seen.statuses[-1] if seen.statuses else 0
    is_own = own == (f"{last} {seen.site}" if seen.site else str(last) if last > 0 else "none")
    return {
        "separate": not seen.is_shared,
        "safe": is_own,
        # Chromium does not tell of a 421, after which a handshake without the client certificate may fail.
        "421": MISDIRECTED_REQUEST in seen.statuses or (is_own and (own == "none" or not seen.is_shared)),
        "wrong site": seen.site not in (None, then),
        "404": 404 in seen.statuses,
        "refused": seen.site is None,
        "client certificate bypassed": seen.site == then,
        "unknown": True,
    }[verdict]


@pytest.mark.parametrize("lab", [ADDRESS, OTHER_ADDRESS] if FULL else [ADDRESS], indirect=True)
@pytest.mark.timeout(7_200 if FULL else 300)
def test_browsers_do_what_verdicts_say(lab, browser, tmp_path) -> None:
    testbed, of_static = lab
    decided, wrong = 0, []
    linted_here = [one for one in situations() if linted_text(one)[0] in READERS and (FULL or one.name in SAMPLE)]
    found = [one for one in linted_here if one.address_of("static") == of_static and is_installed(one)]
    for situation in found:
        _, verdicts = linted(*linted_text(situation), lab_folder(tmp_path / situation.name / "linted"))
        of_pair = {(one.opened_for, one.requested): one.verdict for one in verdicts}
        with running_situation(situation, tmp_path / situation.name / "server", testbed.authority):
            for first, then in PAIRS:
                verdict = of_pair.get((f"{first}.{DOMAIN}", f"{then}.{DOMAIN}"))
                seen = visited(browser, situation.name, first, then) if verdict else None
                if verdict is None or seen is None:
                    continue
                decided += verdict != "unknown"
                if not happened(verdict, seen, situation, then):
                    wrong.append((situation.name, first, then, verdict, seen))
    assert decided or not found
    assert [one for one in wrong if one[3] in ("safe", "separate")] == []
    assert len(wrong) <= 0.05 * decided, wrong


@pytest.mark.parametrize("lab", [ADDRESS], indirect=True)
@pytest.mark.parametrize("one", CHANGES if FULL else CHANGED, ids=str)
def test_a_browser_gets_the_right_site_after_a_proposed_change(one: Change, lab, browser, tmp_path) -> None:
    situation = one.applied({each.name: each for each in situations()}[one.situation])
    require_servers(situation)
    with running_situation(situation, tmp_path / "server", lab[0].authority):
        seen = visited(browser, str(one), "www", "static")
    own = situation.answers["static"]["static"]
    assert seen is not None
    assert seen.site == ("static" if own == "200 static" else None), seen
