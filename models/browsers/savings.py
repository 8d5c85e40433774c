"""What a site's certificate and ORIGIN set would save in each browser, host by host."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from originset.data.reference.browser_rules import BrowserRules, browser_rules
from originset.models.browsers.candidate_pairs import announced_over, could_join, in_place, serving
from originset.models.browsers.predictions import connections
from originset.models.browsers.replay import replayed, ways

# What certificates save by addresses alone, and with ORIGIN frames over the one protocol that each browser heeds.
SAVINGS = ("connections_saved_chromium", "connections_saved_chromium_h3", "connections_saved_firefox")

#: The columns of :func:`saved_connections`.
SAVED_CONNECTIONS = pl.Schema(
    {"site": pl.String(), "server": pl.String(), "host": pl.String(), **dict.fromkeys(SAVINGS, pl.Int64())}
)

_ORIGIN = ("visit_id", "host", "port")


def saved_connections(
    groups: pl.DataFrame, found: pl.DataFrame, today: dict[str, pl.DataFrame], colocated: pl.DataFrame
) -> pl.DataFrame:
    """site, server, host and SAVINGS: connections for the host that go away, over the site's pages; NULL if not known.

    The document's server names in its certificate, and announces, every host of ``colocated`` (site, server, visit_id,
    host, port: those where the document is), but those for which some server answered 421, on all connections that
    serve it. So the hosts' numbers add up to what all of them together save. Chromium alone, since it heeds no ORIGIN
    frame over HTTP/2; with HTTP/3 wherever there is HTTP/2 today, where it does; Firefox, which heeds them over HTTP/2
    alone.

    ``groups`` and ``found``: of :func:`originset.models.browsers.candidate_pairs.pairs`. ``today``: by browser, the
    groups' connections with servers as they are (:func:`originset.models.browsers.predictions.connections`).
    """
    beside = colocated.filter(pl.col("host") != pl.col("server"))
    pages = beside.select("visit_id").unique()
    possible = _pairs_if_announced(groups, found.join(pages, on="visit_id", how="semi"), beside)
    by_address = possible.with_columns(pl.lit(value=False).alias("planned"))
    rules = browser_rules()
    chromium, firefox = rules["chromium"], rules["firefox"]
    over_h3 = replace(chromium, origin_permits=chromium.origin_permits | {"h2"})
    cases: tuple[tuple[pl.DataFrame, BrowserRules], ...] = (
        (by_address, chromium),
        (possible, over_h3),
        (possible, firefox),
    )
    asked_for = beside.select("site", "server", *_ORIGIN)
    for name, (pairs, rule) in zip(SAVINGS, cases, strict=True):
        then = connections(replayed(groups, ways(pairs, rule)), rule)
        asked_for = asked_for.join(_exact_saving(today[rule.browser], then, name), on=_ORIGIN, how="left")
    return totals(asked_for, ["site", "server", "host"])


def totals(rows: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """SAVINGS summed over ``by``; NULL where one of them is not known."""
    return rows.group_by(by).agg(
        pl.when(pl.col(name).is_not_null().all()).then(pl.col(name).sum()).alias(name) for name in SAVINGS
    )


def _exact_saving(today: pl.DataFrame, then: pl.DataFrame, name: str) -> pl.DataFrame:
    """``name`` for each origin of each page, where both ways it is one number."""
    known = ((pl.col("low") == pl.col("high")) & (pl.col("low_then") == pl.col("high_then"))).all()
    saved = (pl.col("low") - pl.col("low_then")).sum()
    both = today.select("group", *_ORIGIN, "low", "high").join(
        then.select("group", pl.col("low").alias("low_then"), pl.col("high").alias("high_then")), on="group"
    )
    return both.group_by(_ORIGIN).agg(pl.when(known).then(saved).alias(name))


def _pairs_if_announced(groups: pl.DataFrame, found: pl.DataFrame, beside: pl.DataFrame) -> pl.DataFrame:
    """``found`` as it would be with each host of ``beside`` in the certificate and the ORIGIN set of its server."""
    servers = beside.select("visit_id", pl.col("server").alias("host"), pl.lit(value=True).alias("own")).unique()
    own = groups.join(servers, on=["visit_id", "host"], how="left", maintain_order="left")["own"].fill_null(value=False)
    held = (
        groups.select("group", *_ORIGIN, "protocol")
        .filter(serving(found, own))
        .filter(pl.col("protocol").is_in(["h2", "h3"]) | pl.col("protocol").is_null())
        .select("visit_id", "port", *(pl.col(name).alias(f"{name}_held") for name in ("group", "host", "protocol")))
    )
    alike = announced_over().fill_null(value=True)
    near = (
        groups.select("group", *_ORIGIN, "protocol", "misdirected")
        .filter(pl.col("protocol").ne_missing("h1"), ~pl.col("misdirected"))
        .join(beside.select(_ORIGIN).unique(), on=_ORIGIN, how="semi")
        .join(held, on=["visit_id", "port"])
        .filter(pl.col("group_held") < pl.col("group"), pl.col("host") != pl.col("host_held"), alike)
        .select("group", "group_held")
    )
    return in_place(found, could_join(groups, near))
