"""Who can do something about a redundant connection, and what."""

from __future__ import annotations

from functools import cache

import polars as pl

FIXER = pl.Enum(["site", "host_owner", "cdn", "browser", "nobody"])


def _by(name: str) -> pl.Expr:
    return pl.lit(name, FIXER)


@cache
def fixable_by() -> pl.Expr:
    """site, host_owner, cdn, browser or nobody; NULL where the cause is not known. Over rows of a cause and two hosts.

    A site can change its own hosts, and how its pages ask for others'.
    """
    cause = pl.col("cause")
    own = pl.col("site") == pl.col("main_site")
    both_own = own & (pl.col("site_held") == pl.col("main_site"))
    one_owner = pl.col("site") == pl.col("site_held")
    on_edge = pl.col("edge").is_not_null() & (pl.col("edge") == pl.col("edge_held"))
    servers = pl.when(both_own).then(_by("site")).when(one_owner).then(_by("host_owner")).when(on_edge).then(_by("cdn"))
    of_host = pl.when(own).then(_by("site")).otherwise(_by("host_owner"))
    asking = (pl.col("detail") == "CREDENTIALS").fill_null(value=False)
    return (
        pl.when(cause.is_in(["H1", "PROTO_MIX", "PORT_SCHEME", "LIFETIME"]))
        .then(of_host)
        .when(cause == "CRED")
        .then(pl.when(asking).then(_by("site")).otherwise(_by("browser")))
        .when(cause.is_in(["PARTITION", "ORIGIN_UNSUPPORTED"]))
        .then(_by("browser"))
        .when(cause.is_in(["IP", "CERT"]))
        .then(pl.coalesce(servers, _by("host_owner")))
        .when(cause.is_in(["CERT+IP"]))
        .then(pl.coalesce(servers, _by("nobody")))
        .when(cause.is_in(["ORIGIN_EXCLUDED", "MISDIRECTED"]))
        .then(pl.coalesce(servers, _by("host_owner")))
        .when(cause == "RACE")
        .then(pl.when(pl.col("same_host")).then(_by("browser")).otherwise(pl.coalesce(servers, _by("browser"))))
        .when(cause == "SPECIAL")
        .then(_by("nobody"))
    )


_FIXES = {
    "H1": "serve {} over HTTP/2",
    "PROTO_MIX": "announce HTTP/3 for {} in an HTTPS record, as for {held}, or for neither",
    "CRED": "ask {} in one way: give preconnect, style sheets, scripts and fetches of it the same crossorigin and "
    "credentials",
    "THIRD_PARTY_COOKIES": "share connections whatever is decided about third-party cookies",
    "PARTITION": "share connections between frames of different sites",
    "PORT_SCHEME": "serve {} on the port of {held}",
    "IP": "serve {} and {held} at the same addresses, or list {} in the ORIGIN frame of {held}, whose certificate "
    "covers it",
    "CERT": "add {} to the certificate of {held}, which is at the same address",
    "CERT+IP": "add {} to the certificate of {held} and list it in the ORIGIN frame there",
    "ORIGIN_EXCLUDED": "list {} in the ORIGIN frame of {held}, which keeps it off now",
    "ORIGIN_UNSUPPORTED": "heed the ORIGIN frame of {held}, which lists {}",
    "RACE": "ask {held} for what {} serves: two names asked for at once get a connection each",
    "RACE_SAME_HOST": "wait for the connection to {} that is under way",
    "MISDIRECTED": "answer for {} where {held} is served, instead of 421",
    "LIFETIME": "keep connections to {} open for longer",
    "SPECIAL": "none: a WebSocket over HTTP/1.1 keeps its connection",
}


# Two hosts of different owners on one edge: a CDN may lend customers' certificates its own names, not each other's.
_OF_CDN = {
    "CERT_CDN": "where {} is a name of its own, not a customer's: add it to the certificate of {held}, which is at the "
    "same address",
    "CERT+IP_CDN": "where {} is a name of its own, not a customer's: add it to the certificate of {held} and list it "
    "in the ORIGIN frame there",
}
_SHARDS = {
    "IP_SHARD": "ask {held} for what {} serves (one shard less), or serve both at the same addresses, or list {} in "
    "the ORIGIN frame of {held}",
    "RACE_SHARD": "ask {held} for what {} serves: two names asked for at once get a connection each",
}


def with_fix(rows: pl.DataFrame) -> pl.DataFrame:
    """``rows`` with ``fix``: what whoever ``fixable_by`` names would do; NULL where that is nobody or not known."""
    by_browser = pl.col("fixable_by") == "browser"
    key = (
        pl.when((pl.col("cause") == "CRED") & by_browser)
        .then(pl.lit("THIRD_PARTY_COOKIES"))
        .when((pl.col("cause") == "RACE") & pl.col("same_host"))
        .then(pl.lit("RACE_SAME_HOST"))
        .when((pl.col("cause").is_in(["IP", "RACE"])) & (pl.col("fixable_by") == "site"))
        .then(pl.col("cause").cast(pl.String) + pl.lit("_SHARD"))
        .when((pl.col("cause").is_in(["CERT", "CERT+IP"])) & (pl.col("fixable_by") == "cdn"))
        .then(pl.col("cause").cast(pl.String) + pl.lit("_CDN"))
        .when((pl.col("fixable_by") != "nobody") | (pl.col("cause") == "SPECIAL"))
        .then(pl.col("cause").cast(pl.String))
    )
    texts = _FIXES | _OF_CDN | _SHARDS
    # No wider than what the texts need, since it is taken apart and put together again.
    narrow = rows.select("host", "host_held", key.alias("fix_kind")).with_row_index("row")
    narrow = narrow.filter(pl.col("fix_kind").is_in(list(texts)))
    fix = pl.Series("fix", [None], pl.String).new_from_index(0, rows.height)
    if narrow.is_empty():
        return rows.with_columns(fix)
    parts = [
        part.select("row", _filled(texts[kind]).alias("fix"))
        for (kind,), part in narrow.partition_by("fix_kind", as_dict=True).items()
    ]
    filled = pl.concat(parts)
    return rows.with_columns(fix.scatter(filled["row"], filled["fix"]))


@cache
def _filled(text: str) -> pl.Expr:
    parts = text.replace("{held}", "\0held\0").replace("{}", "\0own\0").split("\0")
    names = {"held": pl.col("host_held").cast(pl.String), "own": pl.col("host").cast(pl.String)}
    return pl.concat_str([names[part] if part in names else pl.lit(part) for part in parts])
