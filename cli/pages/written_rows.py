"""Rows that commands write as a JSON array of objects: their columns, and what a row is."""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from originset.cli.check.evidence_sample import DRAWN_PAIRS
from originset.cli.check.lint_report import LINTED
from originset.cli.check.pairs import ASKED_PAIRS
from originset.cli.check.server_report import CHECKED
from originset.cli.common.live import CONTACTS
from originset.cli.common.reference_data import REFERENCE_FACTS
from originset.cli.lab.doctor import FINDINGS
from originset.cli.plan.rollout.status_command import RING_STATES
from originset.cli.query import NAMED_QUERIES
from originset.data.schema.described_study import STATUS, STUDY_COLUMNS, STUDY_TABLES
from originset.data.schema.study_tables import TABLES
from originset.models.experiments.experiment_checks import CHECKS
from originset.models.plans.inventory.ring_comparison import COMPARED
from originset.models.plans.plan_difference import DIFFERENCE
from originset.models.plans.plan_prediction import PREDICTION
from originset.models.plans.plan_rows import PLAN_ROWS
from originset.models.plans.plan_verification import VERIFIED
from originset.queries.comparison.compared_values import PAGE_CHANGES, TOTAL_CHANGES
from originset.queries.comparison.connection_changes import CONNECTION_CHANGES
from originset.queries.figures.all_figures import NUMBERS

#: Columns that rows have with ``study compare --by``.
_BY = pl.Schema(dict.fromkeys(("vantage_before", "vantage_after", "round_before", "round_after"), pl.String()))
#: Columns of figures' numbers that need the authors' data, or a study.
_SIDES = pl.Schema(dict.fromkeys(("authors", "ours", "difference"), pl.Float64()))
_OF_LOG = pl.Schema({"number": pl.String(), "unit": pl.String(), "value": pl.Float64()})


@dataclass(frozen=True, slots=True)
class WrittenRows:
    """The rows of the command line ``written``; ``known``: columns that are never null.

    ``optional``: columns that rows have with some options.
    """

    columns: pl.Schema
    written: str
    description: str
    known: tuple[str, ...]
    optional: pl.Schema = field(default_factory=pl.Schema)


#: By the name that their schema has in ``$defs``.
ROWS = {
    "status": WrittenRows(
        STATUS,
        "study status --format json",
        "Visits of a crawl in one state, or files of a study; latest: when the newest was made.",
        ("what",),
    ),
    "study_tables": WrittenRows(
        STUDY_TABLES, "study schema --format json", "A table or view of every study.", tuple(STUDY_TABLES)
    ),
    "study_columns": WrittenRows(
        STUDY_COLUMNS,
        "study schema TABLE --format json",
        "A column of a table; key: whether it is of the table's key.",
        ("name", "type", "key", "description"),
    ),
    "figures": WrittenRows(
        pl.Schema({name: kind for name, kind in NUMBERS.items() if name not in _SIDES}),
        "study figures --format json",
        "A number of one of the paper's figures; authors with --paper, ours with a study.",
        ("figure", "number", "unit"),
        _SIDES,
    ),
    "compare_totals": WrittenRows(
        TOTAL_CHANGES,
        "study compare --format json",
        "A measure over all pages, before and after; the last four columns are numbers of pages by verdict.",
        ("metric", "pages", "before", "after", "change", *TOTAL_CHANGES.names()[-4:]),
        _BY,
    ),
    "compare_pages": WrittenRows(
        PAGE_CHANGES,
        "study compare --rows pages --format json",
        "A measure of a page, before and after.",
        ("site", "metric", "visits", "visits_after", "before", "after", "change", "verdict"),
        _BY,
    ),
    "compare_connections": WrittenRows(
        CONNECTION_CHANGES,
        "study compare --rows connections --format json",
        "A host of a page whose connections changed in number; why: it has no requests on one side, or they are "
        "carried by another host's connection.",
        ("site", "host", "before", "after", "change"),
        _BY,
    ),
    "contacts": WrittenRows(
        CONTACTS,
        "study enrich --dry-run --format json",
        "A host that would be asked for, or not (why_not); contacted is null where an answer decides.",
        ("host", "what", "visits"),
    ),
    "reference": WrittenRows(
        REFERENCE_FACTS,
        "study reference show --format json",
        "A table of the reference data in use.",
        ("what",),
    ),
    "updated_reference": WrittenRows(
        REFERENCE_FACTS,
        "study reference update --format json",
        "A table of the reference data that is in use from now on.",
        ("what",),
    ),
    "named_queries": WrittenRows(
        NAMED_QUERIES,
        "query --format json",
        "A query of the catalogue; paper: the table or figure that it is for.",
        ("name", "summary", "parameters", "columns"),
    ),
    "plan_rows": WrittenRows(
        PLAN_ROWS,
        "plan site --format json",
        "An origin to announce or to leave out, or a name to add or to ask its owner for.",
        ("action",),
    ),
    "provider": WrittenRows(
        TABLES["provider_changes"].polars_schema,
        "plan provider --format json",
        "A name to add to the certificates of a provider's sites, as in the table provider_changes.",
        ("provider", "name"),
    ),
    "prediction": WrittenRows(
        PREDICTION,
        "plan predict --format json",
        "What a browser needs for a site's pages today, with what can be announced now, or with the whole plan.",
        ("browser", "model", "pages", "tls_low", "tls_high", "dns_pages", "handshake_pages"),
    ),
    "plan_difference": WrittenRows(
        DIFFERENCE, "plan diff --format json", "What came or went between two plans.", ("change", "kind", "value")
    ),
    "ring_states": WrittenRows(
        RING_STATES,
        "plan rollout status --format json",
        "A ring of a rollout, and how far it is.",
        tuple(RING_STATES),
    ),
    "ring_comparison": WrittenRows(
        COMPARED,
        "plan rollout compare --format json",
        "A measure of a ring's traffic, in both groups; null where the files do not have it.",
        ("measure", "verdict"),
    ),
    "server": WrittenRows(
        CHECKED,
        "check server --format json",
        "A test of a server. The address is null where the name has none.",
        ("site", "test", "result", "subject", "detail"),
    ),
    "lint": WrittenRows(
        LINTED,
        "check lint --format json",
        "A connection's host and another that is requested on it; both are null where a line was not understood.",
        ("verdict", "why", "file", "line"),
    ),
    "drawn_pairs": WrittenRows(
        DRAWN_PAIRS,
        "check pairs --dry-run --format json",
        "Two hosts that would be asked for over one another's connections.",
        ("kind", "level", "host_a", "host_b"),
    ),
    "asked_pairs": WrittenRows(
        ASKED_PAIRS,
        "check pairs --format json",
        "A host that was requested over a connection opened for server.",
        ("kind", "level", "server", "host"),
    ),
    "experiment_checks": WrittenRows(
        CHECKS,
        "experiment run --format json",
        "A number of the experiment, predicted and observed; holds is null where nothing was predicted.",
        ("number", "unit"),
    ),
    "verified_plan": WrittenRows(
        VERIFIED,
        "experiment verify --format json",
        "A host of a page, with the connection predicted to serve it and the one that did; a difference "
        "between plan and study has no page.",
        ("host", "predicted", "observed", "agrees"),
    ),
    "experiment_log": WrittenRows(
        _OF_LOG, "experiment log --format json", "A number of the experiment.", ("number", "unit")
    ),
    "findings": WrittenRows(
        FINDINGS,
        "lab doctor --format json",
        "A program or a right, what needs it, and what provides it where it is missing.",
        ("what", "needed_for"),
    ),
}
