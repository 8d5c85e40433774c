"""All model tables of a study at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import polars as pl

from originset.data.columns import Table
from originset.data.schema import MODEL_SENSITIVITY, PAGE_COUNTS, TABLES
from originset.models.browsers.known import Known
from originset.models.browsers.tables import browser_tables
from originset.models.categories import Categories
from originset.models.colocated import at_documents, colocated_hosts
from originset.models.crowded import crowded
from originset.models.documents import documents
from originset.models.evidence import SAME_EDGE, colocation_evidence, misdirected_hosts, pair_levels
from originset.models.keys import Keys, keys
from originset.models.live import marked, with_live
from originset.models.origin_sets import origin_sets
from originset.models.page_counts import first_connections, page_counts, with_merges
from originset.models.parameters import Parameters
from originset.models.parts import ROWS, parts
from originset.models.proposals import announcements, proposals
from originset.models.provider_changes import carried, provider_changes
from originset.models.site_certificates import certificate_additions, site_certificates
from originset.models.timeline import page_load_times, timed, timed_by
from originset.models.uses import Ints, known_connections, pages

# What evidence and merging need of the uses of all pages; of their requests, whether some were answered or refused.
_KEPT = (
    *("host", "server_ip", "key", "connection_id", "certain", "secure"),
    (pl.col("refused") < pl.col("requests")).alias("answered"),
    pl.col("refused") > 0,
)

# What of_part reads of these tables.
_OFTEN = {
    "visits": ("visit_id", "site", "vantage", "source", "final_url", "status", "quality", "load_ms", "started_at"),
    "connections": ("visit_id", "connection_id", "opened_ms", "certificate_id", "source", "tls"),
}

_LEFT = {"documents": "visit_id", "colocated": "visit_id"}

_OF_BROWSERS = ("browser_predictions", "page_names", "page_addresses", "redundant_connections")


def model_tables(
    tables: Mapping[str, pl.LazyFrame], parameters: Parameters, part_rows: int = ROWS, *, browsers: bool = True
) -> dict[str, pl.DataFrame]:
    """Every table of stage MODELLED, by name, from the tables of the stages before it (all of them, by name).

    Pure: the same rows give the same tables, whatever their order. Requests are read once, about ``part_rows`` at a
    time, and kept as their uses. Without ``browsers`` the tables and columns of the browsers' rules are left out; the
    others do not depend on them. ``model_sensitivity`` is empty (:mod:`originset.models.sensitivity` fills it). Texts
    that repeat are categories in some.
    """
    tables, live = with_live(tables)
    categories = Categories()
    known, of_study = keys(tables, parameters.colocation, categories), Known(tables) if browsers else None
    kept: defaultdict[str, list[pl.DataFrame]] = defaultdict(list)
    visits = 0
    for part in parts(tables, part_rows):
        frames = of_part(part, known, parameters, visits, categories)
        if of_study is not None:
            frames |= browser_tables(part, frames["colocated"], of_study)
        for name, frame in frames.items():
            kept[name].append(_kept(name, frame))
        visits += kept["visits"][-1].height
    del known, of_study, categories
    whole = {name: pl.concat(kept.pop(name)) for name in list(kept)}
    if browsers:
        whole["redundant_connections"] = marked(whole["redundant_connections"], live)
    evidence = colocation_evidence(tables, whole["visits"].filter(~pl.col("crowded")), whole["uses"])
    levels = pair_levels(evidence.lazy(), SAME_EDGE).collect()
    counts = with_merges(whole["page_counts"], whole["uses"], whole["origins"], levels, parameters.coverage)
    if browsers:
        counts = counts.join(whole["browser_counts"], on="visit_id", how="left")
    misdirected = misdirected_hosts(tables, whole["uses"]).lazy()
    del whole["uses"], whole["origins"]
    own, colocated = whole.pop("documents").lazy(), whole.pop("colocated").lazy()
    saved = whole["saved_connections"] if browsers else None
    additions = certificate_additions(tables, evidence.lazy(), own, colocated, parameters)
    additions = proposals(tables, additions, misdirected.collect(), saved)
    sets = announcements(origin_sets(tables, evidence.lazy(), own, colocated, misdirected), saved)
    del colocated
    return {
        **{name: whole[name].sort(TABLES[name].key) for name in _OF_BROWSERS if browsers},
        "colocation_evidence": evidence,
        "page_counts": _rows_of(PAGE_COUNTS, counts).sort("visit_id"),
        "site_certificates": site_certificates(tables, own, additions.lazy()),
        "certificate_additions": additions,
        "origin_sets": sets,
        "provider_changes": provider_changes(tables, own, whole.pop("carried"), additions, parameters),
        "page_load_times": whole["page_load_times"].sort("visit_id"),
        "model_sensitivity": MODEL_SENSITIVITY.polars_schema.to_frame(),
    }


def of_part(
    part: Mapping[str, pl.LazyFrame], known: Keys, parameters: Parameters, visits: int, categories: Categories
) -> dict[str, pl.DataFrame]:
    """What the pages of one part say by themselves, and of the requests what is needed beside that.

    ``visits``: how many visits are in the parts before; they number those of this part. ``categories``: of hosts and
    addresses, those of the parts before among them. Texts that repeat are categories.
    """
    # These are used several times.
    part = {**part} | {name: part[name].select(columns).collect().lazy() for name, columns in _OFTEN.items()}
    read = pages(part, categories, *timed_by(parameters))
    uses = known.of(read.uses)
    started = timed(read)
    of_started = uses if started is read else known.of(started.uses)
    connections = known_connections(part, read)
    own = documents(part, read, uses, connections)
    origins = first_connections(read, uses, connections)
    here = at_documents(uses, own)
    began = part["visits"].select("visit_id", pl.col("started_at").alias("at")).collect()
    visit = (pl.col("page") + visits).cast(pl.Int32).alias("visit")
    alone = crowded(uses["page"].to_numpy(), uses["host"], uses["connection_id"])
    return {
        "page_load_times": page_load_times(part, started, of_started, parameters),
        "page_counts": page_counts(part, read, uses, origins, alone).with_columns(visit),
        "documents": own,
        "colocated": colocated_hosts(here),
        "carried": carried(here),
        "origins": _paired(origins, alone).select(visit, "host", "key", "refused", pl.col("first").cast(pl.Int32)),
        "uses": _paired(uses, alone).select(visit, *_KEPT),
        "visits": read.numbers.join(began, on="visit_id", how="left", maintain_order="left")
        .join(own.select("page", "server"), on="page", how="left", maintain_order="left")
        .select(visit, "visit_id", "at", "server", _is_of(alone).alias("crowded")),
    }


def _paired(rows: pl.DataFrame, alone: Ints) -> pl.DataFrame:
    """``rows`` without those of pages whose pairs are not looked at."""
    return rows.filter(~_is_of(alone)) if alone.size else rows


def _is_of(pages: Ints) -> pl.Expr:
    return pl.col("page").is_in(pages.tolist())


def _kept(name: str, rows: pl.DataFrame) -> pl.DataFrame:
    """What is needed of a part's rows when all have been read."""
    rows = rows.drop(_LEFT.get(name, ()))
    if name == "documents":
        # As a category and back it is a text among those of all parts: as it is it would keep the memory of its own.
        rows = rows.with_columns(pl.col("certificate_id").cast(pl.Categorical).cast(pl.String))
    return rows


def _rows_of(table: Table, rows: pl.DataFrame) -> pl.DataFrame:
    columns = table.polars_schema
    return rows.select(pl.col(name).cast(kind) for name, kind in columns.items() if name in rows.columns)
