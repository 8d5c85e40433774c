"""Makes docs/browser-rules.md (``make docs``) from the rules' texts and the stored observations."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping

from originset.crawler.testbed.rules import rule_catalogue, rule_findings
from originset.crawler.testbed.rules.observations import Browser, Cell, Cookies, Observations
from originset.crawler.testbed.rules.outcome_summary import name_in_rule, outcome_summary
from originset.crawler.testbed.rules.versions.version_section import version_section

_SECTIONS = {
    "address": "Addresses",
    "certificate": "Certificates",
    "origin": "ORIGIN frames over HTTP/2",
    "credentials": "Credentials",
    "frame": "Frames within the page",
    "protocol": "Protocols, 421 and redirects",
    "http3": "HTTP/3",
}
_BROWSERS: tuple[Browser, ...] = ("chromium", "firefox")

_HEAD = """\
# When browsers reuse a connection

What {chromium} and {firefox} did, rule by rule, in originset's testbed on {day}: every
cell is {loads} loads, each in a browser context without a past, with a private authority that the browser trusts as it
trusts any other. Everything here is what the servers and the DNS server logged. The browsers were Debian's, headless,
with their own defaults but for third-party cookies. The page is generated: `make rules` observes everything again,
`make docs` writes it.

**How to read it.** A cell says how many connections carried requests of the page, and which names shared one:
*1 (www static)* is one connection for both, *2 (www / static)* one for each. A name that has more than one connection
is followed by what went over each. *h3* and *h1* mark HTTP/3 and HTTP/1.1; without a mark it is HTTP/2. *421* marks
requests that a server refused as misdirected and that went out again elsewhere; *lost* what was never loaded. Several
lines mean that the loads did not all go the same way; each says how many did. *No lookup of static* means that no load
asked DNS for that name. Browsers open more connections than they use; *opened* is how many TLS and QUIC handshakes were
completed, in all loads of both browsers' cells from least to most.

Third-party cookies were allowed, and blocked for every rule with a third party and for {controls} controls; *blocked:*
stands where that made a difference (Chromium's `profile.cookie_controls_mode` 0 and 1, Firefox's
`network.cookie.cookieBehavior` 0 and 1; Firefox used QUIC with the private authority because
`network.http.http3.disable_when_third_party_roots_found` was off). *www* is the page's host unless the rule says
otherwise; *static* and the like are names of the same site, *cdn:static* and the like of another. Each rule's name
leads to its scenario: addresses, certificates, frames and page.
"""


def main() -> None:
    sys.stdout.write("\n".join(lines(rule_catalogue.observations())) + "\n")


def lines(seen: Observations) -> Iterator[str]:
    """The page."""
    cells = {cell.key: cell for cell in seen.cells}
    controls = sum(not rule_catalogue.has_third_party(rule) for rule in rule_catalogue.CORE)
    yield _HEAD.format(
        chromium=f"Chromium {seen.versions.get('chromium')}",
        firefox=f"Firefox {seen.versions.get('firefox')}",
        day=seen.observed_on,
        loads=seen.loads,
        controls=controls,
    )
    yield "## In short\n"
    yield from rule_findings.lines(seen)
    yield ""
    yield from _spread(seen)
    rules = rule_catalogue.rule_names()
    for prefix, title in _SECTIONS.items():
        yield f"## {title}\n"
        yield "| rule | situation | Chromium | Firefox | opened |"
        yield "|---|---|---|---|---|"
        for rule in (rule for rule in rules if rule.partition("-")[0] == prefix):
            texts = [_cell(rule, browser, cells) for browser in _BROWSERS]
            opened = [number for key, cell in cells.items() if key[0] == rule for number in cell.opened]
            span = f"{min(opened)}-{max(opened)}" if opened else ""
            link = f"[{rule}](../crawler/testbed/rules/texts/{rule}.md)"
            yield f"| {link} | {rule_catalogue.scenario(rule).title} | {' | '.join(texts)} | {span} |"
        yield ""
    yield from version_section()


def _spread(seen: Observations) -> Iterator[str]:
    counts = Counter(len({outcome.hosts for outcome in cell.outcomes}) for cell in seen.cells)
    split = sum(count for ways, count in counts.items() if ways > 1)
    undecided = [cell for cell in seen.cells if 2 * len(cell.majority.loads) <= seen.loads]
    yield (
        f"{len(rule_catalogue.rule_names())} rules, {len(seen.cells)} cells. In {len(seen.cells) - split} cells "
        f"all loads went the same way, in {split} they did not; in {len(undecided)} no way had a majority.\n"
    )


def _cell(rule: str, browser: Browser, cells: Mapping[tuple[str, Browser, Cookies], Cell]) -> str:
    allowed, blocked = cells.get((rule, browser, "allowed")), cells.get((rule, browser, "blocked"))
    if allowed is None:
        return "not observed"
    text = _outcomes_text(allowed)
    if blocked is not None and (other := _outcomes_text(blocked)) != text:
        text += f"<br>blocked: {other}"
    return text


def _outcomes_text(cell: Cell) -> str:
    shown: dict[str, int] = {}
    for outcome in cell.outcomes:
        text = outcome_summary(cell.rule, outcome.connections, outcome.missing)
        shown[text] = shown.get(text, 0) + len(outcome.loads)
    total = sum(shown.values())
    ways = sorted(shown.items(), key=lambda way: -way[1])
    text = "<br>".join(way if count == total else f"{count} of {total}: {way}" for way, count in ways)
    asked = {name for name, types in cell.lookups.items() if any(map(any, types.values()))}
    wanted = {one.host for one in rule_catalogue.page(cell.rule).walk() if one.host}
    unasked = wanted.difference(asked)
    return text + "".join(f"; no lookup of {name_in_rule(cell.rule, name)}" for name in sorted(unasked))


if __name__ == "__main__":
    main()
