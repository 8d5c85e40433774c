"""What a loaded page shows: a consent banner, a bot challenge instead of itself, its links, its size.

Banners and challenges are told by what the products' own documentation and pages name: elements, titles, header fields.
What is not on the lists is not seen, so "none" means none of the known ones.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import msgspec

from originset.crawler.browsers.devtools import DevTools, without_lone_surrogates
from originset.crawler.visits.consent import PLATFORMS

_TIMEOUT_S = 5.0
_MOST_LINKS = 5_000
_LONGEST_LINK = 4_096

# What stands in place of a page; a challenge in a corner of a page, such as that of a form, is none of these.
_CHALLENGES = (
    "#challenge-error-text, #challenge-running, form#challenge-form",  # Cloudflare
    "script[src*='/cdn-cgi/challenge-platform/'][src*='/orchestrate/']",  # Cloudflare
    "iframe[src*='captcha-delivery.com/']",  # DataDome
    "#px-captcha",  # HUMAN (PerimeterX)
    "iframe[src*='_Incapsula_Resource']",  # Imperva
    "#sec-if-cpt-container, #sec-text-if",  # Akamai
    "body > #challenge-container[data-awswaf], script[src*='.token.awswaf.com/'] ~ #challenge-container",  # AWS WAF
    "form#captcha-form[action='index']",  # Google's "unusual traffic"
)
_CHALLENGE_TITLES = ("Just a moment...", "DDoS-Guard")
# RFC 9110 section 5.1: names are compared without case. Values: Cloudflare's and AWS WAF's documentation.
_CHALLENGE_FIELDS = {"cf-mitigated": ("challenge",), "x-amzn-waf-action": ("challenge", "captcha")}

_SCRIPT = """\
((BANNERS, CHALLENGES, MOST, LONGEST) => {
  const drawn = (one) => one.getClientRects().length > 0 && getComputedStyle(one).visibility !== "hidden";
  const any = (lists, wanted) => lists.some((list) => [...document.querySelectorAll(list)].some(wanted));
  const follow = (link) => !link.hasAttribute("download") && /^https?:/.test(link.href) && link.href.length <= LONGEST;
  return JSON.stringify({
    banner: any(BANNERS, drawn),
    challenge: any(CHALLENGES, () => true),
    title: document.title.slice(0, 200),
    viewport: `${innerWidth}x${innerHeight}`,
    links: [...document.links].filter(follow).slice(0, MOST).map((link) => link.href.split("#")[0]),
  });
})"""
_BOUNDS = f"{_MOST_LINKS}, {_LONGEST_LINK}"
PAGE_FACTS_EXPRESSION = (
    f"{_SCRIPT}({json.dumps([banner for banner, _ in PLATFORMS])}, {json.dumps(_CHALLENGES)}, {_BOUNDS})"
)


class PageFacts(msgspec.Struct):
    """What a page's own document says. ``links``: absolute, http or https, without fragments, in the page's order."""

    banner: bool
    challenge: bool
    title: str
    viewport: str
    links: list[str]


_decoder = msgspec.json.Decoder(PageFacts)


def read_page_facts(devtools: DevTools, session: str, frame: str) -> PageFacts | None:
    """Look at the page of ``frame`` as it is now; None if its document cannot be looked at.

    It is looked at from a world of our own, so the page notices nothing and changes nothing of what is seen.

    Raises:
        DevToolsSilent: the page does not answer: a script of its does not end.
        DevToolsError: the page is going away.
        DevToolsLost: the browser is gone.
    """
    world = devtools.call("Page.createIsolatedWorld", session, _TIMEOUT_S, frameId=frame)["executionContextId"]
    answer = devtools.call("Runtime.evaluate", session, _TIMEOUT_S, expression=PAGE_FACTS_EXPRESSION, contextId=world)
    text = answer["result"].get("value")
    return None if text is None else decode_page_facts(text)


def decode_page_facts(text: str) -> PageFacts:
    """What a page answered to ``PAGE_FACTS_EXPRESSION``. The end of a title may be half a character."""
    return _decoder.decode(without_lone_surrogates(text.encode()))


def is_challenge(status: int, headers: Mapping[str, str], facts: PageFacts | None) -> bool:
    """Whether a document is a bot challenge in place of the page."""
    given = {name.lower(): value.lower() for name, value in headers.items()}
    if any(given.get(name) in values for name, values in _CHALLENGE_FIELDS.items()):
        return True
    if facts is None:
        return False
    # Titles are anybody's; challenges come with a status that says that this is not the page.
    return facts.challenge or (facts.title in _CHALLENGE_TITLES and status >= 400)
