"""Connections of HTTP/1.1, which carry one request at a time: as many as were needed at once."""

from __future__ import annotations

import polars as pl

from originset.models.browsers.batch import Part
from originset.models.browsers.sharing_rules import SLACK_MS

_HOST = ["visit_id", "host", "port"]
_MODE = [*_HOST, "mode"]
_FRAME = [*_MODE, "cross_site"]

_COLUMNS = ("at_once", "at_once_in_all_frames", "at_once_held_back", "host_at_once", "at_once_least")


def with_at_once(part: Part, groups: pl.DataFrame) -> pl.DataFrame:
    """``groups`` with how many connections of HTTP/1.1 they needed at once; NULL for those of other protocols.

    ``at_once``: the most requests of the group that were under way at one moment, as for a browser that keeps frames of
    other sites apart. ``at_once_in_all_frames``: for one that keeps apart only what they ask of the page's own site,
    all such groups of a host together, at the first of them, and 0 at the others. ``at_once_held_back``: the same if
    images wait until the others are there. ``host_at_once``: of all requests to the group's host, whoever sent them; it
    is known where the others are not, because nothing says which requests were sent with credentials.
    ``at_once_least``: as few as other loads may need (:func:`groups_of_other_loads`), here NULL.

    WebSockets, which keep their connection, are not among them. A request is under way from when it is sent until its
    answer has been received; one that opened a connection, from when it began to: it would have been given another's
    that had become free meanwhile. NULL where the recorder does not time one of them, and where it does not say which
    of a host's requests were sent with credentials and not all are of one group.
    """
    of = _of_http1(groups)
    if of.is_empty():
        return groups.with_columns(pl.lit(None, pl.Int64).alias(name) for name in _COLUMNS)
    timed = _timed(part).join(of.select(_HOST).unique(), on=_HOST, how="semi")
    images = pl.col("resource_type") == "image"
    pooled, of_images, of_others = (
        _in_all_frames(of, requests)
        for requests in (timed, timed.filter(images), timed.filter(images.ne_missing(other=True)))
    )
    held_back = pl.max_horizontal(of_images.fill_null(0), of_others.fill_null(0))
    of_host = of.join(_most_at_once(timed, _HOST, "host_at_once"), on=_HOST, how="left", maintain_order="left")
    found = of.select(
        "group",
        _by_frame(of, timed).alias("at_once"),
        pooled.alias("at_once_in_all_frames"),
        of_host["host_at_once"],
        pl.lit(None, pl.Int64).alias("at_once_least"),
    ).with_columns(pl.when(pl.col("at_once_in_all_frames").is_not_null()).then(held_back).alias("at_once_held_back"))
    return _with_columns_of(groups, found)


def groups_of_other_loads(part: Part, groups: pl.DataFrame) -> pl.DataFrame:
    """``groups`` (:func:`with_at_once`) as other loads of the pages may need them: more at once, or fewer.

    Chance decides whether a request gets a connection that another has just left, or its own first. So at most each
    is under way from when it was asked for, and at least only from SLACK_MS after it was sent. ``carriers`` are those
    of the recording, or more.
    """
    of = _of_http1(groups)
    if of.is_empty():
        return groups
    timed = _timed(part).join(of.select(_HOST).unique(), on=_HOST, how="semi")
    waiting = timed.with_columns(sent="asked")
    left = timed.with_columns(pl.col("sent") + SLACK_MS).filter(pl.col("ended") > pl.col("sent"))
    most = of.select(
        "group",
        _by_frame(of, waiting).alias("at_once"),
        _in_all_frames(of, waiting).alias("at_once_in_all_frames"),
        _by_frame(of, left).fill_null(1).alias("at_once_least"),
    )
    found = _with_columns_of(groups.drop(most.columns[1:]), most)
    more = pl.when(pl.col("carriers").is_not_null()).then(pl.max_horizontal("carriers", "at_once"))
    return found.with_columns(more.alias("carriers"))


def _of_http1(groups: pl.DataFrame) -> pl.DataFrame:
    of = groups.filter(pl.col("protocol") == "h1").select(*_HOST, "group", "credentialed", "cross_site", "at_home")
    mode = pl.when("credentialed").then(pl.lit("include")).when(~pl.col("credentialed")).then(pl.lit("omit"))
    return of.with_columns(mode.alias("mode"))


def _with_columns_of(groups: pl.DataFrame, found: pl.DataFrame) -> pl.DataFrame:
    return groups.hstack(
        groups.select("group").join(found, on="group", how="left", maintain_order="left").drop("group")
    )


def _by_frame(of: pl.DataFrame, timed: pl.DataFrame) -> pl.Series:
    """The most of each group at once; where frames are not known, of all of its mode."""
    known = timed.group_by(_HOST).agg(pl.col("cross_site").is_not_null().all().alias("frames_known"))
    rows = of.join(known, on=_HOST, how="left", maintain_order="left")
    for name, keys in (("overall", _HOST), ("by_mode", _MODE), ("by_frame", _FRAME)):
        rows = rows.join(_most_at_once(timed, keys, name), on=keys, how="left", maintain_order="left")
    return rows.select(
        pl.when(pl.len().over(_HOST) == 1)
        .then("overall")
        .when("frames_known")
        .then("by_frame")
        .otherwise("by_mode")
        .alias("at_once")
    ).to_series()


def _in_all_frames(of: pl.DataFrame, timed: pl.DataFrame) -> pl.Series:
    """The most at once of all groups of a mode together, at the first of them; 0 at the others."""
    rows = of
    for name, keys in (("overall", _HOST), ("by_mode", _MODE)):
        rows = rows.join(_most_at_once(timed, keys, name), on=keys, how="left", maintain_order="left")
    one_mode = (pl.col("mode") == pl.col("mode").first().over(_HOST)).all().over(_HOST).fill_null(value=False)
    alone = pl.len().over(_HOST) == 1
    together = pl.when(one_mode | alone).then("overall").otherwise("by_mode")
    first = pl.col("group") == pl.col("group").min().over(_MODE)
    pooled = pl.when(first | together.is_null()).then(together).otherwise(0)
    own = pl.when("at_home").then(_by_frame(of, timed)).otherwise(pooled)
    return rows.select(own.alias("together")).to_series()


def _timed(part: Part) -> pl.DataFrame:
    waited = [pl.col(name).fill_null(0.0) for name in ("blocked_ms", "dns_ms")]
    sent = pl.col("started_ms") + pl.sum_horizontal(waited)
    took = [pl.col(name).fill_null(0.0) for name in ("connect_ms", "send_ms", "wait_ms", "receive_ms")]
    requests = part.requests.filter("secure", ~pl.col("socket"), pl.col("protocol") == "h1")
    page_site = part.facts.sites(part.visits["document_host"].gather(requests["visit_id"]))
    return requests.select(
        *_HOST,
        "resource_type",
        pl.col("credentials").alias("mode"),
        (requests["frame_site"] != page_site).alias("cross_site"),
        pl.col("started_ms").alias("asked"),
        sent.alias("sent"),
        (sent + pl.sum_horizontal(took)).alias("ended"),
    )


def _most_at_once(timed: pl.DataFrame, keys: list[str], name: str) -> pl.DataFrame:
    # At one moment, what ends makes room for what begins.
    changes = [
        timed.select(*keys, pl.col(moment).alias("time"), pl.lit(change, pl.Int32).alias("change"))
        for moment, change in (("ended", -1), ("sent", 1))
    ]
    most = (
        pl.concat(changes)
        .sort(*keys, "time", "change", nulls_last=True)
        .with_columns(pl.col("change").cum_sum().over(keys).alias("under_way"))
        .group_by(keys)
        .agg(pl.col("under_way").max().cast(pl.Int64).alias("most"))
    )
    known = (pl.col("sent").is_not_null() & (pl.col("ended") > pl.col("sent"))).all()
    return (
        timed.group_by(keys)
        .agg(known.alias("known"))
        .join(most, on=keys)
        .select(*keys, pl.when("known").then("most").alias(name))
    )
