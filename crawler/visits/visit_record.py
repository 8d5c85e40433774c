"""What a visit was asked for and what it came to, whichever browser made it: the record that a capture begins with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from originset.crawler.browsers.memory_limit import MemoryLimit
from originset.crawler.failures import ErrorKind
from originset.crawler.settings import VisitSettings
from originset.crawler.visits.har import rfc3339
from originset.crawler.visits.page_facts import PageFacts, is_challenge
from originset.crawler.visits.page_log import Exchange, PageLog
from originset.crawler.visits.recorded_page import RecordedPage
from originset.data.captures.capture import Visit
from originset.data.sanitising.url_redaction import redact_url


@dataclass(frozen=True, slots=True)
class VisitRequest:
    """What to visit, and what the capture says about why. ``url`` is what the browser is told to open.

    ``follow`` chooses among the links of the page, given the address that it landed on, those to be visited too.
    """

    visit_id: str
    site: str
    url: str
    rank: int | None = None
    vantage: str = "default"
    vantage_ip: str | None = None
    round_number: int = 1
    repeat: int = 1
    page_kind: str = "landing"
    profile: str | None = None
    quality: tuple[str, ...] = ()
    follow: Callable[[str, list[str]], list[str]] = lambda _landed, _links: []


@dataclass(slots=True)
class VisitOutcome:
    """How loading went. ``facts`` is what the page showed, None if that is not known; ``silent``: it did not answer."""

    status: str = "ok"
    error: ErrorKind | None = None
    code: str | None = None
    facts: PageFacts | None = None
    silent: bool = False
    accepted: bool = False

    def fail(self, kind: ErrorKind, code: str | None = None) -> None:
        self.status, self.error, self.code = "failed", kind, code

    def lose(self, memory: MemoryLimit, *, killed: bool, oversized: bool, problem: str) -> None:
        """The browser was lost: it was ``killed``, perhaps because it took too much ``memory``, or went by itself.

        Or it is given up, as what it sent is ``oversized``.
        """
        if memory.exceeded:
            self.fail("memory", f"more than {memory.most >> 20} MB")
        elif oversized:
            self.fail("oversized", problem)
        else:
            self.fail("hang" if killed else "crash", problem)

    def judge(self, page: PageLog, *, in_flight: bool, timeout_code: str | None) -> None:
        """Of a page whose loading ended, or whose time did: what that comes to."""
        documents = page.main_exchanges()
        response = documents[-1].response if documents else None
        if response is None:
            # What a page without a document shows is our own blank one.
            self.facts = None
            self.fail("timeout", timeout_code)
        elif response.status in {204, 205}:
            self.fail("empty")
        elif self.silent:
            self.status, self.error = "partial", "hang"
        elif is_challenge(response.status, response.headers, self.facts):
            self.fail("challenge", f"HTTP {response.status}")
        elif response.status >= 400:
            self.fail("http", f"HTTP {response.status}")
        elif page.budget.exceeded:
            self.status, self.error = "partial", "oversized"
        elif page.loaded is None or in_flight:
            self.status, self.error = "partial", "timeout"


def main_failure(page: PageLog) -> str | None:
    """The browser's error code for the page's document; None if it has none."""
    documents = page.main_exchanges()
    return documents[-1].error if documents else None


def visit_record(
    request: VisitRequest,
    page: PageLog,
    outcome: VisitOutcome,
    settings: VisitSettings,
    recorded: RecordedPage,
    *,
    started: float,
    browser: str,
    browser_version: str,
    ip_families: str | None,
    quality: Sequence[str] = (),
) -> Visit:
    """The visit as its capture and ``visits`` have it.

    ``started``: the Unix time in seconds of a visit that sent no request. ``quality``: what limits this recording
    besides what the request says.
    """
    documents, facts = page.main_exchanges(), outcome.facts
    return Visit(
        visit_id=request.visit_id,
        site=request.site,
        url=redact_url(request.url),
        started_at=rfc3339(started if recorded.started_at is None else recorded.started_at),
        status=outcome.status,
        rank=request.rank,
        final_url=redact_url(documents[-1].sent.request.url) if documents else None,
        error=outcome.error,
        error_code=outcome.code,
        vantage=request.vantage,
        vantage_ip=request.vantage_ip,
        round=request.round_number,
        repeat=request.repeat,
        page_kind=request.page_kind,
        client=settings.device,
        profile=request.profile,
        browser=browser,
        browser_version=browser_version,
        third_party_cookies=settings.third_party_cookies,
        ip_families=ip_families,
        consent_banner=_consent_banner(outcome),
        challenge=None if facts is None else outcome.error == "challenge",
        user_agent=_user_agent(documents),
        viewport=None if facts is None else facts.viewport,
        quality=[*request.quality, *quality],
        load_ms=_not_negative(recorded.load_ms),
        dom_content_loaded_ms=_not_negative(recorded.dom_content_loaded_ms),
    )


def links_to_follow(request: VisitRequest, page: PageLog, facts: PageFacts | None) -> list[str]:
    """Those of the page's links that are to be visited too."""
    documents = page.main_exchanges()
    return request.follow(documents[-1].sent.request.url, facts.links) if documents and facts is not None else []


def _consent_banner(outcome: VisitOutcome) -> str:
    if outcome.facts is None:
        return "unknown"
    return "accepted" if outcome.accepted else "seen" if outcome.facts.banner else "none"


def _user_agent(documents: list[Exchange]) -> str | None:
    headers = documents[-1].sent.request.headers if documents else {}
    return next((value for name, value in headers.items() if name.lower() == "user-agent"), None)


def _not_negative(milliseconds: float | None) -> float | None:
    """None too where the page had loaded before its first request, as a blank one has."""
    return milliseconds if milliseconds is not None and milliseconds >= 0 else None
