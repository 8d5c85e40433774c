"""Pairs of hosts asked: one host over the other's connection, beside its own server's answer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from originset.crawler.probe.live_lookups import LookupPolicy
from originset.crawler.probe.system_lookup import addresses_of
from originset.crawler.probe.tls_client import ProbeAnswer, ProbeConnection
from originset.data.errors import ProbeError
from originset.data.http_status import MISDIRECTED_REQUEST

#: same: as the host's own server answers, by status, redirect and media type; refused: 421; other: something else; not
#: compared: one of the two gave no answer, or may not be asked.
PairResult = Literal["same", "refused", "other", "not compared"]

_HTTPS = 443

# Pairs that are asked side by side; the policy's rate bounds how fast connections begin.
_SIDE_BY_SIDE = 8


@dataclass(frozen=True, slots=True)
class PairAnswer:
    """What came of asking for ``host`` over a connection that was opened for ``server``, at ``address``."""

    server: str
    host: str
    address: str | None
    result: PairResult
    detail: str


def ask_pairs(pairs: Sequence[tuple[str, str]], policy: LookupPolicy, seconds: float) -> list[PairAnswer]:
    """Ask for each pair (server, host): the page ``/`` of the host over the server's connection, and at its own server.

    Two connections a pair, at the policy's rate, to public addresses unless the policy allows others. Takes at most
    ``seconds``; pairs that this leaves no time for are not compared.

    Raises:
        OSError: the policy's ``ca_file`` cannot be read as certificates.
    """
    return asyncio.run(_ask_all(pairs, policy, seconds))


async def _ask_all(pairs: Sequence[tuple[str, str]], policy: LookupPolicy, seconds: float) -> list[PairAnswer]:
    slots = asyncio.Semaphore(_SIDE_BY_SIDE)
    ends = asyncio.get_running_loop().time() + seconds

    async def one(server: str, host: str) -> PairAnswer:
        try:
            async with asyncio.timeout_at(ends), slots:
                return await _ask(server, host, policy)
        except TimeoutError:
            return PairAnswer(server, host, None, "not compared", "no time was left")
        except ProbeError as error:
            return PairAnswer(
                server, host, error.address or None, "not compared", f"{error.server_name}: {error.problem}"
            )

    return await asyncio.gather(*(one(server, host) for server, host in pairs))


async def _ask(server: str, host: str, policy: LookupPolicy) -> PairAnswer:
    address = await _address(server, policy)
    own_address = await _address(host, policy)
    over_it = await _answer(server, address, host, policy)
    own = await _answer(host, own_address, host, policy)
    result: PairResult = "other"
    if over_it.status == MISDIRECTED_REQUEST:
        result = "refused"
    elif over_it.essence == own.essence:
        result = "same"
    return PairAnswer(server, host, address, result, f"{_answer_text(over_it)}; its own server: {_answer_text(own)}")


async def _address(host: str, policy: LookupPolicy) -> str:
    """The host's first address that may be contacted. Raises ``ProbeError`` where there is none."""
    found = await addresses_of(host)
    refusals = [policy.refusal(address, _HTTPS) for address in found]
    for address, refusal in zip(found, refusals, strict=True):
        if refusal is None:
            return address
    raise ProbeError(host, found[0] if found else "", _HTTPS, (refusals and refusals[0]) or "has no address")


async def _answer(server: str, address: str, host: str, policy: LookupPolicy) -> ProbeAnswer:
    await policy.wait_turn()
    async with ProbeConnection(address, _HTTPS, server, policy.ca_file) as connection:
        return await connection.get(host, "/")


def _answer_text(answer: ProbeAnswer) -> str:
    status, location, kind = answer.essence
    return f"{status}{f' {kind}' if kind else ''}{f' to {location}' if location else ''}"
