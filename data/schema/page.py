"""docs/schema.md, made from the schema (:mod:`originset.cli.pages.schema_page` writes it)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from originset.data.schema.sql_macros import MACROS, macro_header
from originset.data.schema.study_tables import TABLES, Table

_JOINS = """
## How tables join, and which rows count
- A visit is one load of a page, a page is a URL, a site owns pages. `visit_id` joins `visits` with everything that
  belongs to a page load; `requests` and `connections` also share `connection_id` within a visit; `ip` in `addresses` is
  `server_ip`; `host` joins `hosts` and `host_owners`; `certificate_id` joins `certificates` and `certificate_names`.
- `page_basis` says which visits count for which question, and why the others do not. Never filter by `visits.status` or
  `visits.quality` yourself: join `counted_visits`, and name the question.
- `counted_visits.weight` is a visit's share of its site: visits of one page share the page's weight, pages of one site
  share 1. `sum(weight * n)` over a site is the mean of its pages; over all sites it is the sum, each site with its
  average page. A number of rows is `sum(weight)`.
- Vantages and browsers are never pooled: group by both. Only landing pages are selected, unless the variable
  `selected_visits` has others: `SET VARIABLE selected_visits = ARRAY(SELECT visit_id FROM visits WHERE ...)`.
- `requests` has every HAR entry. All counts are of `network_requests`, the requests that reached the network.
- `site_certificates`, `certificate_additions`, `origin_sets` and `provider_changes` have rows of sites, over all their
  visits: more visits find more names. Compare only sites with the same number of `visits`.
"""

#: Questions of researchers: the question, the named query that answers it, and SQL that does.
EXAMPLES = (
    (
        "How many TLS connections does a page open?",
        "ladder_summary",
        """\
WITH of_sites AS (
  SELECT v.vantage, v.browser, v.site, sum(v.weight * c.measured_tls) AS connections
  FROM counted_visits AS v JOIN page_counts AS c USING (visit_id)
  WHERE v.question = 'connections'
  GROUP BY ALL
)
SELECT vantage, browser, median(connections) AS median FROM of_sites GROUP BY ALL""",
    ),
    (
        "Which third parties have most redundant connections?",
        "causes_owner_summary",
        """\
SELECT v.vantage, v.browser, o.owner_domain, sum(v.weight) AS connections
FROM counted_visits AS v
JOIN redundant_connections AS r USING (visit_id)
JOIN host_owners AS o ON o.host = r.host
JOIN documents AS d USING (visit_id)
JOIN host_owners AS f ON f.host = d.host
WHERE v.question = 'causes' AND o.owner_domain <> f.owner_domain
GROUP BY ALL
ORDER BY connections DESC""",
    ),
    (
        "Why were they opened?",
        "causes_connection_summary",
        """\
SELECT v.vantage, v.browser, r.cause, r.detail, r.fixable_by, sum(v.weight) AS connections
FROM counted_visits AS v JOIN redundant_connections AS r USING (visit_id)
WHERE v.question = 'causes'
GROUP BY ALL
ORDER BY connections DESC""",
    ),
    (
        "Which provider could save most by adding names to certificates?",
        "additions_provider_summary",
        """\
SELECT provider, asn, any_value(connections) AS connections, any_value(name) FILTER (rank = 1) AS first_name
FROM provider_changes
GROUP BY provider, asn
ORDER BY connections DESC""",
    ),
    (
        "How many names do certificates have, and how many would they?",
        "sans_changes_summary",
        """\
SELECT median(existing_names) AS median_names, median(ideal_names) AS median_ideal_names
FROM site_certificates
WHERE additions IS NOT NULL""",
    ),
)


def page(values: Mapping[tuple[str, str], Sequence[str]]) -> str:
    """The whole page, as Markdown.

    ``values``: by table and column all values that the column may have, if its description ends with "...".
    """
    head = """\
# Tables of a study

Made from `data/schema/study_tables.py` by `make docs`; do not edit. `study.duckdb` carries the same texts as comments
(`originset query --sql "SELECT column_name, comment FROM duckdb_columns() WHERE table_name = 'requests'"`). NULL means
not known, 0 means zero. Columns in bold identify a row.
"""
    return head + _JOINS + _examples() + "".join(_section(table, values) for table in TABLES.values()) + _macros()


def _examples() -> str:
    return "\n## Five questions\n" + "".join(
        f"\n**{question}** As `originset query {query}` has it:\n\n```sql\n{sql}\n```\n"
        for question, query, sql in EXAMPLES
    )


def _section(table: Table, values: Mapping[tuple[str, str], Sequence[str]]) -> str:
    rows = ""
    for column in table.columns:
        name = f"**{column.name}**" if column.name in table.key else column.name
        listed = values.get((table.name, column.name), ())
        meaning = f"{column.comment} All: {', '.join(listed)}" if listed else column.comment
        rows += f"| {name} | {column.type} | {_cell(meaning)} |\n"
    return (
        f"\n## {table.name}\n\n{table.description} Written by: {table.stage.value}.\n\n"
        f"| column | type | meaning |\n|---|---|---|\n{rows}"
    )


def _macros() -> str:
    """The section on the macros of `study.duckdb`."""
    rows = ""
    for name in MACROS:
        header = macro_header(name)
        parameters = "; ".join(f"{parameter}: {meaning}" for parameter, meaning in header.columns.items())
        rows += f"| {name}({', '.join(header.columns)}) | {_cell(header.description)} | {_cell(parameters)} |\n"
    head = "\n## Macros\n\nAny statement over `study.duckdb` can use them.\n\n"
    return f"{head}| macro | result | parameters |\n|---|---|---|\n{rows}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*")
