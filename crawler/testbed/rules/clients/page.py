"""Makes docs/http-clients.md (``make docs``) from the stored observations of clients and browsers."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence

from originset.crawler.testbed.rules import rule_catalogue
from originset.crawler.testbed.rules.clients.client_observations import (
    ClientObservations,
    client_rules,
    stored_observations,
)
from originset.crawler.testbed.rules.observations import Browser
from originset.crawler.testbed.rules.outcome_summary import outcome_summary

_HEAD = """\
# Which HTTP clients reuse a connection for another host

Browsers do ([browser-rules.md](browser-rules.md)). This page says it of HTTP clients that are no browsers, and of one
browser more, in the same testbed, by the same rules, as the servers logged it: each fetched the URLs of a rule's page
one after the other, in a new process, {loads} times a rule. Rules about credentials, frames, redirects, late requests
and HTTP/3 are left out: they need a page. `make clients` observes again those whose programs are on PATH; `make docs`
writes this page. A client's program and how it is installed stand in
[clients.toml](../crawler/testbed/rules/clients/clients.toml); [CONTRIBUTING.md](../CONTRIBUTING.md) says how to add
one. Each was asked with its defaults, one client object in one thread: a program that sets more, or has several
clients, can differ.

Libraries of HTTP/3 such as aioquic and ngtcp2 have no pool of connections: who uses them decides.
"""

# What a rule asks, by the rule: a client does it where it used one connection there.
_QUESTIONS = {
    "one address, one certificate": "address-same",
    "listed in an ORIGIN frame, other address": "origin-complete",
    "left out of the ORIGIN frame, one address": "origin-own-only-same-address",
}
_MISDIRECTED = "protocol-misdirected"
_BROWSERS: tuple[Browser, ...] = ("chromium", "firefox")

Outcomes = Mapping[str, Mapping[str, int]]


def main() -> None:
    sys.stdout.write("\n".join(lines(stored_observations(), client_rules())) + "\n")


def lines(observed: Sequence[ClientObservations], rules: Sequence[str]) -> Iterator[str]:
    """The page."""
    loads = sorted({one.loads for one in observed})
    yield _HEAD.format(loads=" or ".join(map(str, loads)))
    columns = {f"{one.client} {one.version}": one.outcomes for one in observed} | _browsers(rules)
    yield "## In short\n"
    yield "How many connections two names need. One: the client shares the connection of the first name.\n"
    yield f"| client | observed on | {' | '.join(_QUESTIONS)} | asks again after 421 |"
    yield "|---" * (len(_QUESTIONS) + 3) + "|"
    days = {f"{one.client} {one.version}": one.observed_on for one in observed}
    for title, outcomes in columns.items():
        counts = [_counts(outcomes.get(rule, {})) for rule in _QUESTIONS.values()]
        day = days.get(title, rule_catalogue.observations().observed_on)
        yield f"| {title} | {day} | {' | '.join(counts)} | {_asks_again(outcomes.get(_MISDIRECTED, {}))} |"
    yield ""
    for title, outcomes in columns.items():
        if _loses_announcing_connections(outcomes):
            yield (
                f"**{title} loses what it asks for over a connection on which an ORIGIN frame comes.** RFC 9113 "
                "(section 5.5) says that a frame of a type that is not known is ignored. Who announces an ORIGIN set "
                "to clients like that breaks them.\n"
            )
    yield "## Rule by rule\n"
    yield (
        "Which names shared a connection, as [browser-rules.md](browser-rules.md) writes it. Clients that went the "
        "same way stand together.\n"
    )
    for rule in rules:
        yield f"### {rule}\n"
        yield f"{rule_catalogue.scenario(rule).title} ([scenario](../crawler/testbed/rules/texts/{rule}.md)).\n"
        yield from _ways(rule, columns)
        yield ""


def _browsers(rules: Sequence[str]) -> dict[str, Outcomes]:
    """What the installed browsers did with third-party cookies allowed, as clients are kept."""
    seen = rule_catalogue.observations()
    return {
        f"{browser.capitalize()} {seen.versions[browser]}": {
            rule: {
                outcome_summary(rule, outcome.connections, outcome.missing): len(outcome.loads)
                for outcome in cell.outcomes
            }
            for rule in rules
            if (cell := seen.cell(rule, browser, "allowed")) is not None
        }
        for browser in _BROWSERS
    }


def _counts(ways: Mapping[str, int]) -> str:
    """The numbers of connections, with what was lost."""
    counts = {way.partition(" (")[0] + way.rpartition(")")[2] for way in ways}
    return " or ".join(sorted(counts)) or "not observed"


def _loses_announcing_connections(outcomes: Outcomes) -> bool:
    """Whether what a client asks for is lost where the server sends an ORIGIN frame, and not where it sends none."""
    with_frame, without = (outcomes.get(rule, {}) for rule in ("origin-complete", "address-different"))
    return bool(with_frame) and all("lost" in way for way in with_frame) and not any("lost" in way for way in without)


def _asks_again(ways: Mapping[str, int]) -> str:
    """Whether requests were refused as misdirected at all, and if so, whether they were asked again elsewhere."""
    if not ways:
        return "not observed"
    refused = [way for way in ways if "421" in way]
    if not refused:
        return "was never refused"
    return "no" if any("lost" in way or " / " not in way for way in refused) else "yes"


def _ways(rule: str, columns: Mapping[str, Outcomes]) -> Iterator[str]:
    titles: dict[str, list[str]] = {}
    for title, outcomes in columns.items():
        ways = outcomes.get(rule, {})
        total = sum(ways.values())
        text = " or ".join(way if count == total else f"{way} in {count} of {total}" for way, count in ways.items())
        titles.setdefault(text or "not observed", []).append(title)
    for text, those in titles.items():
        yield f"- {text}: {', '.join(those)}"


if __name__ == "__main__":
    main()
