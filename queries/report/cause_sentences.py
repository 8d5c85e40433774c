"""Sentences on redundant connections: why each was opened, and who can change that."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

from originset.data.quantity import quantity
from originset.queries.report.printable_text import printable_excerpt

_WHO = {
    "site": "the site's owner",
    "host_owner": "the owners of other hosts",
    "cdn": "a CDN",
    "browser": "the browser's makers",
    "nobody": "nobody",
}

_WHY = {
    "H1": "{host} answered over HTTP/1.1, which serves one request at a time.",
    "REUSABLE_H1": "{held} answered over HTTP/1.1, which serves one request at a time.",
    "PROTO_MIX": "One connection speaks HTTP/3 and the other HTTP/2; requests do not move between them.",
    "CRED": "One was opened with credentials and the other without; browsers keep these apart.",
    "CREDENTIALS": "One carried requests to {host} with credentials, the other without; browsers keep these apart.",
    "THIRD_PARTY_COOKIES": "With third-party cookies blocked, Chromium keeps credentials apart between sites.",
    "PARTITION": "The requests came from frames of different sites, whose connections browsers keep apart.",
    "PORT_SCHEME": "{host} is on another port than {held}.",
    "IP": "{held}'s certificate covers {host}, but {host} was looked up at another address.",
    "CERT": "{held} is at the same address, but its certificate does not cover {host}.",
    "CERT+IP": "{held} is on the same network, but neither its certificate nor its address is {host}'s.",
    "ORIGIN_EXCLUDED": "{held} sent an ORIGIN frame without {host}, so its connection may not be used for {host}.",
    "ORIGIN_UNSUPPORTED": "{held} announced {host} in an ORIGIN frame, which this browser ignores on such connections.",
    "RACE": "It was started before the connection to {held} was ready.",
    "RACE_SAME_HOST": "Two connections to {host} were started at the same time.",
    "MISDIRECTED": "{held} refused requests for {host} (421).",
    "LIFETIME": "The earlier connection had closed, or was about to.",
    "SPECIAL": "A WebSocket over HTTP/1.1 needs a connection of its own.",
    "UNKNOWN": "No known rule kept the browser from using the connection to {held}.",
    "NOT_DECIDABLE": "The recording does not show why: it lacks {needs}.",
}

# Added to a certain obstacle if there may be another one that has to be removed before it.
_UNDECIDED = " The recording does not show whether it could have been shared otherwise: it lacks {needs}."

_LIVE = " `originset study enrich --live` can obtain some of this from live servers."

# What live servers can still answer after the recording.
OBTAINABLE_LIVE = {"certificate names", "DNS answers"}


# Of visits.quality (analysis/har/quality.py).
_LIMITS = {
    "warm_sockets": "some connections were already open",
    "warm_start": "the first connection was open before the page",
    "preserved_log": "other pages are in the same log",
    "cached": "some answers came from the cache",
    "cached_hosts": "all answers of some host came from the cache",
    "service_worker": "some answers came from a service worker",
    "proxied": "recorded through a proxy",
    "truncated": "the file was cut off",
    "partial": "only a part of the page's load was recorded",
    "no_connection_ids": "it has no connection ids",
    "no_addresses": "it has no server addresses",
    "no_times": "some requests have no time",
    "unread_events": "the browser's log has events that cannot be read",
}


def recorded(facts: Mapping[str, Any]) -> str:
    """``recorded by R with B 1.2 at V, round 3; third-party cookies blocked (limits)``, without what is not known.

    ``facts``: recorder, browser, browser_version, vantage, round, third_party_cookies and quality of a visit.
    """
    sentence = f"recorded by {facts['recorder'] or 'an unknown program'}"
    if facts["browser"]:
        sentence += " with " + " ".join(filter(None, (facts["browser"], facts["browser_version"])))
    if facts["vantage"]:
        sentence += f" at {facts['vantage']}"
    if facts["round"] is not None:
        sentence += f", round {facts['round']}"
    if facts["third_party_cookies"]:
        sentence += f", third-party cookies {facts['third_party_cookies']}"
    limits = "; ".join(_LIMITS.get(word, word) for word in facts["quality"] or ())
    return f"{sentence} ({limits})" if limits else sentence


def remaining(facts: Mapping[str, Any]) -> str:
    """``309 connections; 176 would remain (deployable), 47 (one per network)``, without what is not known."""
    if facts["measured_tls"] is None:
        return "connections not known"
    ideals = [(facts["paired_ideal_deployable"], "deployable"), (facts["paired_ideal_origin"], "one per network")]
    known_counts = [(count, name) for count, name in ideals if count is not None]
    left = ", ".join(
        f"{count:,}{' would remain' if first else ''} ({name})"
        for first, (count, name) in zip((True, False), known_counts, strict=False)
    )
    measured = quantity(facts["measured_tls"], "connection")
    return f"{measured}; {left}" if left else measured


def who(fixable_by: str | None) -> str | None:
    """Who can change it, in words; None if that is not known."""
    return None if fixable_by is None else _WHO.get(fixable_by, fixable_by)


def why(row: dict[str, Any], asked_live: str | None = None) -> str:
    """Why a connection of ``redundant_connections`` was opened, in one or two sentences.

    ``asked_live``: the days of live answers, from :func:`as_of`.
    """
    if row["cause"] == "NOT_DECIDABLE" and row["causes"]:
        template = _template(row["causes"][0], None) + _UNDECIDED
    else:
        template = _template(row["cause"], row["detail"])
    needs = ", ".join(row["needs"] or ()) or "what decides it"
    sentence = template.format(
        host=printable_excerpt(row["host"] or "the host"),
        held=printable_excerpt(row["reusable_host"] or "the earlier host"),
        needs=needs,
    )
    if row["cause"] == "NOT_DECIDABLE" and asked_live is None and not OBTAINABLE_LIVE.isdisjoint(row["needs"] or ()):
        sentence += _LIVE
    if row["based_on_live"] and asked_live is not None:
        sentence += f" This is based on live answers {asked_live}, not on the recording."
    return sentence


def _template(cause: str, detail: str | None) -> str:
    return _WHY.get(f"{cause}_{detail}") or _WHY.get(detail or "") or _WHY.get(cause, cause)


def as_of(first: date | None, last: date | None) -> str | None:
    """``as of`` the days on which live answers were obtained; None if there are none."""
    if first is None or last is None:
        return None
    return f"as of {first}" if first == last else f"as of {first} to {last}"
