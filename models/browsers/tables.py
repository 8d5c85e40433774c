"""Everything that the browsers' rules say of some pages: counts, predictions, names exposed, causes."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from originset.data.reference.browser_rules import browser_rules
from originset.data.schema.study_tables import (
    BROWSER_COUNTS,
    BROWSER_PREDICTIONS,
    PAGE_ADDRESSES,
    PAGE_NAMES,
    PREDICTIONS_CHECK,
    REDUNDANT_CONNECTIONS,
    polars_type,
)
from originset.models.browsers.backtest.predictions_check import predictions_check
from originset.models.browsers.backtest.recorded_facts import without_sharing
from originset.models.browsers.backtest.version_predictions import by_recorders_rules
from originset.models.browsers.batch import INPUTS, Part, read
from originset.models.browsers.candidate_pairs import pairs, planned_pairs, with_cookies_blocked
from originset.models.browsers.causes.connection_causes import redundant_connections
from originset.models.browsers.connection_facts import with_servers
from originset.models.browsers.http1_connections import with_at_once
from originset.models.browsers.observer_exposure import first_of_place, page_addresses, page_names
from originset.models.browsers.predictions import (
    connections,
    lacking,
    of_pages,
    with_handshakes,
    with_lookups,
    without_tls,
)
from originset.models.browsers.replay import replayed, ways
from originset.models.browsers.request_groups import asked, modes_of
from originset.models.browsers.savings import SAVED_CONNECTIONS, saved_connections
from originset.models.browsers.sharing_rules import YES

TODAY, PLANNED, RECORDED = "today", "planned", "recorded"

# Firefox opens the same connections whatever third-party cookies are set to.
_COOKIES_BLOCKED = "chromium_cookies_blocked"

#: The models whose rows :func:`browser_tables` takes.
READS = (*INPUTS, "colocated_hosts")

#: What it returns: the columns of each.
WRITES = {
    "browser_counts": pl.Schema(
        {"visit_id": pl.String(), **{column.name: polars_type(column.type) for column in BROWSER_COUNTS}}
    ),
    "browser_predictions": BROWSER_PREDICTIONS.polars_schema,
    "page_names": PAGE_NAMES.polars_schema,
    "page_addresses": PAGE_ADDRESSES.polars_schema,
    "predictions_check": PREDICTIONS_CHECK.polars_schema,
    "redundant_connection_causes": REDUNDANT_CONNECTIONS.polars_schema,
    "saved_connections": SAVED_CONNECTIONS,
}

_BROWSER, _MODEL = pl.Enum(list(browser_rules())), pl.Enum([TODAY, PLANNED, RECORDED])
_PAIR = ["group", "group_held"]


def browser_tables(rows: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """What the browsers' rules say of a batch of pages: the tables WRITES, rows in any order.

    ``rows``: of the models READS, by name; texts are Strings.

    ``browser_counts`` has one row per visit and BROWSER_COUNTS, columns of ``page_counts``: ``_low`` and ``_high`` hold
    for whatever the recorder left out; ``_tls`` is NULL unless they are one. A page that sent nothing over TLS needs 0.
    ``_dns`` counts names, those of requests over http and of names that do not exist included. Third-party cookies are
    as in the recording, but for ``chromium_cookies_blocked``. An ORIGIN frame that no recorder saw is taken not to have
    been sent. ``redundant_connection_causes`` are rows of the table ``redundant_connections`` but for
    ``based_on_live``, which is False. ``saved_connections``: see
    :func:`originset.models.browsers.savings.saved_connections`; of hosts of visits that browser_visits lacks nothing is
    known. The others are tables of the study.
    """
    part = read(rows)
    modes = modes_of(part)
    groups = groups_of(part, modes)
    found = pairs(part.facts, groups)
    replays, predicted = _replayed_groups(part, groups, found)
    replays[_COOKIES_BLOCKED] = _with_cookies_blocked(groups, found)
    best_case = first_of_place(part, groups)
    redundant = redundant_connections(part, modes)
    of_pages = {
        "browser_counts": _counts(part, groups, predicted, replays[_COOKIES_BLOCKED]),
        "browser_predictions": predicted,
        "page_names": page_names(part, groups, replays, best_case),
        "page_addresses": page_addresses(part, modes, groups, replays, best_case),
        "predictions_check": _checked(part, redundant),
        "redundant_connection_causes": redundant,
    }
    ids = part.visits["visit_id"]
    named = {name: frame.with_columns(ids.gather(frame["visit_id"])) for name, frame in of_pages.items()}
    named["saved_connections"] = _saved_connections(part, groups, found, replays, rows["colocated_hosts"]).sort(
        "site", "server", "host"
    )
    return {name: frame.select(WRITES[name].names()).cast(WRITES[name]) for name, frame in named.items()}


def _replayed_groups(
    part: Part, groups: pl.DataFrame, found: pl.DataFrame
) -> tuple[dict[str, pl.DataFrame], pl.DataFrame]:
    """What becomes of the groups in each browser, today and planned, and what each page needs then."""
    planned = planned_pairs(part.facts, groups, found)
    # A planned pair takes the place of what both have today.
    unchanged = found.join(planned, on=_PAIR, how="anti").select(_PAIR)
    named = planned.join(found.filter(pl.col("covers") == YES), on=_PAIR, how="anti")
    others = without_tls(part, groups)
    predictions, replays = [], {}
    for browser, rules in browser_rules().items():
        today = ways(found, rules)
        then = pl.concat([today.join(unchanged, on=_PAIR, how="semi"), ways(planned, rules)])
        for model, taken, added in ((TODAY, today, None), (PLANNED, then, named)):
            opens = connections(replayed(groups, taken), rules)
            replays[browser if model == TODAY else f"{PLANNED}_{browser}"] = opens
            predictions.append(
                of_pages(part, opens, others, rules, added).with_columns(
                    pl.lit(browser, _BROWSER).alias("browser"),
                    pl.lit(model, _MODEL).alias("model"),
                    pl.lit(rules.version).alias("rules_version"),
                    # What was recorded says how likely what servers do today is, not what they would do.
                    pl.when(model == TODAY).then("tls_likely").alias("tls_likely"),
                )
            )
            if model == TODAY:
                predictions[-1] = predictions[-1].join(lacking(opens, found, rules), on="visit_id", how="left")
    predicted = pl.concat(predictions, how="diagonal")
    own = by_recorders_rules(part, groups, found, predicted.filter(model=TODAY))
    return replays, pl.concat([predicted, own.with_columns(pl.lit(RECORDED, _MODEL).alias("model"))], how="diagonal")


def _checked(part: Part, redundant: pl.DataFrame) -> pl.DataFrame:
    """Rows of ``predictions_check``: what the rules predict without what the recordings say of sharing."""
    facts = without_sharing(part)
    groups = groups_of(facts, modes_of(facts))
    causes = redundant.select("visit_id", "connection_id", "cause")
    return predictions_check(part, groups, pairs(facts.facts, groups), causes)


def _with_cookies_blocked(groups: pl.DataFrame, found: pl.DataFrame) -> pl.DataFrame:
    """What becomes of the groups in Chromium, today, if it blocks third-party cookies."""
    rules = browser_rules()["chromium"]
    return connections(replayed(groups, ways(with_cookies_blocked(found), rules)), rules)


def _saved_connections(
    part: Part, groups: pl.DataFrame, found: pl.DataFrame, replays: Mapping[str, pl.DataFrame], colocated: pl.DataFrame
) -> pl.DataFrame:
    """Rows of ``saved_connections``; of visits that are left out nobody knows what they would save."""
    beside = colocated.select("site", "server", "visit_id", "host", "port")
    numbers = part.visits.select("visit_id", number=pl.int_range(pl.len(), dtype=pl.UInt32))
    unknown = beside.join(numbers, on="visit_id", how="anti").select("site", "server", "host")
    located = (
        beside.join(numbers, on="visit_id")
        .drop("visit_id")
        .rename({"number": "visit_id"})
        .with_columns(pl.col("server", "host").cast(part.facts.hosts))
    )
    saved = saved_connections(groups, found, {browser: replays[browser] for browser in browser_rules()}, located)
    return pl.concat([saved.cast({"server": pl.String, "host": pl.String}), unknown], how="diagonal")


def groups_of(part: Part, rows: pl.DataFrame) -> pl.DataFrame:
    """The groups of ``rows``, those of ``request_groups.modes_of``, with all that is known of them."""
    return with_lookups(with_handshakes(part, with_at_once(part, with_servers(part, asked(rows)))))


def _counts(part: Part, groups: pl.DataFrame, predicted: pl.DataFrame, cookies_blocked: pl.DataFrame) -> pl.DataFrame:
    today = predicted.filter(pl.col("model") == TODAY)
    needed = {browser: today.filter(pl.col("browser") == browser) for browser in browser_rules()}
    chromium = browser_rules()["chromium"]
    needed[_COOKIES_BLOCKED] = of_pages(part, cookies_blocked, without_tls(part, groups), chromium)
    counts = predicted.select(pl.col("visit_id").unique().sort())
    for name, of_browser in needed.items():
        exact = pl.when(pl.col("tls_low") == pl.col("tls_high")).then("tls_low")
        counts = counts.hstack(
            of_browser.sort("visit_id").select(
                exact.alias(f"{name}_tls"),
                pl.col("tls_low").alias(f"{name}_tls_low"),
                pl.col("tls_likely").alias(f"{name}_tls_likely"),
                pl.col("tls_high").alias(f"{name}_tls_high"),
                pl.col("dns").alias(f"{name}_dns"),
            )
        )
    return counts
