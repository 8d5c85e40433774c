"""Names asked of the system's resolver, which cannot be interrupted: whoever asks waits no longer than a deadline."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading

LOOKUP_SECONDS = 5.0


async def addresses_of(host: str, seconds: float | None = None) -> list[str]:
    """The addresses that the system's resolver gives for a name in time, in its order.

    None where the name has no address, or where none came within ``seconds``, by default :data:`LOOKUP_SECONDS`.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[list[str]] = loop.create_future()

    def hand_over(addresses: list[str]) -> None:
        if not answer.done():
            answer.set_result(addresses)

    def ask() -> None:
        addresses = _ask_the_system(host)
        with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(hand_over, addresses)

    # Not the loop's own pool of threads: a loop waits for those before it ends, however long they take.
    threading.Thread(target=ask, daemon=True).start()
    try:
        async with asyncio.timeout(LOOKUP_SECONDS if seconds is None else seconds):
            return await answer
    except TimeoutError:
        return []


def _ask_the_system(host: str) -> list[str]:
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return list(dict.fromkeys(str(entry[4][0]).partition("%")[0] for entry in found))
