"""Recordings without what they say of sharing: what a prediction may go by that is compared with them."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from originset.models.browsers.batch import Part, matched
from originset.models.browsers.connection_facts import answers_of

_KEY = ["visit_id", "connection_id"]
_NAME = ["visit_id", "host"]


def checked_requests(part: Part) -> pl.DataFrame:
    """The requests that a check rests on: over https and wss those of known connections, and those over http.

    Only of visits of browsers whose rules are known. ``protocol`` of one over https or wss without an answer is its
    connection's.
    """
    by_rules = part.visits["rules"].is_not_null().gather(part.requests["visit_id"])
    requests = part.requests.filter(by_rules, ~pl.col("secure") | pl.col("connection_id").is_not_null())
    unknown = requests.select(*_KEY, row=pl.int_range(pl.len())).filter(
        requests["protocol"].is_null() & requests["secure"]
    )
    negotiated = matched(unknown, part.connections, _KEY, "protocol")["protocol"]
    return requests.with_columns(requests["protocol"].scatter(unknown["row"], negotiated))


def without_sharing(part: Part) -> Part:
    """``part`` as if its recorder had not said which requests shared a connection.

    Left are the requests that a check rests on (:func:`checked_requests`), without connection ids. What servers showed
    when connections were opened to them is a fact about these servers, and stays: certificates, ORIGIN frames, times.
    So is the address that a request was sent to, where the recording has no DNS answers of its host; where it has, they
    alone say where the host is, since a request that shared a connection was sent to the address of another host.
    """
    requests = checked_requests(part)
    answered = matched(requests, answers_of(part).select(*_NAME, answered=True), _NAME)["answered"]
    requests = requests.with_columns(
        server_ip=requests["server_ip"].set(answered.is_not_null(), None),
        connection_id=pl.lit(None, requests.schema["connection_id"]),
    )
    return replace(part, requests=requests)
