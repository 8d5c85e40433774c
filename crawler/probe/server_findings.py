"""What is wrong with a server that announces origins, from what was seen of it: one finding for each fault."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from originset.crawler.probe import origin_frame
from originset.crawler.probe.server_observation import (
    HostObservation,
    ProbeResponse,
    Security,
    ServerObservation,
    origins_in,
)
from originset.data.host_names import covers
from originset.data.http_status import MISDIRECTED_REQUEST

Code = Literal[
    "no_http2", "no_frame", "unexpected_frame", "empty_frame", "own_name_missing", "frame_too_long", "not_an_origin",
    "not_covered", "incomplete", "not_as_planned", "misdirected", "no_answer", "answers_differ", "contaminated",
    "weaker_tls", "client_certificate", "http3_differs", "unfinished", "body_differs", "not_compared", "not_tried",
    "lacks_name", "announced_early",
]  # fmt: skip

# Said, but nobody's fault: they do not fail a check.
NOTES: frozenset[Code] = frozenset({"body_differs", "not_compared", "not_tried"})


@dataclass(frozen=True, slots=True)
class ServerFinding:
    """One fault or remark; ``subject`` is the host or origin that it is about."""

    code: Code
    subject: str
    detail: str

    @property
    def is_note(self) -> bool:
        """Whether it is a remark only."""
        return self.code in NOTES


def findings(
    seen: ServerObservation, planned: Iterable[str] | None = None, *, expects_set: bool = True
) -> list[ServerFinding]:
    """All findings, faults and remarks. ``planned``: the origins that the server was meant to announce, if known.

    ``expects_set`` is false for a server that is to send no ORIGIN frame: before a deployment, or once that is taken
    back.
    """
    if not expects_set:
        return list(_unexpected_frames(seen))
    found = [*_of_frames(seen), *_of_set(seen, planned)]
    if seen.longest_frame <= origin_frame.MAX_PAYLOAD:  # else clients close every connection: nothing can be tried
        found += [finding for host in seen.hosts for finding in _of_host(seen, host)]
    if seen.not_tried:
        found.append(ServerFinding("not_tried", seen.target.site, f"{seen.not_tried} more hosts were not tried"))
    if seen.unfinished:
        detail = f"there was no time for {seen.unfinished} hosts: it is slow, or --max-time is short"
        found.append(ServerFinding("unfinished", seen.target.site, detail))
    return found


def ring_findings(seen: ServerObservation, covered: Iterable[str], withheld: Iterable[str]) -> Iterator[ServerFinding]:
    """What is not as far as a rollout has come.

    ``covered``: names that the certificate is to have by now. ``withheld``: names that are not to be announced yet.
    """
    for name in covered:
        if not covers(seen.certificate_names, name):
            yield ServerFinding("lacks_name", name, f"the certificate that {seen.target.site} gets lacks it")
    announced = {*seen.origins, *origins_in(seen.http3_payloads or ())}
    for name in withheld:
        if f"https://{name}" in announced:
            yield ServerFinding("announced_early", name, f"{seen.target.site} announces it, and is not to")


def _unexpected_frames(seen: ServerObservation) -> Iterator[ServerFinding]:
    site = seen.target.site
    if seen.longest_frame or seen.payloads:
        yield ServerFinding("unexpected_frame", site, f"{len(seen.origins)} origins over HTTP/2, and none is expected")
    if seen.http3_payloads:
        there = len(origins_in(seen.http3_payloads))
        yield ServerFinding("unexpected_frame", site, f"{there} origins over HTTP/3, and none is expected")


def _of_frames(seen: ServerObservation) -> Iterator[ServerFinding]:
    site = seen.target.site
    if seen.protocol != "h2":
        yield ServerFinding("no_http2", site, f"it speaks {seen.protocol}; ORIGIN frames need HTTP/2 or HTTP/3")
        return
    if seen.longest_frame > origin_frame.MAX_PAYLOAD:
        detail = f"a frame of {seen.longest_frame} bytes; clients take {origin_frame.MAX_PAYLOAD} and close otherwise"
        yield ServerFinding("frame_too_long", site, detail)
    elif not seen.payloads:
        yield ServerFinding("no_frame", site, "it sends no ORIGIN frame over HTTP/2")
    elif not any(seen.payloads):
        yield ServerFinding(
            "empty_frame", site, "its ORIGIN frame has no origins: browsers that honour it share nothing"
        )
    for entry in (entry for payload in seen.payloads for entry in origin_frame.unpack(payload)):
        if not origin_frame.decode(origin_frame.pack([entry])):
            shown = entry[:80].decode("latin-1")
            yield ServerFinding(
                "not_an_origin", shown, "clients ignore it: not scheme, host and port as RFC 6454 writes them"
            )
    if seen.http3_offered:
        if seen.http3_payloads is None:
            yield ServerFinding("http3_differs", site, f"HTTP/3 is offered and does not work ({seen.http3_problem})")
        elif set(origins_in(seen.http3_payloads)) != set(seen.origins):
            there = len(origins_in(seen.http3_payloads))
            detail = f"{there} origins over HTTP/3, {len(seen.origins)} over HTTP/2: Chromium takes the first only"
            yield ServerFinding("http3_differs", site, detail)


def _of_set(seen: ServerObservation, planned: Iterable[str] | None) -> Iterator[ServerFinding]:
    target, origins = seen.target, seen.origins
    own = f"https://{target.site}" + ("" if target.port == 443 else f":{target.port}")
    if any(seen.payloads) and own not in origins:
        yield ServerFinding("own_name_missing", target.site, "it lacks the server's own origin: its requests move away")
    if planned is not None:
        lacks, more = sorted(set(planned) - set(origins)), sorted(set(origins) - set(planned))
        if lacks:
            yield ServerFinding("not_as_planned", target.site, f"planned and not announced: {', '.join(lacks)}")
        if more:
            yield ServerFinding("not_as_planned", target.site, f"announced and not planned: {', '.join(more)}")


def _of_host(seen: ServerObservation, host: HostObservation) -> Iterator[ServerFinding]:
    name = host.host
    misdirected = any(_status(tried) == MISDIRECTED_REQUEST for tried in (host.first, host.after))
    if not host.promised:
        # Without a frame nothing is taken away from it.
        if any(seen.payloads) and host.covered and not misdirected and host.first.answer is not None:
            detail = "it shares the server's address and certificate and is not announced: Firefox will open more"
            yield ServerFinding("incomplete", name, detail)
        return
    if not host.covered:
        yield ServerFinding("not_covered", name, "the certificate does not cover it: announcing it does nothing")
    if misdirected:
        yield ServerFinding("misdirected", name, "it is announced, and requests for it are answered 421 here")
        return
    if host.first.answer is None or host.after.answer is None:
        yield ServerFinding("no_answer", name, f"no answer here: {host.first.problem or host.after.problem}")
        return
    yield from _contamination(seen, host)
    yield from _beside_its_own(host)


def _contamination(seen: ServerObservation, host: HostObservation) -> Iterator[ServerFinding]:
    """Whether a connection's first request decides who answers the later ones, as with a proxy that routes once."""
    first, after = host.first.answer, host.after.answer
    page, page_after = seen.page.answer, host.site_after.answer
    if first is not None and after is not None and first.essence != after.essence:
        detail = (
            f"first on a connection: {answer_text(host.first)}; after {seen.target.site}: {answer_text(host.after)}"
        )
        yield ServerFinding("contaminated", host.host, detail)
    elif page is not None and page_after is not None and page.essence != page_after.essence:
        now, before = answer_text(host.site_after), answer_text(seen.page)
        detail = f"after {host.host}, {seen.target.site} answers {now} instead of {before}"
        yield ServerFinding("contaminated", host.host, detail)


def _beside_its_own(host: HostObservation) -> Iterator[ServerFinding]:
    if host.own is None or host.own.answer is None or host.first.answer is None:
        why = host.not_compared or (host.own.problem if host.own else None)
        if why and not host.shares_address:
            yield ServerFinding("not_compared", host.host, f"not compared with its own server: {why}")
        return
    if host.own.answer.essence != host.first.answer.essence:
        detail = f"here: {answer_text(host.first)}; at its own address: {answer_text(host.own)}"
        yield ServerFinding("answers_differ", host.host, detail)
    elif host.own.answer.body_sha256 != host.first.answer.body_sha256:
        yield ServerFinding("body_differs", host.host, "the same kind of answer, another body than at its own address")
    if host.security is not None and host.own_security is not None:
        yield from _weaker_security(host.host, host.security, host.own_security)


def _weaker_security(host: str, here: Security, there: Security) -> Iterator[ServerFinding]:
    if here.tls_version < there.tls_version:
        detail = f"{here.tls_version} here, {there.tls_version} at its own address"
        yield ServerFinding("weaker_tls", host, detail)
    elif here.takes_tls_1_2 and not there.takes_tls_1_2:
        yield ServerFinding("weaker_tls", host, "its own server refuses TLS 1.2, this one takes it")
    if there.asks_for_client_certificate and not here.asks_for_client_certificate:
        yield ServerFinding("client_certificate", host, "its own server wants a client certificate, this one does not")


def _status(tried: ProbeResponse) -> int | None:
    return None if tried.answer is None else tried.answer.status


def answer_text(tried: ProbeResponse) -> str:
    """An answer in a few words."""
    if tried.answer is None:
        return tried.problem or "no answer"
    status, location, kind = tried.answer.essence
    return " ".join(part for part in (str(status), kind, f"to {location}" if location else None) if part)
