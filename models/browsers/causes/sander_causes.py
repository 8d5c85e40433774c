"""Sander et al.'s causes of redundant connections (IMC 2021, doi 10.1145/3487552.3487832), under both their bounds.

CERT: an earlier connection leads to the same address and port, but its certificate does not cover the name. IP: an
earlier connection's certificate covers the name, which was reached at another address. CRED: the same address, and
covered. A connection has several causes if several earlier ones differ. No candidates are those that answered 421 for
its name, and those of another version of HTTP: what goes over to HTTP/3 (Alt-Svc, RFC 7838, HTTPS records) could not
have gone over the HTTP/2 connection that is there. The paper knows HTTP/2 alone. Where closing times are unknown,
*immediate* takes every connection to have closed after its last request, *endless* none ever; where they are known,
both are exact.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from originset.models.browsers.sharing_rules import NO, YES

SANDER = ("sander_immediate", "sander_endless")

# In alphabetical order, as they are listed; each is a bit.
_CAUSES = ("CERT", "CRED", "IP")


def sander_causes(found: pl.DataFrame, connections: int) -> pl.DataFrame:
    """Of each ``number`` below ``connections`` the lists of SANDER; ``found``: pairs with covers and is_MISDIRECTED."""
    shares = pl.col("protocol").is_in(["h2", "h3"]) & (pl.col("protocol") == pl.col("protocol_held"))
    same_address = (pl.col("peer") == pl.col("peer_held")) & (pl.col("port") == pl.col("port_held"))
    cause = (
        pl.when(same_address & (pl.col("covers") == NO))
        .then(1 << _CAUSES.index("CERT"))
        .when(~same_address & (pl.col("covers") == YES))
        .then(1 << _CAUSES.index("IP"))
        .when(same_address & (pl.col("covers") == YES))
        .then(1 << _CAUSES.index("CRED"))
        .otherwise(0)
    )
    closed = pl.col("closed_ms_held") <= pl.col("opened_ms")
    watched = pl.col("lasting_held").is_not_null()
    idle = pl.col("last_ms_held") < pl.col("opened_ms")
    lives = {
        "sander_immediate": ~pl.when(watched).then(closed.fill_null(value=False)).otherwise(idle.fill_null(value=True)),
        "sander_endless": ~(watched & closed.fill_null(value=False)),
    }
    candidate = shares.fill_null(value=False) & (pl.col("is_MISDIRECTED") == NO)
    bits = found.select(
        "number", *(pl.when(candidate & lives[name]).then(cause).otherwise(0).alias(name) for name in SANDER)
    )
    sets = pl.Series(
        [[name for bit, name in enumerate(_CAUSES) if one >> bit & 1] for one in range(1 << len(_CAUSES))],
        dtype=pl.List(pl.Enum(_CAUSES)),
    )
    lists = {}
    for name in SANDER:
        of = np.zeros(connections, np.int64)
        np.bitwise_or.at(of, bits["number"].to_numpy(), bits[name].cast(pl.Int64).to_numpy())
        lists[name] = sets.gather(of)
    return pl.DataFrame(lists)
