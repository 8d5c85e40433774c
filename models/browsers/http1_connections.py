"""Connections of HTTP/1.1, which carry one request at a time: as many as were needed at once."""

from __future__ import annotations

import polars as pl

from originset.models.browsers.batch import Part

_HOST = ["visit_id", "host", "port"]


def with_at_once(part: Part, groups: pl.DataFrame) -> pl.DataFrame:
    """``groups`` with ``at_once``: of HTTP/1.1, the most requests that were under way at one moment.

    ``host_at_once``: the same of all requests to the group's host, whoever sent them; it is known where ``at_once`` is
    not, because nothing says which requests were sent with credentials.

    WebSockets, which keep their connection, are not among them. A request is under way from when it is sent until its
    answer has been received; one that opened a connection, from when it began to: it would have been given another's
    that had become free meanwhile. NULL where the recorder does not time one of them, and where it does not say which
    of a host's requests were sent with credentials and not all are of one group.
    """
    of = groups.filter(pl.col("protocol") == "h1").select(*_HOST, "protocol", "group", "credentialed")
    if of.is_empty():
        return groups.with_columns(pl.lit(None, pl.Int64).alias(name) for name in ("at_once", "host_at_once"))
    timed = _timed(part.requests).join(of.select(_HOST).unique(), on=_HOST, how="semi")
    mode = pl.when("credentialed").then(pl.lit("include")).when(~pl.col("credentialed")).then(pl.lit("omit"))
    by_mode = _most(timed.with_columns(pl.col("credentials").alias("mode")), [*_HOST, "mode"])
    overall = _most(timed, _HOST).rename({"at_once": "overall"})
    found = (
        of.with_columns(mode.alias("mode"), (pl.len().over(_HOST) == 1).alias("single"))
        .join(by_mode, on=[*_HOST, "mode"], how="left")
        .join(overall, on=_HOST, how="left")
        .select(
            "group",
            pl.when("single").then("overall").otherwise("at_once").alias("at_once"),
            pl.col("overall").alias("host_at_once"),
        )
    )
    return groups.hstack(
        groups.select("group").join(found, on="group", how="left", maintain_order="left").drop("group")
    )


def _timed(requests: pl.DataFrame) -> pl.DataFrame:
    waited = [pl.col(name).fill_null(0.0) for name in ("blocked_ms", "dns_ms")]
    sent = pl.col("started_ms") + pl.sum_horizontal(waited)
    took = [pl.col(name).fill_null(0.0) for name in ("connect_ms", "send_ms", "wait_ms", "receive_ms")]
    return requests.filter("secure", ~pl.col("socket"), pl.col("protocol") == "h1").select(
        *_HOST, "credentials", sent.alias("sent"), (sent + pl.sum_horizontal(took)).alias("ended")
    )


def _most(timed: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    # At one moment, what ends makes room for what begins.
    changes = [
        timed.select(*keys, pl.col(name).alias("time"), pl.lit(change, pl.Int32).alias("change"))
        for name, change in (("ended", -1), ("sent", 1))
    ]
    most = (
        pl.concat(changes)
        .sort(*keys, "time", "change", nulls_last=True)
        .with_columns(pl.col("change").cum_sum().over(keys).alias("under_way"))
        .group_by(keys)
        .agg(pl.col("under_way").max().alias("most"))
    )
    known = (pl.col("sent").is_not_null() & (pl.col("ended") > pl.col("sent"))).all()
    return (
        timed.group_by(keys)
        .agg(known.alias("known"))
        .join(most, on=keys)
        .select(*keys, pl.when("known").then("most").alias("at_once"))
    )
