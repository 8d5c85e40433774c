"""Several servers looked at side by side, within one deadline."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from originset.crawler.probe.server_observation import ProbeTarget, ServerObservation, observe_within
from originset.data.errors import ProbeError

# Servers that are looked at together; each of them has a few connections open.
_SIDE_BY_SIDE = 8


def observe_servers(targets: Sequence[ProbeTarget], seconds: float) -> list[ServerObservation | ProbeError]:
    """Look at several servers side by side; the ``ProbeError`` of one that cannot be asked is in its place.

    Takes at most ``seconds`` for all of them.
    """
    return asyncio.run(_observe_all(targets, seconds))


async def _observe_all(targets: Sequence[ProbeTarget], seconds: float) -> list[ServerObservation | ProbeError]:
    slots = asyncio.Semaphore(_SIDE_BY_SIDE)
    ends = asyncio.get_running_loop().time() + seconds

    async def one(target: ProbeTarget) -> ServerObservation | ProbeError:
        async with slots:
            rest = ends - asyncio.get_running_loop().time()
            if rest <= 0:
                return ProbeError(target.site, target.address, target.port, "was not asked: no time was left")
            try:
                return await observe_within(target, rest)
            except ProbeError as error:
                return error

    return await asyncio.gather(*map(one, targets))
