"""Who can do something about a redundant connection, and what."""

from __future__ import annotations

from functools import cache

import polars as pl

from originset.models.browsers.browser_support import acts_on_origin

FIXER = pl.Enum(["site", "host_owner", "cdn", "browser", "nobody"])


def _fixer(name: str) -> pl.Expr:
    return pl.lit(name, FIXER)


@cache
def fixable_by() -> pl.Expr:
    """site, host_owner, cdn, browser or nobody; NULL where the cause is not known. Over rows of a cause and two hosts.

    A site can change its own hosts, and how its pages ask for others'.
    """
    cause = pl.col("cause")
    own, own_held = pl.col("site") == pl.col("main_site"), pl.col("site_held") == pl.col("main_site")
    on_edge = pl.col("edge").is_not_null() & (pl.col("edge") == pl.col("edge_held"))
    one_owner = pl.when(own & own_held).then(_fixer("site")).when(_one_domain()).then(_fixer("host_owner"))
    servers = pl.coalesce(one_owner, pl.when(on_edge).then(_fixer("cdn")))
    of_host, of_held = (pl.when(mine).then(_fixer("site")).otherwise(_fixer("host_owner")) for mine in (own, own_held))
    of_lagging = pl.when(_lags() & _lags_held()).then(pl.coalesce(one_owner, _fixer("host_owner"))).otherwise(
        pl.when(_lags()).then(of_host).otherwise(of_held)
    )  # fmt: skip
    asking, cookies = (pl.col("detail").eq_missing(why) for why in ("CREDENTIALS", "THIRD_PARTY_COOKIES"))
    return (
        pl.when(cause.is_in(["H1", "PROTO_MIX"])).then(of_lagging)
        .when(cause == "PORT_SCHEME").then(of_host)
        .when(cause == "LIFETIME").then(of_held)
        .when(cause == "CRED").then(pl.when(asking).then(_fixer("site")).when(cookies).then(_fixer("browser")))
        .when(cause.is_in(["PARTITION", "ORIGIN_UNSUPPORTED"])).then(_fixer("browser"))
        .when(cause.is_in(["IP", "CERT", "ORIGIN_EXCLUDED", "MISDIRECTED"])).then(
            pl.coalesce(servers, _fixer("host_owner"))
        )
        .when(cause == "CERT+IP").then(pl.coalesce(servers, _fixer("nobody")))
        .when(cause == "RACE").then(pl.when("same_host").then(_fixer("browser")).otherwise(
            pl.coalesce(one_owner, _fixer("browser"))
        ))
        .when(cause == "SPECIAL").then(_fixer("nobody"))
    )  # fmt: skip


def _one_domain() -> pl.Expr:
    return pl.col("site") == pl.col("site_held")


def _lags() -> pl.Expr:
    """The later one's host keeps the two from one protocol: by HTTP/1.1, or else by HTTP/2 beside HTTP/3."""
    late = (pl.col("cause") == "PROTO_MIX") & (pl.col("protocol") == "h2")
    return ((pl.col("protocol") == "h1") | late).fill_null(value=False)


def _lags_held() -> pl.Expr:
    """The same of the earlier one's host, where that is another."""
    late = (pl.col("cause") == "PROTO_MIX") & (pl.col("protocol_held") == "h2")
    return (~pl.col("same_host") & ((pl.col("protocol_held") == "h1") | late)).fill_null(value=False)


_FIXES = {
    "H1": "serve {} over HTTP/2",
    "H1_HELD": "serve {held} over HTTP/2",
    "H1_BOTH": "serve {} and {held} over HTTP/2",
    "PROTO_MIX": "announce HTTP/3 for {} in an HTTPS record, as for {held}, or for neither",
    "PROTO_MIX_HELD": "announce HTTP/3 for {held} in an HTTPS record, as for {}, or for neither",
    "PROTO_MIX_SAME_HOST": "announce HTTP/3 for {} in an HTTPS record, so that its first connection uses it",
    "CRED": "ask {} in one way: give preconnect, style sheets, scripts and fetches of it the same crossorigin and "
    "credentials",
    "CRED_BROWSER": "share connections whatever is decided about third-party cookies",
    "PARTITION": "share connections between frames of different sites",
    "PORT_SCHEME": "serve {} on the port of {held}",
    "PORT_SCHEME_SAME_HOST": "serve all of {} on one port",
    "IP": "serve {} and {held} at the same addresses, or list {} in the ORIGIN frame of {held}, whose certificate "
    "covers it ({acts})",
    "IP_SITE": "ask {held} for what {} serves (one shard less), or serve both at the same addresses, or list {} in the "
    "ORIGIN frame of {held} ({acts})",
    "CERT": "add {} to the certificate of {held}, which is at the same address",
    "CERT_STRANGERS": "if one operator has both: add {} to the certificate of {held}, which is at the same address",
    # Of two hosts on one edge: a CDN may lend customers' certificates its own names, not each other's.
    "CERT_CDN": "if {} belongs to the CDN itself, not to one of its customers: add it to the certificate of {held}, "
    "which is at the same address",
    "CERT+IP": "add {} to the certificate of {held} and list it in the ORIGIN frame there ({acts})",
    "CERT+IP_CDN": "if {} belongs to the CDN itself, not to one of its customers: add it to the certificate of {held} "
    "and list it in the ORIGIN frame there ({acts})",
    "ORIGIN_EXCLUDED": "list {} in the ORIGIN frame of {held}, which keeps it off now ({acts})",
    "ORIGIN_UNSUPPORTED": "act on the ORIGIN frame of {held}, which lists {}",
    "RACE": "ask {held} for what {} serves: two names asked for at once get a connection each",
    "RACE_BROWSER": "before opening a connection to {}, wait for the one to {held} that is being opened",
    "RACE_SAME_HOST": "use one connection where two to {} are started at the same time",
    "MISDIRECTED": "answer for {} where {held} is served, instead of 421",
    "LIFETIME": "keep connections to {held} open for longer",
    "SPECIAL": "none: a WebSocket over HTTP/1.1 keeps its connection",
}


def with_fix(rows: pl.DataFrame) -> pl.DataFrame:
    """``rows`` with ``fix``: what whoever ``fixable_by`` names would do; NULL where that is nobody or not known."""
    done = pl.col("fixable_by").is_not_null() & ((pl.col("fixable_by") != "nobody") | (pl.col("cause") == "SPECIAL"))
    # No wider than what the texts need, since it is taken apart and put together again.
    narrow = rows.select("host", "host_held", pl.when(done).then(_text()).alias("text")).with_row_index("row")
    narrow = narrow.filter(pl.col("text").is_in(list(_FIXES)))
    fix = pl.Series("fix", [None], pl.String).new_from_index(0, rows.height)
    if narrow.is_empty():
        return rows.with_columns(fix)
    parts = [
        part.select("row", _filled_template(_FIXES[text]).alias("fix"))
        for (text,), part in narrow.partition_by("text", as_dict=True).items()
    ]
    filled = pl.concat(parts)
    return rows.with_columns(fix.scatter(filled["row"], filled["fix"]))


@cache
def _text() -> pl.Expr:
    """Which of the texts a row has."""
    cause, by = pl.col("cause").cast(pl.String), pl.col("fixable_by")
    lagging = pl.when(_lags() & _lags_held()).then(pl.lit("_BOTH")).when(_lags_held()).then(pl.lit("_HELD"))
    strange = (by == "host_owner") & ~_one_domain().fill_null(value=False)
    kind = (
        pl.when(cause.is_in(["PROTO_MIX", "PORT_SCHEME", "RACE"]) & (pl.col("host") == pl.col("host_held"))).then(
            pl.lit("_SAME_HOST")
        )
        .when(cause.is_in(["H1", "PROTO_MIX"])).then(lagging)
        .when(cause.is_in(["CRED", "RACE"]) & (by == "browser")).then(pl.lit("_BROWSER"))
        .when((cause == "IP") & (by == "site")).then(pl.lit("_SITE"))
        .when(cause.is_in(["CERT", "CERT+IP"]) & (by == "cdn")).then(pl.lit("_CDN"))
        .when((cause == "CERT") & strange).then(pl.lit("_STRANGERS"))
    )  # fmt: skip
    return cause + kind.fill_null("")


@cache
def _filled_template(text: str) -> pl.Expr:
    parts = text.replace("{acts}", acts_on_origin()).replace("{held}", "\0held\0").replace("{}", "\0own\0").split("\0")
    names = {"held": pl.col("host_held").cast(pl.String), "own": pl.col("host").cast(pl.String)}
    return pl.concat_str([names[part] if part in names else pl.lit(part) for part in parts])
