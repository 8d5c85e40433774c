"""What each browser needs for a page: connections, lookups, and the handshakes' bytes and round trips."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import polars as pl

from originset.data.reference.browser_rules import BrowserRules
from originset.models.browsers.batch import Ints, Part, group_numbers
from originset.models.browsers.replay import unknown_modes
from originset.models.browsers.sharing_rules import MAYBE, NO, YES, with_joins

# Before the first request: TCP and TLS 1.3 (RFC 8446) take two, TLS 1.2 (RFC 5246) one more, QUIC (RFC 9001) one.
_ROUND_TRIPS = {"TLS 1.3": 2, "TLS 1.2": 3, "QUIC": 1}

# A dNSName in a certificate: its text, a tag and a length (RFC 5280, up to 127 bytes).
_BYTES_BESIDE_NAME = 2

#: What :func:`lacking` counts, of each page.
LACKING = ("lacks_answers", "lacks_certificates", "lacks_credentials")

_Flags = np.ndarray[Any, np.dtype[np.bool_]]
_Numbers = Ints | np.ndarray[Any, np.dtype[np.float64]]


def connections(opens: pl.DataFrame, rules: BrowserRules) -> pl.DataFrame:
    """``opens`` (:func:`originset.models.browsers.replay.replayed`) with ``low``, ``high`` and ``likely`` of each.

    All are connections; ``likely`` is the likeliest count from low to high.
    """
    # Columns, not expressions: Polars works an expression out again wherever it stands.
    counted = opens.with_columns(_carriers_of_one_mode(rules).alias("carriers_of_one_mode")).with_columns(
        pl.min_horizontal(unknown_modes(rules), "carriers_of_one_mode").alias("modes")
    )
    return opens.hstack(counted.select(_low_and_high(rules))).with_columns(_likeliest_count(rules))


@cache
def _low_and_high(rules: BrowserRules) -> tuple[pl.Expr, pl.Expr]:
    carriers, modes = pl.col("carriers_of_one_mode"), pl.col("modes")
    plain = pl.col("protocol") == "h1"
    ordinary = pl.when(pl.col("opens") == NO).then(0).otherwise(pl.col("requests") - pl.col("sockets"))
    least = pl.when(pl.col("opens") == YES).then(ordinary).otherwise(0)
    # One each, those asked for later together; the connection that answered 421 may be left for a new one.
    fewest, again = (1, 1) if rules.retries_share_connection else (2, pl.col("requests") + 1)
    retried = pl.when(pl.col("refused") == YES).then(pl.min_horizontal(fewest, "requests")).otherwise(1)
    perhaps = pl.when(pl.col("refused") > NO).then(again).otherwise(1)
    # Each mode needs at most as many as all of the host's requests together would.
    of_mode = pl.min_horizontal(pl.col("host_at_once"), rules.connections_per_host)
    most = pl.min_horizontal(ordinary, modes * of_mode, carriers)
    side_by_side = pl.max_horizontal(1, pl.min_horizontal("at_first", modes * of_mode))
    needed = "at_once" if "cross_site_frame" in rules.pool else "at_once_in_all_frames"
    several = pl.min_horizontal(needed, rules.connections_per_host, carriers)
    held_back = "at_once_held_back" if rules.holds_back_images else needed
    fewest_h1 = pl.min_horizontal(held_back, "at_once_least", rules.connections_per_host, carriers)
    exact = pl.col(needed).is_not_null() & (modes == 1)
    # After each closing one at least is opened again, at most as many as are needed at once.
    lives = 1 + pl.col("closings")
    perhaps_lives = lives + pl.col("unseen_closings")
    at_most = pl.min_horizontal(pl.when(exact).then(several).otherwise(most) * perhaps_lives, carriers)
    at_least = pl.when(exact).then(fewest_h1).otherwise(1) + lives - 1
    low = (
        pl.when(plain)
        .then(pl.col("sockets") + pl.min_horizontal(least, at_least, carriers))
        .otherwise(pl.when(pl.col("opens") == YES).then(retried).otherwise(0))
    )
    high = (
        pl.when(plain)
        .then(pl.col("sockets") + pl.min_horizontal(ordinary, at_most))
        .when(pl.col("protocol").is_null())
        .then(most)
        .when(pl.col("opens") > NO)
        .then(pl.max_horizontal(modes, perhaps, perhaps_lives, pl.when("side_by_side").then(side_by_side).otherwise(1)))
        .otherwise("unseen_closings")
    )
    if rules.quic_races_tcp:
        several_sent = (pl.col("opens") > NO) & (pl.col("requests") > 1)
        raced = _speaks("h3") | (_speaks("h2") & pl.col("over_h3") & ~_speaks("h3").any().over("page_origin"))
        # That two of a page's names race so was not seen.
        of_page = pl.col("group").filter(raced & several_sent).min().over("visit_id")
        high += pl.when(pl.col("group") == of_page).then(1).otherwise(0)
    # Where no handshake with its own server succeeds, only the connection that answered 421 may be left for a new one.
    left = 0 if rules.retries_share_connection else (pl.col("refused") > NO).cast(pl.Int64)
    # An Alt-Svc field may come too late for the requests that the recording has over HTTP/3 after others over HTTP/2.
    low = pl.when(_after_alt_svc()).then(0).otherwise(low)
    low, high = pl.when("untrusted").then(0).otherwise(low), pl.when("untrusted").then(left).otherwise(high)
    return low.cast(pl.Int64).alias("low"), high.cast(pl.Int64).alias("high")


def _after_alt_svc() -> pl.Expr:
    """Whether the group's host went over to HTTP/3 within the page, as its server's Alt-Svc (RFC 7838) has it do."""
    first_over_h2 = pl.col("group").filter(_speaks("h2")).min().over("page_origin")
    return _speaks("h3") & (first_over_h2 < pl.col("group")).fill_null(value=False)


def _speaks(protocol: str) -> pl.Expr:
    return (pl.col("protocol") == protocol).fill_null(value=False)


@cache
def _likeliest_count(rules: BrowserRules) -> pl.Expr:
    """The likeliest count where a recording does not decide; the back-test says how often that is right.

    Over HTTP/1.1 it is what the recording had, or else what its requests needed at once. Otherwise what may share a
    connection does, as most did in recordings (docs/methodology.md), unless the recording has it on one of its own.
    """
    own = pl.struct("visit_id", "connection_id").is_first_distinct() & pl.col("connection_id").is_not_null()
    perhaps = pl.when(own & (pl.col("opens") == MAYBE)).then(1).otherwise("low")
    at_once = pl.min_horizontal("host_at_once", rules.connections_per_host)
    carried = pl.coalesce("carriers", at_once, "low")
    several = pl.col("protocol").is_null() | (pl.col("protocol") == "h1")
    return pl.when(several).then(carried).otherwise(perhaps).clip("low", "high").cast(pl.Int64).alias("likely")


def _carriers_of_one_mode(rules: BrowserRules) -> pl.Expr:
    """The connections that a group's requests were recorded on, where each carried those of one mode; else NULL.

    One of Chromium does. So there are no more modes than connections, and what over HTTP/1.1 was carried one at a time
    by some, as many can carry again; those of all the host's groups, where its frames share a pool.
    """
    own = pl.col("carriers")
    if "cross_site_frame" not in rules.pool:
        own = pl.when(own.is_not_null().all().over("page_origin")).then(own.sum().over("page_origin"))
    return pl.when(pl.col("browser").str.starts_with("chromium")).then(own)


def lacking(opens: pl.DataFrame, found: pl.DataFrame, rules: BrowserRules) -> pl.DataFrame:
    """Of each page (visit_id) with a range how much of what might narrow it is not known.

    ``lacks_answers``: hosts whose DNS answers are not; ``lacks_certificates``: hosts the names of whose certificates
    are not; ``lacks_credentials``: requests of which it is not known whether they were sent with credentials.
    ``opens``: of :func:`connections`; ``found``: the pairs that it rests on.
    """
    ranges = opens.filter((pl.col("low") < pl.col("high")) | pl.col("as_recorded"))
    undecided = (pl.col("may") == MAYBE) | (pl.col("may_by_facts") < pl.col("may"))
    doubtful = with_joins(found.join(ranges.select("group"), on="group", how="semi"), rules).filter(undecided)
    groups = pl.concat([ranges["group"], doubtful["group_held"]]).unique()
    unsent = opens.filter(pl.col("group").is_in(groups.implode()), pl.col("credentialed").is_null())
    counts = (
        _hosts(doubtful.filter(pl.col("answers").is_null(), ~pl.col("same_host")), "host", "lacks_answers"),
        _hosts(doubtful.filter(pl.col("covers_by_names") == MAYBE), "host_held", "lacks_certificates"),
        unsent.group_by("visit_id").agg(pl.col("requests").sum().alias("lacks_credentials")),
    )
    pages = opens.select("visit_id").unique()
    for counted in counts:
        pages = pages.join(counted, on="visit_id", how="left")
    return pages.with_columns(pl.col(LACKING).fill_null(0).cast(pl.Int64))


def _hosts(rows: pl.DataFrame, column: str, name: str) -> pl.DataFrame:
    return rows.group_by("visit_id").agg(pl.col(column).n_unique().alias(name))


def with_handshakes(part: Part, groups: pl.DataFrame) -> pl.DataFrame:
    """``groups`` with what a handshake with each one's server takes; ``chain_bytes``, ``trips``: NULL if not known."""
    versions = pl.col("tls_version").replace_strict(_ROUND_TRIPS, default=None, return_dtype=pl.Int64)
    trips = pl.when(pl.col("protocol") == "h3").then(1).otherwise(versions)
    return groups.with_columns(
        part.facts.chain_bytes(groups["certificate_id"]).alias("chain_bytes"),
        trips.cast(pl.Int64).alias("trips"),
    )


def of_pages(
    part: Part,
    opens: pl.DataFrame,
    others: pl.DataFrame,
    rules: BrowserRules,
    planned: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """visit_id, tls_low, tls_likely, tls_high, as_recorded, dns, handshake_bytes and round_trips of each page.

    ``opens``: of :func:`connections`; ``others``: of :func:`without_tls`. ``planned``: pairs whose later host the
    earlier one's certificate names on top of what it has. What shares a connection ``as_recorded`` alone might open
    one, for all that the rules can say by themselves: ``tls_high`` counts it.
    """
    pages = part.visits.height
    visit = opens["visit_id"].to_numpy()
    shown = opens["as_recorded"].to_numpy().astype(np.int64)
    low, high = opens["low"].to_numpy(), opens["high"].to_numpy() + shown
    added = np.zeros(opens.height, np.int64)
    if planned is not None:
        names = planned.select("group_held", "host").unique()
        sizes = names["host"].cast(pl.String).str.len_bytes().to_numpy() + _BYTES_BESIDE_NAME
        np.add.at(added, names["group_held"].to_numpy(), sizes)
    return pl.DataFrame(
        {
            "visit_id": pl.int_range(pages, dtype=pl.UInt32, eager=True),
            "tls_low": _sums_by_visit(visit, low, pages),
            "tls_likely": _sums_by_visit(visit, opens["likely"].to_numpy(), pages),
            "tls_high": _sums_by_visit(visit, high, pages),
            "as_recorded": _sums_by_visit(visit, shown, pages),
            "dns": _lookups(opens, others, rules, pages),
            "handshake_bytes": _products(visit, high, pages, opens["chain_bytes"], added),
            "round_trips": _products(visit, high, pages, opens["trips"]),
        }
    )


def _sums_by_visit(visit: Ints, values: _Numbers, pages: int) -> Ints:
    # Sums of float64, exact below 2**53.
    return np.bincount(visit, values, pages).astype(np.int64)


def _products(visit: Ints, times: Ints, pages: int, values: pl.Series, added: Ints | int = 0) -> pl.Series:
    """Of each page, ``times`` of ``values`` and what is added to them; NULL where one that counts is not known."""
    known = np.ones(pages, np.bool_)
    if values.null_count():
        known[visit[values.is_null().to_numpy() & (times > 0)]] = False
    if not known.any():
        return pl.Series([None], dtype=pl.Int64).new_from_index(0, pages)
    return _null_unless_known(known, _sums_by_visit(visit, times * (values.fill_null(0).to_numpy() + added), pages))


def _null_unless_known(known: _Flags, values: Ints) -> pl.Series:
    return pl.select(pl.when(pl.Series(known)).then(pl.Series(values))).to_series()


def _lookups(opens: pl.DataFrame, others: pl.DataFrame, rules: BrowserRules, pages: int) -> pl.Series:
    """Names looked up by each page; NULL where that is not known."""
    # One lookup serves all that share a partition; it is certain if one of them certainly needs it.
    shared = "lookup_in_partition" if rules.lookups_follow_partition else "lookup"
    named = ~opens["literal"].to_numpy()
    of, needed = opens[shared].to_numpy()[named], opens["looked_up"].filter(pl.Series(named))
    visit = np.zeros(int(of.max(initial=-1)) + 1, np.int64)
    visit[of] = opens["visit_id"].to_numpy()[named]
    certain, unsure = (np.zeros(visit.size, np.bool_) for _ in range(2))
    certain[of[needed.fill_null(value=False).to_numpy()]] = True
    unsure[of[needed.is_null().to_numpy()]] = True
    known = np.ones(pages, np.bool_)
    known[visit[unsure & ~certain]] = False
    beside = np.bincount(others["visit_id"].to_numpy(), minlength=pages)
    return _null_unless_known(known, np.bincount(visit[certain], minlength=pages) + beside)


def with_lookups(groups: pl.DataFrame) -> pl.DataFrame:
    """``groups`` with numbers for what one lookup serves: ``lookup`` (a page's name), ``lookup_in_partition``.

    And for a page's name and port: ``page_origin``.
    """
    of_name, _ = group_numbers(groups.select("visit_id", "host"))
    lookups = groups.with_columns(pl.Series("lookup", of_name))
    of_partition, _ = group_numbers(lookups.select("lookup", "top_site", "cross_site"))
    of_origin, _ = group_numbers(lookups.select("lookup", "port"))
    return lookups.with_columns(pl.Series("lookup_in_partition", of_partition), pl.Series("page_origin", of_origin))


def without_tls(part: Part, groups: pl.DataFrame) -> pl.DataFrame:
    """Other names that pages asked for, over http or in vain: ``visit_id`` and ``host``."""
    name = ["visit_id", "host"]
    others = pl.concat(
        [
            part.requests.select(*name, "secure").filter(~pl.col("secure")).select(name),
            part.queries.filter(pl.col("source") == "browser", pl.col("host").is_not_null()).select(name),
        ]
    ).unique()
    others = others.join(groups.select(name), on=name, how="anti")
    return others.filter(~part.facts.is_ip_literal(others["host"]))
