"""docs/bigquery.md: the ladder in BigQuery's dialect, by sqlglot: ``python .ci/bigquery_page.py > docs/bigquery.md``.

The statement is that of the named query ``ladder_summary`` with the views that it reads, so that both are defined once.
It lacks the columns that rest on this program's macros, on quantiles and on texts that DuckDB formats.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterator

from sqlglot import ErrorLevel, exp, parse_one

from originset.data.schema.sql_views import view_sql
from originset.queries import catalogue

#: What the statement reads, of each table.
TABLES = {
    "visits": "SELECT visit_id, vantage, browser, site, url, final_url, page_kind, rank FROM visits",
    "page_basis": "FROM page_basis",
    "page_counts": "FROM page_counts",
    "runs": "SELECT run_id, command, parameters FROM runs",
}
#: The columns of ``ladder_summary`` that the statement lacks.
LEFT_OUT = (
    "median", "saved_pct_low", "saved_pct_high", "site_saved_pct", "site_saved_pct_q1", "site_saved_pct_q3",
    "site_saved_pct_low", "site_saved_pct_high", "saved_pct_most", "recorded_cookies",
)  # fmt: skip

_VIEWS = ("selected_visits", "counted_visits", "basis_summary", "page_rungs", "site_rungs")
# Of the query's parts those that only columns left out need.
_UNUSED_PARTS = {"cookies", "recorded_cookies_of_visits"}
_UNUSED_TOTALS = {"median", "bounds", "quartiles", "median_bounds"}

_HEAD = """\
<!-- Made from the named query and the views by `make docs`; do not edit. -->
# The ladder in BigQuery

For those who keep their pages in BigQuery, as HTTP Archive does. `analyze` counts each page; the sums over all pages
can then be made where the other data is, joined with any of its tables. How pages get from HTTP Archive into a study:
[howto-researcher.md](howto-researcher.md#or-import-hars).

Load four tables of a study into a dataset, which is then given to `bq query` by `--dataset_id`:
```sh
{load}
```
The statement has the rows of `originset query ladder_summary`, and its columns except those that rest on quantiles, on
functions of this program or on texts that DuckDB formats:
{left_out}.

sqlglot translates it. It is parsed as BigQuery's dialect, holds no function that BigQuery's reference does not have,
and translated back has the same rows in DuckDB as the query. It has not been run in BigQuery: that BigQuery accepts it,
what it costs, and how BigQuery rounds and sorts are not tested.
```sql
{statement}
```
"""


def statement() -> str:
    """The ladder as one statement in BigQuery's dialect."""
    ladder = _parse(catalogue.named_query("ladder_summary").sql)
    _leave_out_columns(ladder)
    parts = [*_views(), *(part for part in ladder.ctes if part.alias not in _UNUSED_PARTS)]
    ladder.set("with_", exp.With(expressions=parts))
    for total in ladder.find_all(exp.Sum):
        if isinstance(total.this, exp.Order):  # which only makes DuckDB's floating point sums the same in each run
            total.set("this", total.this.this)
    for texts in ladder.find_all(exp.GroupConcat):
        for key in texts.find_all(exp.Ordered):
            key.set("nulls_first", True)  # reasons are never NULL, and BigQuery takes no NULLS LAST there
    text = ladder.sql("bigquery", pretty=True, comments=False, unsupported_level=ErrorLevel.RAISE)
    return re.sub(r"STRUCT\(.*?AS n\s+\)", lambda rung: " ".join(rung[0].split()), text, flags=re.DOTALL)


def page() -> str:
    """The page."""
    load = "\n".join(
        f"originset --study S query --format parquet --sql '{query}' > {table}.parquet\n"
        f"bq load --source_format=PARQUET DATASET.{table} {table}.parquet"
        for table, query in TABLES.items()
    )
    left_out = textwrap.fill(", ".join(f"`{name}`" for name in LEFT_OUT), 120)
    return _HEAD.format(load=load, left_out=left_out, statement=f"{statement()};")


def _parse(sql: str) -> exp.Select:
    parsed = parse_one(sql, dialect="duckdb")
    if not isinstance(parsed, exp.Select):
        raise TypeError(type(parsed))
    return parsed


def _views() -> Iterator[exp.CTE]:
    for name in _VIEWS:
        select = _parse(view_sql(name))
        if name == "selected_visits":  # without a variable: the selection that holds where nothing else is asked for
            decision = next(select.find_all(exp.Case))
            decision.replace(decision.args["ifs"][0].args["true"])
        if name == "page_rungs":
            _unnest_in_from(select)
        yield exp.CTE(this=select, alias=exp.TableAlias(this=exp.to_identifier(name)))


def _unnest_in_from(select: exp.Select) -> None:
    """``SELECT unnest(structs)`` as ``SELECT rung.* FROM UNNEST(structs) AS rung``, which BigQuery has."""
    (part,) = (part for part in select.ctes if part.alias == "rungs")
    inner = part.this
    unnest = next(one for one in inner.expressions if isinstance(one, exp.Explode))
    structs = next(unnest.find_all(exp.Array))
    unnest.replace(exp.column("*", table="one_rung", quoted=False))
    source = exp.Unnest(expressions=[structs], alias=exp.TableAlias(columns=[exp.to_identifier("one_rung")]))
    inner.append("joins", exp.Join(this=source, kind="CROSS"))


def _leave_out_columns(ladder: exp.Select) -> None:
    ladder.set("expressions", [one for one in ladder.expressions if one.alias_or_name not in LEFT_OUT])
    ladder.set("joins", [join for join in ladder.args["joins"] if join.this.name not in _UNUSED_PARTS])
    (totals,) = (part.this for part in ladder.ctes if part.alias == "totals")
    totals.set("expressions", [one for one in totals.expressions if one.alias_or_name not in _UNUSED_TOTALS])


if __name__ == "__main__":
    sys.stdout.write(page())
