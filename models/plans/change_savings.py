"""What the changes that a page's owner can make save in each browser: connections, lookups, bytes."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from originset.data.reference.browser_rules import BrowserRules, browser_rules
from originset.models.browsers.batch import Part
from originset.models.browsers.candidate_pairs import pairs, pairs_of_other_loads
from originset.models.browsers.causes.advised_changes import changed_part
from originset.models.browsers.causes.used_connections import used_connections
from originset.models.browsers.http1_connections import groups_of_other_loads
from originset.models.browsers.predictions import connections, of_pages, without_tls
from originset.models.browsers.replay import replayed, ways
from originset.models.browsers.request_groups import modes_of
from originset.models.browsers.tables import groups_of

#: Stands in place of a change's number for all changes of a page together.
ALL_CHANGES = -1

#: The columns of ``ChangeSavings.changes`` and ``ChangeSavings.instead``.
SAVED = pl.Schema(
    {
        **dict.fromkeys(("visit_id", "browser"), pl.String),
        "recorded": pl.Boolean,
        **dict.fromkeys(("change", "connections_low", "connections_high", "lookups"), pl.Int64),
        **dict.fromkeys(("handshake_bytes_low", "handshake_bytes_high"), pl.Int64),
    }
)
INSTEAD = pl.Schema(
    {"visit_id": pl.String, **dict.fromkeys(("change", "connection_id", "carrier_id"), pl.Int64), "certain": pl.Boolean}
)

_ORIGIN = ["visit_id", "host", "port"]
_CHANGE = ["visit_id", "change"]
_BOUNDS = ("low", "high", "least", "most")


#: How many changes of a page are also tried each by itself: every one is a replay, and a stranger's page can have
#: as many as hosts. 160 took 28 s of CPU.
MOST_TRIED_ALONE = 20


@dataclass(frozen=True, slots=True)
class ChangeSavings:
    """What the first changes of each page save by themselves, and all of a page together (``change`` is ALL_CHANGES).

    ``changes``: visit_id, browser, recorded (by it), change, connections_low, connections_high, lookups, and
    handshake_bytes_low and _high (of the certificates that servers send in these connections' handshakes); NULL: not
    known. ``instead``: visit_id, change, connection_id, carrier_id and certain: which of the recorded connections go,
    and which would carry their requests; certain ones are gone even if as few go as may be.
    """

    changes: pl.DataFrame
    instead: pl.DataFrame


@dataclass(frozen=True, slots=True)
class _BrowserNeeds:
    """What a browser needs of pages.

    ``origins``: visit_id, host, port, low and high (connections), least and most (the same, in any load), chain_bytes;
    ``lookups``: visit_id and dns.
    """

    origins: pl.DataFrame
    lookups: pl.DataFrame


def change_savings(part: Part, advised: pl.DataFrame) -> ChangeSavings:
    """What ``advised`` (rows of ADVISED_CHANGES) saves, by the rules of each browser.

    In the recorded browser (of one that no rules are known of, in Chromium) it is the difference between what was
    recorded and what the rules say of the page after the change; in another, between what they say before and after.
    Where the rules do not give a host the number that was recorded, or chance may give it another in other loads, it is
    a range from the one to the other. A host of which they say the same before and after keeps its connections,
    whatever else may be uncertain about it.
    """
    number = pl.col("visit_id").cast(pl.Enum(part.visits["visit_id"]), strict=False).to_physical().cast(pl.UInt32)
    rows = advised.with_columns(number).filter(pl.col("visit_id").is_not_null())
    if rows.is_empty():
        return ChangeSavings(SAVED.to_frame(), INSTEAD.to_frame())
    modes = modes_of(part)
    used = used_connections(part, modes)
    others = without_tls(part, groups_of(part, modes))
    changes, instead = [], []
    for name, rules in browser_rules().items():
        recorded = _recorded_by(part, name)
        today = _browser_needs(part, rules, others, recorded)
        together = rows.with_columns(pl.lit(ALL_CHANGES, pl.Int64).alias("change"))
        for one in (together, *rows.filter(pl.col("change") < MOST_TRIED_ALONE).partition_by("change")):
            then = _browser_needs(part, rules, others, recorded, one)
            before = _with_unseen_preconnects(today.origins, one) if rules.modes_share_host else today.origins
            fewer = _fewer_connections(before, then, used, one.join(recorded, on="visit_id", how="left"))
            named = (
                pl.lit(name).alias("browser"),
                pl.col("visit_id").is_in(recorded["visit_id"].implode()).alias("recorded"),
            )
            changes.append(_savings_rows(fewer, today, then, one).with_columns(named))
            instead.append(_carried_instead(fewer, used, one.join(recorded, on="visit_id", how="semi")))
    return ChangeSavings(_with_visit_ids(part, changes, SAVED), _with_visit_ids(part, instead, INSTEAD))


def _recorded_by(part: Part, browser: str) -> pl.DataFrame:
    """visit_id and ``recorded_by`` (true) of the visits that count as the browser's."""
    names = part.visits["browser"].str.split("-").list.first()
    known = names.is_in(list(browser_rules())).fill_null(value=False)
    of_browser = (names == browser).fill_null(value=False) | (~known if browser == "chromium" else False)
    visits = pl.DataFrame({"visit_id": pl.Series(range(part.visits.height), dtype=pl.UInt32), "own": of_browser})
    return visits.filter("own").select("visit_id", recorded_by=True)


def _with_visit_ids(part: Part, frames: list[pl.DataFrame], schema: pl.Schema) -> pl.DataFrame:
    if not frames:
        return schema.to_frame()
    rows = pl.concat(frames)
    return rows.with_columns(part.visits["visit_id"].gather(rows["visit_id"])).cast(schema).select(schema.names())


def _browser_needs(
    part: Part,
    rules: BrowserRules,
    others: pl.DataFrame,
    recorded: pl.DataFrame,
    changes: pl.DataFrame | None = None,
) -> _BrowserNeeds:
    """What a browser needs of each host of the pages, as they are or after changes.

    ``others``: what is asked for besides, before and after. ``recorded``: the visits whose times are the browser's own.
    """
    then, names = (part, None) if changes is None else changed_part(part, changes)
    groups = groups_of(then, modes_of(then))
    if changes is not None:
        # That the recording has a connection of its own for such a host says nothing of what is changed about it.
        hosts = changes.select("visit_id", pl.col("host").cast(part.facts.hosts), changed=True).unique()
        groups = groups.join(hosts, on=["visit_id", "host"], how="left", maintain_order="left")
        groups = groups.with_columns(opened=pl.col("opened") & pl.col("changed").is_null()).drop("changed")
    found = pairs(part.facts, groups, names)
    opens = connections(replayed(groups, ways(found, rules)), rules)
    origins = _of_origins(opens).with_columns(least="low", most="high")
    if recorded.height:
        any_load = replayed(groups_of_other_loads(then, groups), ways(pairs_of_other_loads(found), rules))
        bounds = _of_origins(connections(any_load, rules)).select(*_ORIGIN, least="low", most="high")
        own = origins.drop("least", "most").join(recorded.select("visit_id"), on="visit_id", how="semi")
        other = origins.join(recorded, on="visit_id", how="anti")
        origins = pl.concat([other, own.join(bounds, on=_ORIGIN).select(other.columns)])
    return _BrowserNeeds(origins, of_pages(then, opens, others, rules).select("visit_id", "dns"))


def _of_origins(opens: pl.DataFrame) -> pl.DataFrame:
    return opens.group_by(_ORIGIN).agg(
        pl.col("low").sum(),
        (pl.col("high") + pl.col("as_recorded").cast(pl.Int64)).sum().alias("high"),
        pl.col("chain_bytes").first(),
    )


def _with_unseen_preconnects(origins: pl.DataFrame, changes: pl.DataFrame) -> pl.DataFrame:
    """``origins``, where hosts that are asked with and without credentials may have a connection for each.

    A browser that shares one among both has two if the page announced one (preconnect) before it asked; no recording
    shows that.
    """
    both_ways = changes.filter(cause="CRED").select("visit_id", pl.col("host").cast(origins.schema["host"]), both=True)
    joined = origins.join(both_ways.unique(), on=["visit_id", "host"], how="left")
    return joined.with_columns(pl.when("both").then(pl.max_horizontal("high", 2)).otherwise("high").alias("high"))


def _fewer_connections(
    today: pl.DataFrame, then: _BrowserNeeds, used: pl.DataFrame, changes: pl.DataFrame
) -> pl.DataFrame:
    """visit_id, host, port, saved_low, saved_high and chain_bytes of each host that a change concerns."""
    recorded = used.group_by(_ORIGIN).agg(pl.len().cast(pl.Int64).alias("recorded"))
    of_then = then.origins.select(*_ORIGIN, pl.col(_BOUNDS).name.suffix("_then"))
    both = today.join(of_then, on=_ORIGIN, how="full", coalesce=True).with_columns(
        pl.col(*_BOUNDS, *(f"{name}_then" for name in _BOUNDS)).fill_null(0)
    )
    concerned = both.join(changes.select("visit_id").unique(), on="visit_id", how="semi").filter(
        pl.any_horizontal(pl.col(name) != pl.col(f"{name}_then") for name in _BOUNDS)
    )
    by_it = changes.select("visit_id", "recorded_by").unique()
    counted = concerned.join(recorded, on=_ORIGIN, how="left").join(by_it, on="visit_id", how="left")
    # Where the rules give less or more than was recorded, it was chance, and a next load may have either.
    seen = pl.when("recorded_by").then(pl.col("recorded").fill_null(0))
    by_chance = (
        pl.when(pl.col("least") < pl.col("low")).then("least"),
        pl.when(pl.col("most") > pl.col("high")).then("most"),
    )
    least = pl.when("recorded_by").then(pl.min_horizontal(seen, "high", by_chance[0])).otherwise("low")
    most = pl.when("recorded_by").then(pl.max_horizontal(seen, "low", by_chance[1])).otherwise("high")
    return counted.select(
        *_ORIGIN,
        (least - pl.max_horizontal("high_then", "most_then")).alias("saved_low"),
        (most - pl.min_horizontal("low_then", "least_then")).alias("saved_high"),
        "chain_bytes",
    )


def _savings_rows(
    fewer: pl.DataFrame, today: _BrowserNeeds, then: _BrowserNeeds, changes: pl.DataFrame
) -> pl.DataFrame:
    pages = changes.select(_CHANGE).unique()
    unknown = (pl.col("chain_bytes").is_null() & (pl.col("saved_high") != 0)).any()
    sizes = {end: (pl.col(f"saved_{end}") * pl.col("chain_bytes")).sum() for end in ("low", "high")}
    sums = fewer.group_by("visit_id").agg(
        pl.col("saved_low").sum().alias("connections_low"),
        pl.col("saved_high").sum().alias("connections_high"),
        *(pl.when(~unknown).then(sent).alias(f"handshake_bytes_{end}") for end, sent in sizes.items()),
    )
    lookups = today.lookups.join(then.lookups, on="visit_id", suffix="_then").select(
        "visit_id", (pl.col("dns").cast(pl.Int64) - pl.col("dns_then").cast(pl.Int64)).alias("lookups")
    )
    numbers = ("connections_low", "connections_high", "handshake_bytes_low", "handshake_bytes_high")
    touched = pages.join(sums.with_columns(touched=True), on="visit_id", how="left")
    return (
        touched.with_columns(
            pl.when(pl.col("touched").is_null()).then(0).otherwise(name).cast(pl.Int64).alias(name) for name in numbers
        )
        .join(lookups, on="visit_id", how="left")
        .select(*_CHANGE, *numbers[:2], "lookups", *numbers[2:])
    )


def _carried_instead(fewer: pl.DataFrame, used: pl.DataFrame, changes: pl.DataFrame) -> pl.DataFrame:
    """Which of the connections that a change is for go: of each host the latest, as many as are saved of it."""
    key = ["visit_id", "connection_id"]
    hosts = used.select("number", *key, "host", "port")
    ranked = (
        changes.select(*_CHANGE, "connection_id", carrier_id="reusable_connection_id")
        .join(hosts, on=key)
        .join(fewer, on=_ORIGIN)
        .with_columns(place=pl.col("number").rank("ordinal", descending=True).over(_ORIGIN).cast(pl.Int64))
        .filter(pl.col("place") <= pl.col("saved_high"))
    )
    return ranked.select(*_CHANGE, "connection_id", "carrier_id", certain=pl.col("place") <= pl.col("saved_low"))
