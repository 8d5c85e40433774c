"""Certificate chains in a NetLog: as each connection received it, and as the browser's verifier completed it.

A verification is a job that connections share, and its result is remembered: a later connection with the same chain
has no job of its own. A QUIC session's chain as received is in its handshake, too (:mod:`.server_hello`).
"""

from __future__ import annotations

from collections.abc import Callable

from originset.data.netlog.events import Event, dependency, parameters
from originset.data.netlog.sockets import pem_to_der

BEGIN = 1

Chain = tuple[bytes, ...]


class ChainLog:
    """Collects the chains of a sequence of events; certificates are DER, the leaf first."""

    def __init__(self) -> None:
        self._sent: dict[int, Chain] = {}  # connection -> as received
        self._jobs: dict[int, Chain] = {}  # verifier job -> what it was given
        self._verified: dict[Chain, Chain] = {}  # as received -> as verified

    def add(self, event: Event) -> None:
        """Take in one event; others than those in ``EVENT_NAMES`` are passed over."""
        if (handler := _HANDLERS.get(event.name)) is not None:
            handler(self, event)

    def received(self, event: Event) -> None:
        """A TLS connection's server sent its chain."""
        self._sent[event.source] = _chain(parameters(event))

    def job(self, event: Event) -> None:
        """A verification begins or ends; one that failed has no verified chain."""
        values = parameters(event)
        if event.phase == BEGIN:
            self._jobs[event.source] = _chain(values)
        elif (given := self._jobs.get(event.source)) is not None and not values.get("net_error"):
            verified = values.get("verified_cert")
            if isinstance(verified, dict) and (chain := _chain(verified)):
                self._verified[given] = chain

    def bound(self, event: Event) -> None:
        """A connection waits for a verification."""
        given = self._jobs.get(dependency(parameters(event)) or -1)
        if event.source_type == "QUIC_SESSION" and given is not None:
            self._sent[event.source] = given

    def sent(self, connection: int) -> list[bytes] | None:
        """The chain as received; None if it is not known: no TLS, or a resumed session."""
        chain = self._sent.get(connection)
        return None if chain is None else list(chain)

    def verified(self, sent: list[bytes] | None) -> list[bytes] | None:
        """A chain as verified, up to the root, from it as received; None if it was not, or is not known."""
        chain = self._verified.get(tuple(sent or ()))
        return None if chain is None else list(chain)


def _chain(values: dict[str, object]) -> Chain:
    certificates = values.get("certificates")
    pems = certificates if isinstance(certificates, list) else []
    return tuple(der for pem in pems for der in pem_to_der(str(pem)))


_HANDLERS: dict[str, Callable[[ChainLog, Event], None]] = {
    "SSL_CERTIFICATES_RECEIVED": ChainLog.received,
    "CERT_VERIFIER_JOB": ChainLog.job,
    "CERT_VERIFIER_REQUEST_BOUND_TO_JOB": ChainLog.bound,
}

EVENT_NAMES = frozenset(_HANDLERS)
