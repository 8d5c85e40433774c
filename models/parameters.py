"""The parameters of the models: what the paper leaves open, with defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import msgspec

from originset.data.errors import InputError

Colocation = Literal["asn", "org", "edge", "tenant", "ip"]
Predecessor = Literal["initiator", "time"]
ParallelDns = Literal["own", "minimum"]
BlockedTime = Literal["freed", "kept"]
Ssl = Literal["inside", "beside"]
Wildcards = Literal["cover", "ignored"]
Coverage = Literal["certificate", "ignored"]


@dataclass(frozen=True, slots=True)
class Parameters:
    """The parameters of one run of the models.

    ``colocation`` is the server key: servers with the same key count as one in the ORIGIN model. The key is the origin
    AS of the address (``asn``, as in the paper), the organisation that runs the AS (``org``), the provider whose edge
    serves the host (``edge``), this edge and the host's registrable domain (``tenant``), or the address (``ip``). An
    address without such a key is its own key.

    ``wildcards``: a certificate's wildcard names cover what RFC 9525 says (``cover``) or nothing (``ignored``).
    ``coverage``: a server can answer for the hosts that its certificate covers (``certificate``) or for all hosts with
    its key (``ignored``), as if every server could prove its names with secondary certificates
    (draft-ietf-httpbis-secondary-server-certs): then no certificate needs an addition, and hosts on one edge are
    deployable. The paper's ideal counts do not depend on certificates and are the same with both.

    Load times (:mod:`originset.models.timeline.load_times`) have five more. ``predecessor``: the request whose saving
    a request inherits: its initiator while that is being received, later or without one its predecessor by time
    (``initiator``), or always the predecessor by time (``time``). ``parallel_dns``: overlapping lookups save each
    their own time (``own``) or each the time of the shortest (``minimum``). ``blocked_time``: a request that queued
    behind a handshake that no longer happens stops queueing (``freed``, as in the paper's Figure 2) or does not
    (``kept``). ``ssl``: a recorder's connect phase contains its TLS phase (``inside``, HAR 1.2) or ends before it
    (``beside``). ``provider_asns``: the ASes of the one provider that coalesces in ``provider_ms``; without any, that
    column is NULL.
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
        """The parameters as values for JSON, for the table ``runs``."""
        return {**asdict(self), "provider_asns": list(self.provider_asns)}

    @classmethod
    def from_manifest(cls, manifest: Mapping[str, Any]) -> Parameters:
        """The parameters that a study's tables were modelled with, as its manifest says, else the defaults.

        Raises:
            InputError: the manifest has values for them that are none.
        """
        try:
            return msgspec.convert(manifest.get("models", {}), cls)
        except msgspec.ValidationError as error:
            raise InputError(
                "study.json", "not-parameters", f"its models have parameters that are none ({error})"
            ) from error
