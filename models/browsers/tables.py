"""Everything that the browsers' rules say of some pages: counts, predictions, names exposed, causes."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from originset.data.columns import Table
from originset.data.reference.browser_rules import browser_rules
from originset.data.schema import (
    BROWSER_COUNTS,
    BROWSER_PREDICTIONS,
    PAGE_ADDRESSES,
    PAGE_NAMES,
    REDUNDANT_CONNECTIONS,
)
from originset.data.schema import polars_type as kind_of
from originset.models.browsers.asked import asked, modes_of
from originset.models.browsers.candidates import YES, pairs, planned_pairs
from originset.models.browsers.causes import redundant_connections
from originset.models.browsers.exposures import first_of_place, page_addresses, page_names
from originset.models.browsers.http1 import with_at_once
from originset.models.browsers.known import Known
from originset.models.browsers.part import Part, read
from originset.models.browsers.predictions import (
    connections,
    of_pages,
    with_handshakes,
    with_lookups,
    without_tls,
)
from originset.models.browsers.replay import replayed, ways
from originset.models.browsers.savings import saved_connections
from originset.models.browsers.servers import with_servers

TODAY, PLANNED = "today", "planned"

_BROWSER, _MODEL = pl.Enum(list(browser_rules())), pl.Enum([TODAY, PLANNED])


def browser_tables(
    tables: Mapping[str, pl.LazyFrame], colocated: pl.DataFrame | None = None, known: Known | None = None
) -> dict[str, pl.DataFrame]:
    """What the rules say of the pages of ``tables``, by name.

    ``browser_counts`` has one row per visit and BROWSER_COUNTS, columns of ``page_counts``: ``_low`` and ``_high`` hold
    for whatever the recorder left out; ``_tls`` is NULL unless they are one. A page that sent nothing over TLS needs 0.
    ``_dns`` counts names, those of requests over http and of names that do not exist included. An ORIGIN frame that no
    recorder saw is taken not to have been sent. The others are tables: ``browser_predictions``, ``page_names``,
    ``page_addresses`` and ``redundant_connections``. With ``colocated``
    (:func:`originset.models.colocated.colocated_hosts`) there is also ``saved_connections``
    (:func:`originset.models.browsers.savings.saved_connections`). Rows are in any order; texts that repeat are
    categories.

    Takes memory for all requests of ``tables``: give it parts of a large study (:func:`originset.models.parts.parts`),
    and all of them one ``known``, made of the same study.
    """
    known = known or Known(tables)
    part = read(tables, known)
    rows = modes_of(part)
    groups = groups_of(part, rows)
    found = pairs(known, groups)
    planned = planned_pairs(known, groups, found)
    # A planned pair takes the place of what both have today.
    unchanged = found.join(planned, on=["group", "group_held"], how="anti").select("group", "group_held")
    named = planned.join(found.filter(pl.col("covers") == YES), on=["group", "group_held"], how="anti")
    others = without_tls(part, groups)
    predictions, replays = [], {}
    for browser, rules in browser_rules().items():
        today = ways(found, rules)
        then = pl.concat([today.join(unchanged, on=["group", "group_held"], how="semi"), ways(planned, rules)])
        for model, taken, added in ((TODAY, today, None), (PLANNED, then, named)):
            opens = connections(replayed(groups, taken), rules)
            replays[browser if model == TODAY else f"{PLANNED}_{browser}"] = opens
            predictions.append(
                of_pages(part, opens, others, rules, added).with_columns(
                    pl.lit(browser, _BROWSER).alias("browser"), pl.lit(model, _MODEL).alias("model")
                )
            )
    predicted = pl.concat(predictions)
    best_case = first_of_place(part, groups)
    found_of_pages = {
        "browser_counts": _counts(predicted),
        "browser_predictions": _rows(predicted, BROWSER_PREDICTIONS),
        "page_names": _rows(page_names(part, groups, replays, best_case), PAGE_NAMES),
        "page_addresses": _rows(page_addresses(part, rows, groups, replays, best_case), PAGE_ADDRESSES),
        "redundant_connections": _rows(redundant_connections(part, rows), REDUNDANT_CONNECTIONS),
    }
    ids = part.visits["visit_id"].cast(known.visits)
    named_pages = {name: _named(frame, ids) for name, frame in found_of_pages.items()}
    named_pages["browser_counts"] = named_pages["browser_counts"].cast({"visit_id": pl.String})
    if colocated is None:
        return named_pages
    beside = colocated.select(
        *(
            pl.col("site").cast(pl.String),
            "server",
            "visit_id",
            pl.col("host").cast(pl.String).cast(known.hosts),
            "port",
        )
    )
    numbers = part.visits.select("visit_id").with_row_index("number")
    # Of pages that are left out nobody knows what they would save.
    unknown = beside.join(numbers, on="visit_id", how="anti").select("site", pl.col("server", "host").cast(pl.String))
    beside = (
        beside.with_columns(pl.col("server").cast(pl.String).cast(known.hosts))
        .join(numbers, on="visit_id")
        .drop("visit_id")
        .rename({"number": "visit_id"})
    )
    today_by_browser = {browser: replays[browser] for browser in browser_rules()}
    saved = saved_connections(groups, found, today_by_browser, beside)
    saved = saved.cast({"server": pl.String, "host": pl.String})
    return named_pages | {"saved_connections": pl.concat([saved, unknown], how="diagonal")}


def groups_of(part: Part, rows: pl.DataFrame) -> pl.DataFrame:
    """The groups of ``rows`` (:func:`originset.models.browsers.asked.modes_of`) with all that is known of them."""
    return with_lookups(with_handshakes(part, with_at_once(part, with_servers(part, asked(rows)))))


def _named(rows: pl.DataFrame, ids: pl.Series) -> pl.DataFrame:
    """Rows with the visits' ids again."""
    return rows.with_columns(ids.gather(rows["visit_id"]))


def _rows(found: pl.DataFrame, table: Table) -> pl.DataFrame:
    """A table's columns with their types, but for texts, which are as they are."""
    return found.select(
        pl.col(name) if kind in (pl.String, pl.List(pl.String)) else pl.col(name).cast(kind)
        for name, kind in table.polars_schema.items()
    )


def _counts(predicted: pl.DataFrame) -> pl.DataFrame:
    counts = predicted.select(pl.col("visit_id").unique().sort())
    for browser in browser_rules():
        one = predicted.filter(pl.col("browser") == browser, pl.col("model") == TODAY)
        exact = pl.when(pl.col("tls_low") == pl.col("tls_high")).then("tls_low")
        counts = counts.hstack(
            one.sort("visit_id").select(
                exact.alias(f"{browser}_tls"),
                pl.col("tls_low").alias(f"{browser}_tls_low"),
                pl.col("tls_high").alias(f"{browser}_tls_high"),
                pl.col("dns").alias(f"{browser}_dns"),
            )
        )
    return counts.select("visit_id", *(pl.col(column.name).cast(kind_of(column.type)) for column in BROWSER_COUNTS))
