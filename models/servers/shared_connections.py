"""Which hosts' requests a connection for another host will carry, and who answers them.

Chromium and Firefox send them where the first one's certificate covers the second, over HTTP/2, and DNS leads both to
one address (RFC 9113 section 9.1.1; docs/browser-rules.md, ``address-same`` and ``certificate-of-first-covers``). It is
taken for granted that DNS leads each host to the addresses where its configuration listens, and nowhere else.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import permutations
from typing import Literal, TypeAlias, get_args

from originset.data.errors import UsageError
from originset.data.host_names import covers
from originset.models.servers.listeners import (
    Configuration,
    Handshake,
    Listener,
    Place,
    best_match,
    duplicates,
    is_public,
)

Verdict = Literal["separate", "safe", "421", "unknown", "refused", "404", "wrong site", "client certificate bypassed"]

#: From the best to the worst.
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

_MISDIRECTED, _NOT_FOUND = 421, 404
# A thousand hosts at two addresses each.
_MOST_COMPARISONS = 2000**2


@dataclass(frozen=True, slots=True)
class SharedConnection:
    """What becomes of requests for one host on connections for another; ``place`` is the requested one's."""

    opened_for: str
    requested: str
    verdict: Verdict
    why: str
    place: Place


@dataclass(frozen=True, slots=True)
class PlannedSets:
    """What a plan deploys. ``announced``: by server, the hosts of its ORIGIN set; ``added``: names of its certificate.

    ``names``: those that the certificate has today; None where they are not known.
    """

    announced: Mapping[str, Collection[str]]
    added: frozenset[str] = frozenset()
    names: frozenset[str] | None = None

    def renewed(self, server_name: str, handshake: Handshake | None) -> Handshake | None:
        """A handshake once the plan's certificate has the names that it adds."""
        if handshake is None or handshake.certificate is None:
            return handshake
        if server_name not in self.announced and handshake.certificate != self.names:
            return handshake
        return replace(handshake, certificate=handshake.certificate | self.added)


NO_PLAN = PlannedSets({})


def shared_connections(configuration: Configuration, plan: PlannedSets = NO_PLAN) -> Iterator[SharedConnection]:
    """All ordered pairs of hosts that the configuration names, as they will be once ``plan`` is deployed.

    Where anything was not understood, nothing is ``safe`` or ``separate``: it is ``unknown``. A host that the plan
    announces and the configuration does not name is unknown, too.

    Raises:
        UsageError: the hosts have more listeners than can be compared.
    """
    places: dict[str, Place] = {}
    found: dict[str, list[_Served]] = {}
    for listener in configuration.listeners:
        served = _Served(listener, listener.hosts, plan)
        for host, place in served.hosts.items():
            places.setdefault(host, place)
            found.setdefault(host, []).append(served)
    for host in sorted({*plan.announced, *(each for hosts in plan.announced.values() for each in hosts)}):
        name = best_match(places, host)
        if name is not None:
            places[host], found[host] = places[name], found[name]
    for first in sorted(plan.announced.keys() & places.keys()):
        for second in sorted(set(plan.announced[first]) - places.keys()):
            why = "the plan announces it, and the configuration does not name it"
            yield SharedConnection(first, second, "unknown", why, places[first])
    listeners = list({id(one): one for each in found.values() for one in each}.values())
    found = {host: [one for one in listeners if best_match(one.hosts, host) is not None] for host in places}
    _require_bounded(found)
    meetings = _Meetings(found)
    for first, second in permutations(places, 2):
        verdict, why = _verdict(meetings.of(first, second), first, second)
        if second in plan.announced.get(first, ()):
            verdict, why = _worst_verdict(
                (verdict, why), *_verdicts_by_announcement(found[first], found[second], first, second)
            )
        if configuration.not_understood and verdict in ("safe", "separate"):
            one = configuration.not_understood[0]
            verdict, why = "unknown", f"{one.place} was not understood: {one.text}"
        yield SharedConnection(first, second, verdict, why, places[second])


@dataclass(frozen=True, eq=False, slots=True)
class _Served:
    """A listener and the hosts that it has; what connections for them get is asked once."""

    listener: Listener
    hosts: Mapping[str, Place]
    plan: PlannedSets
    handshakes: dict[str, Handshake | None] = field(default_factory=dict)

    def handshake(self, host: str) -> Handshake | None:
        if host not in self.handshakes:
            self.handshakes[host] = self.plan.renewed(host, self.listener.handshake(host))
        return self.handshakes[host]


def _require_bounded(found: Mapping[str, Sequence[_Served]]) -> None:
    """See that a listener of each host can be compared with each of every other host.

    Raises:
        UsageError: there are too many.
    """
    if sum(len(each) for each in found.values()) ** 2 > _MOST_COMPARISONS:
        problem = f"the {len(found)} hosts have too many listeners: each is compared with each of every other host"
        raise UsageError(problem, f"lint no more than {math.isqrt(_MOST_COMPARISONS)} listeners of hosts at once")


@dataclass(frozen=True, slots=True)
class _Meeting:
    """Where connections for one host may meet requests for another.

    ``common``: the listeners that both have. ``apart``: (where the connection is, where the request would be answered
    on one of its own), where these differ. ``verdict``: what becomes of the requests if no listener is common.
    """

    common: Sequence[_Served]
    apart: Sequence[tuple[_Served, _Served]]
    verdict: tuple[Verdict, str] | None = None


class _Meetings:
    """Meetings of all pairs of hosts: found once for all hosts that have the same listeners. ``found``: by host."""

    def __init__(self, found: Mapping[str, Sequence[_Served]]) -> None:
        self._groups: dict[str, _Group] = {}
        self._meetings: dict[tuple[_Group, _Group], _Meeting] = {}
        for host, each in found.items():
            self._groups[host] = (tuple(each), tuple(one for one in each if host in one.hosts))

    def of(self, first: str, second: str) -> _Meeting:
        groups = self._groups[first], self._groups[second]
        meeting = self._meetings.get(groups)
        if meeting is None:
            meeting = self._meetings[groups] = _meeting(*groups)
        return meeting


# The listeners of a host, and those of them that name it.
_Group: TypeAlias = tuple[tuple[_Served, ...], tuple[_Served, ...]]


def _meeting(first: _Group, second: _Group) -> _Meeting:
    """The meeting of two hosts.

    Where one of them has a listener for an address of its own besides, nothing is safe if it would not be there: the
    other's DNS may lead there, too.
    """
    (of_first, named_first), (of_second, named_second) = first, second
    common = [one for one in named_first if one in named_second]
    if not common:
        return _Meeting((), (), _without_common(of_first, of_second))
    shared = [one.listener.endpoint for one in common]
    alone = [one for one in (*of_first, *of_second) if one not in common and duplicates(shared, one.listener.endpoint)]
    # Its own connections may be answered elsewhere, and otherwise.
    pairs = [(one, other) for one in common for other in of_second if other is not one] + [(one, one) for one in alone]
    return _Meeting(common, pairs)


def _without_common(of_first: Sequence[_Served], of_second: Sequence[_Served]) -> tuple[Verdict, str]:
    ends = [{one.listener.endpoint for one in each} for each in (of_first, of_second)]
    if any(duplicates(ends[1], one) for one in ends[0]):
        return "unknown", "one is for all addresses, the other for some: DNS decides where they meet"
    if not all(is_public(one) for one in ends[0] | ends[1]):
        return "unknown", "something before them leads connections to their ports: what that does is not known"
    return "separate", "they listen at different addresses or ports"


def _verdict(meeting: _Meeting, first: str, second: str) -> tuple[Verdict, str]:
    """The worst of what may happen at any listener that both have."""
    if meeting.verdict is not None:
        return meeting.verdict
    there = _worst_verdict(
        ("separate", ""), *(_verdict_at_listener(one, other, first, second) for one, other in meeting.apart)
    )
    if there[0] not in ("separate", "safe", "421"):
        there = "unknown", f"DNS decides where they meet: where only one of them listens, it is: {there[0]}"
    return _worst_verdict(*(_verdict_at_listener(one, one, first, second) for one in meeting.common), there)


def _verdicts_by_announcement(
    of_first: Sequence[_Served], of_second: Sequence[_Served], first: str, second: str
) -> Iterator[tuple[Verdict, str]]:
    """What happens where browsers follow an ORIGIN set: no address matters (RFC 8336 section 2.4)."""
    return (_verdict_at_listener(one, other, first, second) for one in of_first for other in of_second)


def _worst_verdict(*found: tuple[Verdict, str]) -> tuple[Verdict, str]:
    return max(found, key=lambda one: VERDICTS.index(one[0]))


def _verdict_at_listener(served: _Served, own_server: _Served, first: str, second: str) -> tuple[Verdict, str]:
    """At one listener, compared with a connection of the second host's own, perhaps at another listener."""
    opened, own = served.handshake(first), own_server.handshake(second)
    if opened is None or not opened.http2:
        return "separate", f"no connection for {first} with HTTP/2 is established"
    if opened.certificate is not None and not _may_cover(opened.certificate, second, served.hosts):
        return "separate", f"the certificate for {first} does not cover {second}"
    answer, expected = served.listener.answer(first, second), own_server.listener.answer(second, second)
    if answer.site is None and answer.status is None:
        return "unknown", "what the connection leads to decides"
    if answer != expected or answer.status is not None:
        return _other_answer(answer.title or answer.site, answer.status, same=answer == expected)
    return _same_answer(opened, own, first, second)


def _same_answer(opened: Handshake, own: Handshake | None, first: str, second: str) -> tuple[Verdict, str]:
    if own is None:
        return "unknown", f"connections for {second} are refused, but it is answered on those for {first}"
    if own.client_certificate not in (None, opened.client_certificate):
        return "client certificate bypassed", f"{second} demands one, connections for {first} do not"
    return "safe", "the same site answers as on a connection of its own"


def _may_cover(certificate: Collection[str], requested: str, others: Container[str]) -> bool:
    """Whether a certificate covers a host, or one of those that a pattern is for and nothing else names."""
    if "*" not in requested:
        return covers(certificate, requested)
    begin, end = requested.partition("*")[0], requested.rpartition("*")[2]
    return any(
        name.endswith(end) or end.endswith(name[1:])
        if name.startswith("*")
        else name.startswith(begin) and name.endswith(end) and name not in others and fnmatchcase(name, requested)
        for name in certificate
    )


def _other_answer(site: str | None, status: int | None, *, same: bool) -> tuple[Verdict, str]:
    if status == _MISDIRECTED:
        return "421", "the browser requests it again on a connection of its own"
    if same:
        return "safe", f"it is answered {status} on a connection of its own, too"
    if status == _NOT_FOUND:
        return "404", "the connection's routes lack the host"
    if status is not None:
        return "refused", f"it is answered {status}" if status else "the connection ends without an answer"
    return "wrong site", f"{site} answers"
