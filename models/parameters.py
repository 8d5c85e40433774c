"""The choices that the paper leaves open, each a named parameter with a stated default."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

Colocation = Literal["asn", "org", "edge", "tenant", "ip"]
Predecessor = Literal["initiator", "time"]
ParallelDns = Literal["own", "minimum"]
BlockedTime = Literal["freed", "kept"]
Ssl = Literal["inside", "beside"]
Wildcards = Literal["cover", "ignored"]
Coverage = Literal["certificate", "ignored"]


@dataclass(frozen=True, slots=True)
class Parameters:
    """What a run of the models assumes.

    ``colocation`` is what makes two servers one in the ORIGIN model: the origin AS of their addresses (``asn``, the
    paper), the organisation that runs the AS (``org``), the provider whose edge serves their hosts (``edge``), hosts of
    one registrable domain on one such edge (``tenant``), or the address itself (``ip``). An address of which that is
    not known counts as its own.

    ``wildcards``: a certificate's wildcard names cover what RFC 9525 says (``cover``) or nothing (``ignored``).
    ``coverage``: a server answers for the hosts that its certificate covers (``certificate``) or for all that share its
    key (``ignored``), as if every server could prove its names with secondary certificates
    (draft-ietf-httpbis-secondary-server-certs): then no certificate needs an addition, and what is on one edge is
    deployable. The paper's ideal counts ask for no certificate and are the same with both.

    Load times (:mod:`originset.models.timeline.load_times`) have five more. ``predecessor``: whose saving a request
    inherits; the request that caused it, and by time where the recorder names none (``initiator``), or always by time
    (``time``). ``parallel_dns``: lookups that overlapped save each their own time (``own``) or each the shortest of
    them (``minimum``). ``blocked_time``: a request that queued behind a handshake which no longer happens stops
    queueing (``freed``, as the paper's Figure 2) or does not (``kept``). ``ssl``: a recorder's connect phase contains
    its TLS phase (``inside``, HAR 1.2) or lies before it (``beside``). ``provider_asns``: the ASes of the one provider
    that coalesces in ``provider_ms``; without any that column is unknown.
    """

    colocation: Colocation = "asn"
    wildcards: Wildcards = "cover"
    coverage: Coverage = "certificate"
    predecessor: Predecessor = "initiator"
    parallel_dns: ParallelDns = "own"
    blocked_time: BlockedTime = "freed"
    ssl: Ssl = "inside"
    provider_asns: tuple[int, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The parameters as JSON can hold them, for the record of a run."""
        return {**asdict(self), "provider_asns": list(self.provider_asns)}
