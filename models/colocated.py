"""The hosts that a site's pages asked for and that are where the page's document is."""

from __future__ import annotations

import numpy as np
import polars as pl

from originset.models.uses import Ints, codes, numbered, plain

_DOCUMENT = (
    *("page", "visit_id", "site", "server"),
    pl.col("asn").alias("of_site"),
    pl.col("connection_id").alias("document_connection"),
)


def at_documents(uses: pl.DataFrame, documents: pl.DataFrame) -> pl.DataFrame:
    """The uses over https and wss that share the key of their page's document.

    ``uses``: of :class:`originset.models.uses.Pages`, with keys. ``documents``: rows of
    :func:`originset.models.documents.documents`, whose visit_id, site, server, asn (as ``of_site``) and connection_id
    (as ``document_connection``) are added.
    """
    located = documents.filter("secure", pl.col("key").is_not_null())
    page = uses["page"].to_numpy()
    own = np.full(int(page.max(initial=-1)) + 1, -1)
    own[located["page"].to_numpy()] = located["key"].to_physical().to_numpy()
    key = uses["key"].to_physical().cast(pl.Int64).fill_null(-2).to_numpy()
    here = uses.filter((key == own[page]) & uses["secure"].to_numpy())
    return here.join(located.select(_DOCUMENT), on="page", how="left", maintain_order="left")


def colocated_hosts(here: pl.DataFrame) -> pl.DataFrame:
    """One row per visit and host that shares its document's key, over https and wss; the document's host included.

    ``here``: rows of :func:`at_documents`. Columns: site, server, visit_id, host, port (of most requests), requests,
    connections (opened for this host, other than the document's; NULL where the recorder gives no connection ids). A
    connection counts for the host of its first request alone, so that the sum over hosts is what the paper's ideal
    saves.
    """
    page, requests = here["page"].to_numpy(), here["requests"].to_numpy()
    connection, known = plain(here["connection_id"])
    host, first = numbered(page, codes(here["host"]))
    # Of each connection the use with the least request id.
    by_request = np.argsort(here["request_id"].to_numpy(), kind="stable")
    opens = np.zeros(page.size, np.bool_)
    opens[by_request[numbered(page[by_request], connection[by_request], known[by_request])[1]]] = True
    opens &= here["connection_id"].ne_missing(here["document_connection"]).to_numpy()
    opened = np.bincount(host[opens], minlength=first.size)
    has_ids = np.bincount(host[known], minlength=first.size) > 0
    return here[first].select(
        "site",
        "server",
        "visit_id",
        "host",
        _ports(here, host, first),
        pl.Series("requests", np.bincount(host, requests, first.size).astype(np.int64)),
        pl.Series("connections", opened).set(pl.Series(~has_ids), None),
    )


def _ports(here: pl.DataFrame, host: Ints, first: Ints) -> pl.Series:
    """Of each host of a page the port of most requests, the least of a tie."""
    port = here["port"].gather(first)
    # Nearly every host has one.
    several = np.zeros(first.size, np.bool_)
    several[host[here["port"].ne_missing(port.gather(host)).to_numpy()]] = True
    if not several.any():
        return port
    some = here.select("port", "requests").with_columns(pl.Series("host", host)).filter(several[host])
    most = (
        some.group_by("host", "port")
        .agg(pl.col("requests").sum())
        .sort("requests", "port", descending=[True, False])
        .unique("host", keep="first", maintain_order=True)
    )
    return port.scatter(most["host"], most["port"])
