"""What limits a recording: ``visits.quality``, so that nothing is computed of it that would be wrong.

==================  ==================================================================================================
warm_sockets        no use of a connection before its first answer had a connect phase: it was opened ahead of need, or
                    before the page
warm_start          the page's very first connection had none: the browser came from somewhere with connections open
preserved_log       it follows another page load in one log, or holds several: connections of the one serve the other
cached              an answer came from the cache
cached_hosts        all answers of some host came from the cache or a service worker: its connection is not to be seen
service_worker      an answer came from a service worker
proxied             all hosts of several sites have one address, which then is a proxy's
truncated           the file was cut off; what follows its last whole entry is lost
partial             the log begins after the page's document, or was saved before the page had loaded
no_connection_ids   the recorder does not tell connections apart
no_addresses        the recorder gives no server's address
no_times            an entry has no time stamp
==================  ==================================================================================================
"""

from __future__ import annotations

import polars as pl

from originset.analysis.har.entry_columns import VisitFacts
from originset.data.reference.registrable_domains import registrable_domain

#: What a HAR itself shows.
QUALITIES = (
    *("warm_sockets", "warm_start", "preserved_log", "cached", "cached_hosts", "service_worker", "proxied"),
    *("truncated", "partial", "no_connection_ids", "no_addresses", "no_times"),
)

ON_NETWORK = pl.col("scheme").is_in(["http", "https"])

# These drive a browser from page to page themselves. All others record a user's browser, or through a
# proxy, and earlier pages can be in the same log.
_DRIVING = {"originset", "chrome-har", "chrome-har-capturer", "browsertime", "webpagetest", "splash"}
# They wait for the load event before they write.
_WAITING = {"chrome-har", "chrome-har-capturer", "browsertime", "webpagetest"}
# Sites that one server may well serve.
_SITES_OF_A_PROXY = 3


def quality_words(visits: list[VisitFacts], requests: pl.DataFrame, asked: pl.Series, titled: pl.Series) -> pl.Series:
    """The words of ``visits.quality`` for each visit, in the order of ``visits``.

    ``requests`` as request_rows gives them; ``asked``: the address of each page, where its recorder has a field for it;
    ``titled``: where the title is one.
    """
    on_network = requests.filter(ON_NETWORK)
    from_cache = pl.col("from_cache").fill_null(value=False)
    flags = on_network.group_by("visit").agg(
        from_cache.any().alias("cached"),
        (pl.col("by_service_worker").fill_null(value=False)).any().alias("service_worker"),
        pl.col("connection_id").is_null().all().alias("no_connection_ids"),
        pl.col("server_ip").is_null().all().alias("no_addresses"),
        pl.col("started").is_null().any().alias("no_times"),
    )
    page_facts = pl.DataFrame(
        {
            "visit": range(len(visits)),
            "preserved_log": [facts.later and facts.recorder.name not in _DRIVING for facts in visits],
            "truncated": [facts.truncated for facts in visits],
            "asked": asked,
            "titled": titled,
            "preserving": [facts.recorder.name not in _DRIVING for facts in visits],
            "unloaded": [_load_event_is_missing(facts) for facts in visits],
        },
        schema_overrides={"visit": pl.Int64},
    )
    frame = (
        page_facts.join(flags, on="visit", how="left")
        .join(_warm(on_network), on="visit", how="left")
        .join(_cached_hosts(on_network), on="visit", how="left")
        .join(_requested_addresses(requests), on="visit", how="left")
        .join(_loads(on_network), on="visit", how="left")
        .sort("visit")
    )
    frame = frame.with_columns(
        pl.col("visit").is_in(_proxied_visits(on_network)).alias("proxied"),
        (pl.col("preserved_log") | (pl.col("preserving") & _several_loads())).alias("preserved_log"),
        (pl.col("unloaded") | _without_document()).alias("partial"),
    )
    listed = pl.concat_list(pl.when(pl.col(name).fill_null(value=False)).then(pl.lit(name)) for name in QUALITIES)
    return frame.select(listed.list.drop_nulls().alias("quality")).to_series()


def _requested_addresses(requests: pl.DataFrame) -> pl.DataFrame:
    return requests.group_by("visit").agg(pl.col("bare").drop_nulls().unique().alias("addresses"))


def _without_document() -> pl.Expr:
    """The log has requests, but none for the page's own URL, in any spelling."""
    bare = pl.col("asked").str.replace("#.*", "")
    has_document = pl.any_horizontal(
        pl.col("addresses").list.contains(bare.fill_null("")),
        pl.col("addresses").list.contains((bare + "/").fill_null("")),
        pl.col("addresses").list.contains(bare.str.strip_suffix("/").fill_null("")),
    )
    return bare.is_not_null() & pl.col("addresses").is_not_null() & ~has_document


def _loads(on_network: pl.DataFrame) -> pl.DataFrame:
    """The documents of a visit in order: HTML answers from the network."""
    html = (pl.col("mime_type") == "text/html") & pl.col("status").is_between(200, 299) & (pl.col("method") == "GET")
    return (
        on_network.filter(html.fill_null(value=False) & ~pl.col("from_cache").fill_null(value=False))
        .sort("visit", "request_id")
        .group_by("visit", maintain_order=True)
        .agg(pl.col("bare").alias("documents"), (pl.col("bare") == pl.col("bare").first()).sum().alias("first_loads"))
    )


def _several_loads() -> pl.Expr:
    """The first document was loaded again, or the page's own document came after another one."""
    first, title = pl.col("documents").list.first(), pl.col("titled").str.replace("#.*", "")
    loaded_again = pl.col("first_loads") > 1
    moved = (title != first) & pl.col("documents").list.contains(title)
    return (loaded_again | moved.fill_null(value=False)).fill_null(value=False)


def _load_event_is_missing(facts: VisitFacts) -> bool:
    """A recorder that waits for the load event has none: it gave up waiting."""
    timings = facts.page.timings if facts.page is not None else None
    return (
        facts.recorder.name in _WAITING
        and timings is not None
        and (timings.on_content_load or 0) > 0
        and not (timings.on_load is not None and timings.on_load > 0)
    )


def _warm(on_network: pl.DataFrame) -> pl.DataFrame:
    """Connections without any sign that they were opened for the page.

    Of requests that wait for one connection, recorders give its connect phase to one, which need not be the first: it
    tells of the connection if that stood before the connection's first answer came.
    """
    sent = pl.col("started_ms") + pl.sum_horizontal("blocked_ms", "dns_ms", "connect_ms")
    connections = (
        on_network.filter(pl.col("connection_id").is_not_null() & ~pl.col("from_cache").fill_null(value=False))
        .sort("visit", "request_id")
        .with_columns(
            pl.when(pl.col("connect_ms").is_not_null()).then(sent).alias("established"),
            (sent + pl.sum_horizontal("send_ms", "wait_ms")).alias("answered"),
            pl.col("connect_ms").is_null().alias("reused"),
        )
        .group_by("visit", "connection_id", maintain_order=True)
        .agg(pl.col("reused").first(), pl.col("established").min(), pl.col("answered").min())
    )
    opened_later = (pl.col("established") > pl.col("answered")).fill_null(value=True)
    warm = pl.col("reused") & opened_later
    return connections.group_by("visit", maintain_order=True).agg(
        warm.any().alias("warm_sockets"), warm.first().alias("warm_start")
    )


def _cached_hosts(on_network: pl.DataFrame) -> pl.DataFrame:
    hosts = (
        on_network.filter(pl.col("host").is_not_null())
        .group_by("visit", "host")
        .agg(pl.col("from_cache").fill_null(value=False).all().alias("cached_hosts"))
    )
    return hosts.group_by("visit").agg(pl.col("cached_hosts").any())


def _proxied_visits(on_network: pl.DataFrame) -> list[int]:
    one_address = (
        on_network.filter(~pl.col("from_cache").fill_null(value=False) & pl.col("status").is_not_null())
        .group_by("visit")
        .agg(
            pl.col("server_ip").n_unique().alias("addresses"), pl.col("server_ip").null_count(), pl.col("host").unique()
        )
        .filter(
            (pl.col("addresses") == 1) & (pl.col("server_ip") == 0) & (pl.col("host").list.len() >= _SITES_OF_A_PROXY)
        )
    )
    return [
        visit
        for visit, hosts in one_address.select("visit", "host").iter_rows()
        if len({registrable_domain(host) or host for host in hosts if host}) >= _SITES_OF_A_PROXY
    ]
