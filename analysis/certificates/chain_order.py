"""Whether a chain as sent leads from its leaf upwards: by names, in the order of RFC 8446 section 4.4.2."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

UNREADABLE, GAP, ORDER, STRANGER = "unreadable", "gap", "order", "stranger"


def chain_problem(chain: Sequence[str], names: Mapping[str, tuple[str | None, str | None]]) -> str | None:
    """The fault of a chain of certificate ids, leaf first; None if each certificate issued the one before it.

    ``names``: certificate id to subject and issuer. ``unreadable``: the names of one are not known; ``order``: all of
    them are one chain, in another order; ``gap``: the leaf's issuer is missing although others follow; ``stranger``:
    some are no part of what the leaf leads to. A chain of one has no problem: which roots a browser holds is not known.
    """
    subjects_and_issuers = [names.get(certificate, (None, None)) for certificate in chain]
    pairs = [
        (subject, issuer) for subject, issuer in subjects_and_issuers if subject is not None and issuer is not None
    ]
    if len(pairs) < len(chain):
        return UNREADABLE
    if all(issuer == subject for (_, issuer), (subject, _) in itertools.pairwise(pairs)):
        return None
    issuers = dict(reversed(pairs[1:]))
    reached, next_issuer = 1, pairs[0][1]
    met = set()
    while next_issuer in issuers and next_issuer not in met:
        met.add(next_issuer)
        reached, next_issuer = reached + 1, issuers[next_issuer]
    if reached == len(pairs):
        return ORDER
    return STRANGER if reached > 1 else GAP
