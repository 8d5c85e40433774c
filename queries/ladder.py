"""The ladder: what every saving is shown as, rung by rung, with what it rests on."""

from __future__ import annotations

import duckdb
import polars as pl

from originset.queries.catalogue import rows_of, run

_MOST, _LEAST = ", at most", ", at least"


def ladder(connection: duckdb.DuckDBPyConnection) -> pl.DataFrame:
    """The rungs for TLS connections, then those for DNS lookups: columns as in ladder_tls_summary.sql.

    What a browser needs at most and at least is one rung where both are the same. Where no page counts, one row without
    a rung says why.
    """
    rows = pl.concat([rows_of(connection, name) for name in ("ladder_tls_summary", "ladder_dns_summary")])
    known = pl.col("rung").str.strip_suffix(_MOST).str.strip_suffix(_LEAST)
    same = (pl.len().over("counts", known) == 2) & (pl.col("total").n_unique().over("counts", known) == 1)
    named_once = rows.with_columns(pl.when(same).then(known).otherwise("rung").alias("rung"))
    return named_once.unique(["counts", "rung"], keep="first", maintain_order=True)


def colocation(connection: duckdb.DuckDBPyConnection) -> str:
    """What the model tables of this study take for one server: ``asn``, unless they were filled with another."""
    rows = run(
        connection,
        "SELECT parameters ->> '$.colocation' FROM runs WHERE command IN ('analyze', 'model')"
        " ORDER BY run_id DESC LIMIT 1",
    )
    return "asn" if rows.is_empty() else rows.item() or "asn"


def rests_on(rows: pl.DataFrame) -> list[str]:
    """A sentence for each half of the ladder: over how many pages it is, how many are left out, and why.

    None for a single page that counts.

    ``rows``: as :func:`ladder` gives them.
    """
    sentences = []
    for counts, pages, out, why in (
        rows.select("counts", "pages", "left_out", "left_out_why").unique(maintain_order=True).iter_rows()
    ):
        if pages + out > 1:
            sentence = f"{counts}: {pages or 'none'} of {pages + out} pages"
            sentences.append(f"{sentence}; left out: {why}" if out else sentence)
        elif out:
            sentences.append(f"{counts}: no totals, as the page was {why.removeprefix('1 ')}")
    return sentences
