"""What each page asked for, in the order it did: requests alike in all that decides about sharing, as one group."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from originset.data.http_status import MISDIRECTED_REQUEST
from originset.models.browsers.batch import Ints, Part, group_numbers, largest, matched, request_rows, second_least
from originset.models.browsers.late_frames import frames_missed
from originset.models.browsers.lifetimes import with_lifetimes

# What a request is; a document's is one of the first two. A manifest is sent as its link says (HTML: crossorigin).
_NAVIGATION, _SUBDOCUMENT, _SOCKET, _FONT, _PREFLIGHT, _FETCH, _OTHER = range(7)
_DOCUMENT, _UNTYPED = 7, 8
_TYPES = {
    **dict.fromkeys(("iframe", "subdocument", "sub_frame"), _SUBDOCUMENT),
    **dict.fromkeys(("fetch", "xhr", "eventsource", "other", "beacon", "ping", "manifest"), _FETCH),
    "document": _DOCUMENT,
    "font": _FONT,
    "preflight": _PREFLIGHT,
}

# False, not known and true, so that "and" is the least.
_F, _N, _T = range(3)

# What is the same of all requests that one connection can carry.
_ALIKE = ("visit_id", "host", "port", "protocol", "credentialed", "cross_site", "apart", "frames_missed")

_Codes = np.ndarray[Any, np.dtype[np.int8]]

# What is told of a connection.
_TOLD = ("established_ms", "closed_ms", "opened_ms", "source")

_OF_CONNECTIONS = (
    *("connection", "socket", "site", "main_site", "ended_ms", "refused", "apart"),
    *("life", "closings", "unseen_closings", "gone_ms"),
)


def asked(rows: pl.DataFrame) -> pl.DataFrame:
    """One row per group of https and wss requests that one connection can carry, ordered by visit and first request.

    What was sent after a server had closed the connection is a group of its own (:mod:`.lifetimes`), and so is what was
    sent after an ORIGIN frame that leaves the host out (frames_missed, of :mod:`.late_frames`).

    ``rows``: of :func:`modes_of`. Columns: ``group`` (the row's number), visit_id, host, port, protocol (h1, h2, h3;
    NULL: unknown), credentialed, third_party, top_site, at_home (the host is of that site), cross_site (the frame is
    not), cookies_blocked, browser, rules (:mod:`.versions.recorder_rules`), main_host (of the page's document), sockets
    (WebSockets among them), requests, first (its request_id), started_ms, ready_ms (its name is resolved), connected_ms
    (its connect phase ends), caused_ms (what asked for the first, at least the document, had been answered; NULL: not
    known, or nothing did), connection_id and server_ip (of its first request), first_answer_ms (one of its requests had
    been answered; NULL: not known), second_ms (its second request was sent; NULL: not known, or none was), phase (some
    request has a DNS phase), closings and unseen_closings (how often its connections closed, or may have), gone_ms
    (when the last one did; NULL: it outlived the page, or not known), since_ms (when what follows a closing was sent;
    NULL: it follows none), carriers (the connections that the recording has them on; NULL: not known of all), at_first
    (requests sent before the first one was connected). NULL: the recorder does not tell and nothing decides it.
    """
    group, firsts = group_numbers(rows.select(*_ALIKE, "life"))
    requests = rows["requests"].to_numpy()
    sockets = np.where(rows["socket"].to_numpy(), requests, 0)
    sums = {
        name: np.bincount(group, each, minlength=firsts.size).astype(np.int64)
        for name, each in (
            ("requests", requests),
            ("sockets", sockets),
            *((name, rows[name].to_numpy().astype(np.int64)) for name in ("at_first", "closings", "unseen_closings")),
        )
    }
    phase = np.zeros(firsts.size, np.bool_)
    phase[group[rows["phase"].to_numpy()]] = True
    gone = largest(rows["gone_ms"].fill_null(np.inf), group, firsts.size).replace(np.inf, None)
    sent = pl.concat([rows["started_ms"], rows["second_ms"]])
    times = (
        (-largest(-rows["first_answer_ms"], group, firsts.size)).alias("first_answer_ms"),
        second_least(sent, np.tile(group, 2), firsts.size).alias("second_ms"),
    )
    kept = rows.drop(_OF_CONNECTIONS)[firsts].with_columns(phase=phase, gone_ms=gone, **sums)
    return kept.with_columns(*times, _carriers(group, rows["connection"])).with_row_index("group")


def _carriers(group: Ints, connection: pl.Series) -> pl.Series:
    known = (pl.col("connection") >= 0).all()
    several = pl.col("connection").n_unique().cast(pl.Int64)
    of_each = pl.DataFrame({"group": group, "connection": connection}).group_by("group")
    return of_each.agg(pl.when(known).then(several).alias("carriers")).sort("group")["carriers"]


def modes_of(part: Part) -> pl.DataFrame:
    """Requests over https and wss, those alike in host, connection and all that decides about sharing as one row.

    Beside the columns of :func:`asked`: connection (a number for visit and connection; -1: not known), life, socket,
    apart (what leads to the page is of another site than it), site and main_site (of the host and of the page's
    document), ended_ms (of the last), refused (one was answered 421). Ordered by visit and first request.

    Fetch Standard: navigations send credentials, fonts from elsewhere and preflights do not; what one connection
    carried has one mode.
    """
    requests = part.requests.filter("secure")
    visit = requests["visit_id"].to_numpy().astype(np.int64)
    kind, pages = _kinds(part, requests, visit), _pages(part)
    cross, apart = _frames(part, requests, visit, kind, pages)
    said = _modes(requests, visit, kind, cross, pages)
    socket = kind == _SOCKET
    facts = pl.DataFrame(
        {"cross": cross, "said": said, "apart": apart, "socket": socket, "frames_missed": frames_missed(part, requests)}
    )
    group, firsts = group_numbers(
        requests.select("visit_id", "connection_id", "host", "port", "protocol").hstack(facts)
    )
    begun = pl.col("started_ms") + pl.col("blocked_ms").fill_null(0.0)
    looked_up = begun + pl.col("dns_ms").fill_null(0.0)
    phases = [pl.col(name).fill_null(0.0) for name in ("connect_ms", "send_ms", "wait_ms", "receive_ms")]
    ended = requests.select((looked_up + pl.sum_horizontal(phases)).alias("ended"))["ended"]
    told = matched(requests[firsts], part.connections, ["visit_id", "connection_id"], *_TOLD)
    refused, phase = (np.zeros(firsts.size, np.bool_) for _ in range(2))
    refused[group[(requests["status"] == MISDIRECTED_REQUEST).fill_null(value=False).to_numpy()]] = True
    phase[group[(requests["dns_ms"] > 0).fill_null(value=False).to_numpy()]] = True
    alike = requests.select(
        *("visit_id", "host", "port", "protocol", "connection_id", "started_ms"),
        *("server_ip", "request_id", "blocked_ms", "dns_ms", "connect_ms"),
    )[firsts]
    rows = alike.select(
        *("visit_id", "host", "port", "protocol", "connection_id", "started_ms", "server_ip"),
        pl.col("request_id").alias("first"),
        looked_up.alias("ready_ms"),
        (looked_up + pl.col("connect_ms")).alias("connected_ms"),
        _connections(alike),
        _caused_at(requests, kind, pages, _answered_at(requests, kind, ended, told["established_ms"].gather(group)))[
            firsts
        ],
        pl.Series("socket", socket[firsts]),
        pl.Series("apart", apart[firsts]),
        facts["frames_missed"].gather(firsts),
        pl.Series("refused", refused),
        pl.Series("phase", phase),
        pl.Series("requests", np.bincount(group, minlength=firsts.size)),
        pl.Series("at_first", np.bincount(group, _sent_at_first(requests, looked_up, group, firsts), firsts.size)),
        largest(ended, group, firsts.size).alias("ended_ms"),
        (-largest(-ended, group, firsts.size)).alias("first_answer_ms"),
        second_least(requests["started_ms"], group, firsts.size).alias("second_ms"),
        _as_boolean(cross[firsts]).alias("cross_site"),
    )
    carried = _with_protocols(part, rows).with_columns(
        _carried_credentials(rows["connection"].to_numpy(), said[firsts])
    )
    return with_lifetimes(_of_pages(part, carried, pages), told, _ALIKE)


def _sent_at_first(requests: pl.DataFrame, looked_up: pl.Expr, group: Ints, firsts: Ints) -> Ints:
    """1 for each request that was sent before the connect phase of its group's first one ended, else 0."""
    connected = requests.select((looked_up + pl.col("connect_ms")).alias("ms"))["ms"].gather(firsts).gather(group)
    sent = requests["started_ms"]
    return ((sent <= connected) | connected.is_null()).fill_null(value=True).cast(pl.Int64).to_numpy()


def _connections(rows: pl.DataFrame) -> pl.Series:
    """``connection``: a number for visit and connection; -1 where it is not known."""
    number, _ = group_numbers(rows.select("visit_id", "connection_id"))
    return pl.Series("connection", np.where(rows["connection_id"].is_null().to_numpy(), -1, number))


def _as_boolean(codes: _Codes) -> pl.Series:
    return pl.select(pl.when(pl.lit(pl.Series(codes)) != _N).then(pl.lit(pl.Series(codes == _T)))).to_series()


def _answered_at(requests: pl.DataFrame, kind: _Codes, ended: pl.Series, established: pl.Series) -> pl.Series:
    """When each request had been answered; one for a document, which is read as it comes, when its answer began.

    Nothing is answered before its connection is established, whatever a recorder leaves out.
    """
    documents = pl.Series((kind == _NAVIGATION) | (kind == _SUBDOCUMENT))
    read_ms = pl.when(documents).then(pl.col("receive_ms").fill_null(0)).otherwise(0)
    return requests.select(caused_ms=pl.max_horizontal(ended - read_ms, established))["caused_ms"]


def _caused_at(requests: pl.DataFrame, kind: _Codes, pages: pl.DataFrame, answered: pl.Series) -> pl.Series:
    """``caused_ms``: when what asked for each request, or else the page's document, had been answered."""
    visit = requests["visit_id"]
    main = pages["main"].gather(visit)
    by_initiator = answered.gather(request_rows(requests, visit, requests["initiator_id"]))
    by_document = answered.gather(request_rows(requests, pl.int_range(pages.height, eager=True), pages["main"])).gather(
        visit
    )
    leads = pl.Series(kind == _NAVIGATION)
    # What leads to the page is asked for by the redirect before it; of what else came before it nobody knows.
    hops = (
        pl.DataFrame([visit, answered]).filter(leads).select(pl.col("caused_ms").shift(1).over("visit_id"))["caused_ms"]
    )
    before = (requests["request_id"] <= main).fill_null(value=False)
    caused = by_initiator.fill_null(by_document).set(before | leads, None)
    return caused.scatter(leads.arg_true(), hops)


def _kinds(part: Part, requests: pl.DataFrame, visit: Ints) -> _Codes:
    """What each request is."""
    kind = (
        requests["resource_type"]
        .replace_strict(_TYPES, default=_OTHER, return_dtype=pl.Int8)
        .set(requests["resource_type"].is_null(), _UNTYPED)
        .to_numpy()
        .copy()
    )
    main = part.visits["document_id"].fill_null(-1).to_numpy()[visit]
    document = (kind == _DOCUMENT) | (kind == _SUBDOCUMENT)
    number = requests["request_id"].to_numpy()
    # What nobody types is no frame's document: the page's own is, and what redirected there.
    leads = (document | (kind == _UNTYPED)) & (number <= main)
    kind[document] = _SUBDOCUMENT
    kind[requests["socket"].to_numpy() & ~document] = _SOCKET
    kind[kind == _UNTYPED] = _FETCH
    kind[leads] = _NAVIGATION
    return kind


def _pages(part: Part) -> pl.DataFrame:
    """Of each visit main (its document's request_id), main_host and main_site."""
    pages = part.visits.select(pl.col("document_id").alias("main"), pl.col("document_host").alias("main_host"))
    return pages.with_columns(part.facts.sites(pages["main_host"]).alias("main_site"))


def _frames(
    part: Part, requests: pl.DataFrame, visit: Ints, kind: _Codes, pages: pl.DataFrame
) -> tuple[_Codes, np.ndarray[Any, np.dtype[np.bool_]]]:
    """Of each request whether the frame is of another site than the page, and whether it leads there from one."""
    main_site = _numbers(pages["main_site"])[visit]
    cross = np.full(kind.size, _N, np.int8)
    own = np.flatnonzero((kind == _NAVIGATION) | (kind == _SUBDOCUMENT))
    elsewhere = _numbers(part.facts.sites(requests["host"].gather(own))) != main_site[own]
    leads = kind[own] == _NAVIGATION
    apart = np.zeros(kind.size, np.bool_)
    apart[own[leads & elsewhere]] = True
    strange = np.zeros(part.visits.height, np.bool_)
    strange[visit[own[~leads & elsewhere & (main_site[own] >= 0)]]] = True
    frame = _numbers(requests["frame_site"])
    by_document = requests["initiator_id"].fill_null(-1).to_numpy() == pages["main"].fill_null(-2).to_numpy()[visit]
    cross[~strange[visit] | by_document] = _F
    framed = frame >= 0
    cross[framed] = np.where(main_site[framed] < 0, _N, np.where(frame[framed] != main_site[framed], _T, _F))
    cross[own] = np.where(leads, _F, np.where(main_site[own] < 0, _N, np.where(elsewhere, _T, _F)))
    return cross, apart


def _numbers(categories: pl.Series) -> Ints:
    return categories.to_physical().cast(pl.Int64).fill_null(-1).to_numpy()


def _modes(requests: pl.DataFrame, visit: Ints, kind: _Codes, cross: _Codes, pages: pl.DataFrame) -> _Codes:
    """Whether each request is sent with credentials, by what it is."""
    main_host = _numbers(pages["main_host"])[visit]
    there = np.where(_numbers(requests["host"]) == main_host, np.int8(_T), np.int8(_F))
    there[main_host < 0] = _N
    at_home = np.minimum(there, _T - cross)
    said = np.full(kind.size, _N, np.int8)
    said[kind <= _SOCKET] = _T
    said[kind == _PREFLIGHT] = _F
    said[(kind == _OTHER) & (at_home == _T)] = _T
    fonts = kind == _FONT
    said[fonts] = at_home[fonts]
    said[(requests["credentials"] == "include").fill_null(value=False).to_numpy()] = _T
    said[(requests["credentials"] == "omit").fill_null(value=False).to_numpy()] = _F
    return said


def _carried_credentials(connection: Ints, said: _Codes) -> pl.Series:
    """``credentialed``: of what a connection carried, what is known of any and contradicted by none."""
    least, most = (np.full(int(connection.max(initial=-1)) + 2, end, np.int8) for end in (_T, _F))
    told = (connection >= 0) & (said != _N)
    np.minimum.at(least, connection[told], said[told])
    np.maximum.at(most, connection[told], said[told])
    one = np.where(least == most, least, _N)
    one[-1] = _N
    return _as_boolean(np.where(said == _N, one[connection], said).astype(np.int8)).alias("credentialed")


def _with_protocols(part: Part, rows: pl.DataFrame) -> pl.DataFrame:
    """A request without an answer was still sent by the protocol of its connection."""
    unknown = pl.col("protocol").is_null() & pl.col("connection_id").is_not_null()
    keys = ["visit_id", "connection_id"]
    missing = rows.with_row_index("row").filter(unknown).select("row", *keys)
    if missing.is_empty():
        return rows
    found = missing.join(part.connections.select(*keys, "protocol"), on=keys).sort("row")
    return rows.with_columns(rows["protocol"].scatter(found["row"], found["protocol"]))


def _of_pages(part: Part, rows: pl.DataFrame, pages: pl.DataFrame) -> pl.DataFrame:
    visit = rows["visit_id"]
    of_visit = part.visits.select("browser", "rules", "cookies_blocked").hstack(pages.select("main_host", "main_site"))
    return (
        rows.with_columns(part.facts.sites(rows["host"]).alias("site"))
        .hstack(of_visit[visit])
        # A document of the page's own is its own top-level site, at every hop of a redirect.
        .with_columns(pl.when("apart").then("site").otherwise("main_site").alias("top_site"))
        # A frame of another site is a third party even to the top-level site itself.
        .with_columns((pl.col("site") == pl.col("top_site")).alias("at_home"))
        .with_columns((pl.col("cross_site") | ~pl.col("at_home")).alias("third_party"))
    )
