"""The pairs of a page's connections of which the earlier one might have served the later one's host."""

from __future__ import annotations

import polars as pl

from originset.models.browsers.batch import Part, earlier_alike

# Of two connections, what decides.
_OWN = (
    *("host", "port", "protocol", "socket", "credentialed", "third_party", "top_site", "at_home", "cross_site"),
    *("privacy_mode", "peer", "opened_ms", "ready_ms", "answers", "cookies_blocked", "rules"),
    "speaks_http2",
)
_HELD = (
    *("host", "port", "protocol", "socket", "credentialed", "third_party", "top_site", "at_home", "cross_site"),
    *("privacy_mode", "peer", "established_ms", "last_ms", "closed_ms", "lasting", "names_known", "misdirected"),
    *("origins", "answers"),
)
_BOTH = ["number", "number_held"]


def reusable_pairs(part: Part, used: pl.DataFrame) -> pl.DataFrame:
    """Each connection with the earlier ones of its page that it has something in common with; theirs end in _held."""
    several = used.select("number", "visit_id", "host", "port", "peer", "certificate_id", "asn", "protocol").filter(
        pl.len().over("visit_id") > 1
    )
    located = several.filter(pl.col("peer").is_not_null())
    covered = (
        several.select("number", "visit_id", "host")
        .join(part.facts.coverage, on="host")
        .join(
            several.select("visit_id", "certificate_id", pl.col("number").alias("number_held")),
            on=["visit_id", "certificate_id"],
        )
    )
    found = [
        covered.select(*_BOTH, pl.lit(value=True).alias("covered")),
        *(
            each.select(*_BOTH, pl.lit(value=False).alias("covered"))
            for each in (
                earlier_alike(several, "number", ["visit_id", "host", "port"]),
                earlier_alike(located, "number", ["visit_id", "peer"]),
                _first_of_as(several),
                _connections_by_answer(used, located),
            )
        ),
    ]
    every = (
        pl.concat(found)
        .filter(pl.col("number_held") < pl.col("number"))
        .group_by(_BOTH)
        .agg(pl.col("covered").any())
        .sort(_BOTH)
    )
    return every.hstack(used.select(_OWN)[every["number"]]).hstack(
        used.select(pl.col(_HELD).name.suffix("_held"))[every["number_held"]]
    )


def _first_of_as(several: pl.DataFrame) -> pl.DataFrame:
    """Each connection with the one that stands for all of its AS: the first that can be shared, or else the first."""
    shared = pl.col("protocol").is_in(["h2", "h3"]).fill_null(value=False)
    first = pl.coalesce(pl.col("number").filter(shared).min(), pl.col("number").min()).over("visit_id", "asn")
    return several.filter(pl.col("asn").is_not_null()).select("number", first.alias("number_held"))


def _connections_by_answer(used: pl.DataFrame, located: pl.DataFrame) -> pl.DataFrame:
    """Connections whose host's answers have the address that others of the page lead to; the others."""
    answered = used.select("number", "visit_id", "answers").filter(pl.col("answers").is_not_null())
    return (
        answered.rename({"answers": "peer"})
        .explode("peer")
        .join(located.select("visit_id", "peer", pl.col("number").alias("number_held")), on=["visit_id", "peer"])
        .select(_BOTH)
    )
