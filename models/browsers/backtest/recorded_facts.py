"""Recordings without what they say of sharing: what a prediction may go by that is compared with them."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from originset.models.browsers.batch import Part
from originset.models.browsers.connection_facts import answers_of

_KEY = ["visit_id", "connection_id"]
_NAME = ["visit_id", "host"]


def compared_requests(part: Part) -> pl.DataFrame:
    """The requests over https and wss that the recorded count is of: those of known connections.

    ``protocol`` of one without an answer is its connection's.
    """
    carried = part.requests.filter("secure", pl.col("connection_id").is_not_null())
    of_connection = part.connections.select(*_KEY, pl.col("protocol").alias("negotiated")).unique(_KEY, keep="first")
    return (
        carried.join(of_connection, on=_KEY, how="left", maintain_order="left")
        .with_columns(pl.coalesce("protocol", "negotiated").alias("protocol"))
        .drop("negotiated")
    )


def without_sharing(part: Part) -> Part:
    """``part`` as if its recorder had not said which requests shared a connection.

    Left are the requests that the recorded count is of (:func:`compared_requests`), without connection ids, and those
    over http. What servers showed when connections were opened to them is a fact about these servers, and stays:
    certificates, ORIGIN frames, times. So is the address that a request was sent to, where the recording has no DNS
    answers of its host; where it has, they alone say where the host is, since a request that shared a connection was
    sent to the address of another host.
    """
    plain = part.requests.filter(~pl.col("secure"))
    requests = pl.concat([compared_requests(part), plain]).sort("visit_id", "request_id")
    answered = answers_of(part).select(*_NAME, pl.lit(value=True).alias("answered"))
    requests = (
        requests.join(answered, on=_NAME, how="left", maintain_order="left")
        .with_columns(
            pl.when(pl.col("answered").is_null()).then("server_ip").alias("server_ip"),
            pl.lit(None, part.requests.schema["connection_id"]).alias("connection_id"),
        )
        .drop("answered")
    )
    return replace(part, requests=requests)
