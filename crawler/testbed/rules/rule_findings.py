"""What the observations come to, in sentences; each stands on rules, and is withdrawn where they no longer say so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from originset.crawler.testbed.rules.observations import Browser, Cookies, Observations

Column = Literal["chromium", "chromium, cookies blocked", "firefox"]
_COLUMNS: dict[Column, tuple[Browser, Cookies]] = {
    "chromium": ("chromium", "allowed"),
    "chromium, cookies blocked": ("chromium", "blocked"),
    "firefox": ("firefox", "allowed"),
}


@dataclass(frozen=True)
class RuleFinding:
    """``shown_by``: rule, column, and how many connections carried requests in most loads."""

    sentence: str
    shown_by: tuple[tuple[str, Column, int], ...]


FINDINGS = (
    RuleFinding(
        "Both browsers carry a second name over a connection whose address is among the second name's own, wherever it "
        "stands there, if the connection's certificate covers the name. That the two names' addresses overlap is not "
        "enough.",
        (
            ("address-same", "chromium", 1),
            ("address-same", "firefox", 1),
            ("address-overlap-connected", "chromium", 1),
            ("address-overlap-connected", "firefox", 1),
            ("address-overlap-unconnected", "chromium", 2),
            ("address-overlap-unconnected", "firefox", 2),
            ("certificate-missing", "chromium", 2),
            ("certificate-missing", "firefox", 2),
        ),
    ),
    RuleFinding(
        "What counts is the certificate of the connection that is there: the second name's own may be another one, or "
        "have expired.",
        (
            ("certificate-of-first-covers", "chromium", 1),
            ("certificate-of-first-covers", "firefox", 1),
            ("certificate-expired-second", "chromium", 1),
            ("certificate-expired-second", "firefox", 1),
            ("certificate-of-second-covers", "chromium", 2),
            ("certificate-of-second-covers", "firefox", 2),
        ),
    ),
    RuleFinding(
        "A first name that has IPv6 beside a second that has not needs a second connection, though both have the same "
        "IPv4 address.",
        (
            ("address-v6-first-only", "chromium", 2),
            ("address-v6-both", "chromium", 1),
            ("address-v6-both", "firefox", 1),
        ),
    ),
    RuleFinding(
        "Where a name's only address is also one of an earlier name, whose connection leads elsewhere and may carry it "
        "by its certificate, Firefox may ask for several things of it at once over a connection each, Chromium not.",
        (
            ("address-subset-unconnected", "chromium", 2),
            ("address-subset-unconnected", "firefox", 7),
            ("address-subset-certificate-missing", "firefox", 2),
        ),
    ),
    RuleFinding(
        "Chromium does none of this across sites while third-party cookies are blocked; Firefox does.",
        (
            ("address-same-cross-site", "chromium", 1),
            ("address-same-cross-site", "chromium, cookies blocked", 2),
            ("address-same-cross-site", "firefox", 1),
        ),
    ),
    RuleFinding(
        "Over HTTP/2 Firefox takes an ORIGIN frame as a permission, at any address, even for a name that DNS denies; "
        "it still asks DNS. It takes it as a restriction, too: a frame that leaves a name out, or has no entries, ends "
        "the sharing that the address would allow.",
        (
            ("origin-complete", "firefox", 1),
            ("origin-unknown", "firefox", 1),
            ("origin-own-only-same-address", "firefox", 2),
            ("origin-empty-same-address", "firefox", 2),
            ("origin-incomplete-same-address", "firefox", 2),
        ),
    ),
    RuleFinding(
        "The set need not name the host that sends it. A later frame adds to it. Entries that are no origins harm "
        "nothing; capitals, :443 and a slash at the end pass; a wildcard, another port or http do not.",
        (
            ("origin-without-own", "firefox", 1),
            ("origin-two-frames", "firefox", 1),
            ("origin-garbage", "firefox", 1),
            ("origin-upper-case", "firefox", 1),
            ("origin-explicit-port", "firefox", 1),
            ("origin-path", "firefox", 1),
            ("origin-wildcard", "firefox", 2),
            ("origin-wrong-port", "firefox", 2),
            ("origin-wrong-scheme", "firefox", 2),
        ),
    ),
    RuleFinding(
        "Over HTTP/2 Chromium pays ORIGIN frames no heed, as permission or as restriction.",
        (("origin-complete", "chromium", 2), ("origin-own-only-same-address", "chromium", 1)),
    ),
    RuleFinding(
        "Over HTTP/3 Chromium takes an ORIGIN frame as a permission, without asking DNS, within the same site or with "
        "third-party cookies allowed; an HTTPS record on the first name is enough. It does not take it as a "
        "restriction.",
        (
            ("http3-different", "chromium", 2),
            ("http3-origin-complete", "chromium", 1),
            ("http3-origin-complete-cross-site", "chromium", 1),
            ("http3-origin-complete-cross-site", "chromium, cookies blocked", 2),
            ("http3-origin-unknown", "chromium", 1),
            ("http3-record-first-only", "chromium", 1),
            ("http3-origin-own-only", "chromium", 2),
            ("http3-origin-own-only-same-address", "chromium", 1),
            ("http3-origin-empty-same-address", "chromium", 1),
        ),
    ),
    RuleFinding(
        "There, too, the set need not name its own host, a later frame adds to it, entries that are no origins harm "
        "nothing, capitals pass, a wildcard or another port do not; nor does a slash at the end.",
        (
            ("http3-origin-without-own", "chromium", 1),
            ("http3-origin-two-frames", "chromium", 1),
            ("http3-origin-garbage", "chromium", 1),
            ("http3-origin-upper-case", "chromium", 1),
            ("http3-origin-wildcard", "chromium", 2),
            ("http3-origin-wrong-port", "chromium", 2),
            ("http3-origin-path", "chromium", 2),
        ),
    ),
    RuleFinding(
        "Over HTTP/3 Firefox pays ORIGIN frames no heed; it shares connections there by address, as over HTTP/2.",
        (
            ("http3-origin-complete", "firefox", 2),
            ("http3-origin-own-only-same-address", "firefox", 1),
            ("http3-same-address", "firefox", 1),
        ),
    ),
    RuleFinding(
        "A frame that comes late counts from then on: it admits names that were not asked for before, and Firefox, "
        "over HTTP/2, asks no more over that connection for names that it leaves out, even those that it carried.",
        (
            ("origin-late", "firefox", 2),
            ("origin-late-carried", "firefox", 2),
            ("origin-late-own-only", "firefox", 2),
            ("http3-origin-late", "chromium", 2),
        ),
    ),
    RuleFinding(
        "No frame replaces the certificate.",
        (("origin-certificate-missing", "firefox", 2), ("http3-origin-certificate-missing", "chromium", 2)),
    ),
    RuleFinding(
        "In both browsers requests without credentials (crossorigin, fonts of another name, fetch that omits them) do "
        "not join a connection that another name has for those with them, ORIGIN frame or not.",
        (
            ("credentials-crossorigin", "chromium", 2),
            ("credentials-crossorigin", "firefox", 2),
            ("credentials-font", "chromium", 2),
            ("credentials-font", "firefox", 2),
            ("credentials-fetch-omit", "chromium", 2),
            ("credentials-fetch-omit", "firefox", 2),
            ("origin-anonymous", "firefox", 2),
            ("http3-origin-anonymous", "chromium", 2),
        ),
    ),
    RuleFinding(
        "In Chromium they have connections of their own for the same name, too. In Firefox either kind uses the "
        "connection that its name has for the other, certainly once that has carried more than one request.",
        (
            ("credentials-anonymous-first", "chromium", 3),
            ("credentials-anonymous-first", "firefox", 2),
            ("credentials-fetch-omit-own", "chromium", 2),
            ("credentials-fetch-omit-own", "firefox", 1),
        ),
    ),
    RuleFinding(
        "An iframe of another site has connections of its own in Chromium, whatever the cookies; not in Firefox.",
        (("frame-cross-site", "chromium", 2), ("frame-cross-site", "firefox", 1)),
    ),
    RuleFinding(
        "Over HTTP/3 Chromium lets an ORIGIN frame take in names whose own servers speak HTTP/2 or HTTP/1.1 alone.",
        (
            ("http3-origin-first-only", "chromium", 1),
            ("http3-origin-http1-second", "chromium", 1),
            ("http3-first-only", "chromium", 2),
        ),
    ),
    RuleFinding(
        "A name whose own server speaks HTTP/1.1 alone is asked over HTTP/2 if a connection may carry it.",
        (("protocol-http1-second", "chromium", 1), ("protocol-http1-second", "firefox", 1)),
    ),
    RuleFinding(
        "A 421 sends Chromium's requests together over one more connection.",
        (("protocol-misdirected", "chromium", 2), ("http3-origin-misdirected", "chromium", 2)),
    ),
)


def is_shown(finding: RuleFinding, seen: Observations) -> bool:
    """Whether every rule that shows it still does."""
    for rule, column, used in finding.shown_by:
        cell = seen.cell(rule, *_COLUMNS[column])
        if cell is None or len(cell.majority.connections) != used:
            return False
    return True


def lines(seen: Observations) -> Iterator[str]:
    """The findings as a list in Markdown."""
    for finding in FINDINGS:
        rules = ", ".join(dict.fromkeys(rule for rule, _, _ in finding.shown_by))
        if is_shown(finding, seen):
            yield f"- {finding.sentence} <sub>{rules}</sub>"
        else:
            yield f"- *No longer so with these versions:* {finding.sentence} <sub>{rules}</sub>"
