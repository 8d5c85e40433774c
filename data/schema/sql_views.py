"""The schema's views that are files: data/schema/views/NAME.sql, each described by its header."""

from __future__ import annotations

from importlib import resources

from originset.data.schema.columns import Column, Stage, Table, table
from originset.data.schema.sql_header import read_header


def view_sql(name: str) -> str:
    """The SELECT of the view ``name``, with its header."""
    return (resources.files("originset.data.schema") / "views" / f"{name}.sql").read_text(encoding="utf-8")


def view(name: str, key: str, *columns: Column, **types: str) -> Table:
    """The view that the file ``views/NAME.sql`` defines.

    ``columns``: its columns from another table; ``types``: DuckDB's types of its other columns, by name.

    Raises:
        KeyError: the file's header does not describe one of these other columns.
    """
    header = read_header(view_sql(name))
    own = [Column(column, kind, header.columns[column]) for column, kind in types.items()]
    return table(name, Stage.VIEW, key, header.description, *columns, *own, view=view_sql(name))


SELECTED_VISITS = view(
    "selected_visits",
    "visit_id",
    visit_id="VARCHAR",
    vantage="VARCHAR",
    browser="VARCHAR",
    site="VARCHAR",
    page="VARCHAR",
    page_kind="VARCHAR",
    rank="INTEGER",
)

COUNTED_VISITS = view(
    "counted_visits",
    "question visit_id",
    question="VARCHAR",
    visit_id="VARCHAR",
    vantage="VARCHAR",
    browser="VARCHAR",
    site="VARCHAR",
    page="VARCHAR",
    rank="INTEGER",
    weight="DOUBLE",
)

BASIS_SUMMARY = view(
    "basis_summary",
    "question vantage browser",
    question="VARCHAR",
    vantage="VARCHAR",
    browser="VARCHAR",
    sites="BIGINT",
    pages="BIGINT",
    visits="BIGINT",
    left_out="BIGINT",
    left_out_why="VARCHAR",
)

PAGE_RUNGS = view(
    "page_rungs",
    "question step visit_id",
    question="VARCHAR",
    step="INTEGER",
    rung="VARCHAR",
    comparison_only="BOOLEAN",
    visit_id="VARCHAR",
    n="INTEGER",
    aside="BOOLEAN",
)

SITE_RUNGS = view(
    "site_rungs",
    "question vantage browser step site",
    question="VARCHAR",
    vantage="VARCHAR",
    browser="VARCHAR",
    step="INTEGER",
    rung="VARCHAR",
    comparison_only="BOOLEAN",
    site="VARCHAR",
    rank="INTEGER",
    pages="BIGINT",
    n="DOUBLE",
    measured="DOUBLE",
    aside="BOOLEAN",
)

CHECKED_PAGES = view(
    "checked_pages",
    "visit_id",
    visit_id="VARCHAR",
    browser="VARCHAR",
    tls_low="INTEGER",
    tls_likely="INTEGER",
    tls_high="INTEGER",
    recorded="INTEGER",
    within="BOOLEAN",
    error="INTEGER",
    error_cause="VARCHAR",
)

HOST_OWNERS = view("host_owners", "host", host="VARCHAR", owner_domain="VARCHAR")

VIEWS = (HOST_OWNERS, SELECTED_VISITS, COUNTED_VISITS, BASIS_SUMMARY, PAGE_RUNGS, SITE_RUNGS, CHECKED_PAGES)
