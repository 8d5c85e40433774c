"""A study of any size, made up: page loads whose medians are the paper's, for measuring what the models cost.

Nothing in it was observed. Hosts are taken by Zipf's law, requests form initiator trees, pages open several connections
to some hosts, sites have certificates with names. The parameters of :class:`Shape` are fitted so that the medians over
pages of DNS lookups, TLS connections and ASes, and over sites of certificate names, are the paper's 14, 16, 5 and 2.
Every visit says ``synthetic`` in ``source`` and ``recorder``, so that no result can be taken for a measurement.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from originset.data.schema.study_tables import TABLES
from originset.data.studies.shards import write_shard
from originset.data.studies.study import Study

SYNTHETIC = "synthetic"
PAGES_PER_SHARD = 10_000

_Ints = np.ndarray[Any, np.dtype[np.int64]]
_Floats = np.ndarray[Any, np.dtype[np.float64]]
_PHASES = ("blocked_ms", "dns_ms", "connect_ms", "ssl_ms", "send_ms", "wait_ms", "receive_ms")
_ZONE = "synthetic.example"

# Names in a certificate and share of sites: the paper's table 8, its tail drawn log-uniformly up to 1000 names.
_NAMES = ((0, 0.036), (1, 0.097), (2, 0.456), (3, 0.233), (4, 0.023), (5, 0.01), (6, 0.013), (8, 0.047))


@dataclass(frozen=True, slots=True)
class Shape:
    """What pages look like. ``*_spread`` is the standard deviation of the logarithm."""

    requests_median: float = 88.0
    requests_spread: float = 0.83
    hosts_median: float = 15.2
    hosts_spread: float = 0.98
    own_hosts: float = 0.1  # share of a page's hosts that are the site's
    third_parties: int = 100_000
    host_exponent: float = 0.98
    ases: int = 8_000
    as_exponent: float = 1.6
    again: float = 0.14  # share of connections that are one more to the same host
    shared_address: float = 0.25
    without_initiator: float = 0.1
    plain: float = 0.02  # share of hosts asked over http alone


@dataclass(frozen=True, slots=True)
class _World:
    """Third-party hosts, by popularity, and where they are."""

    weights: _Floats  # cumulative
    host_as: _Ints
    as_weights: _Floats  # cumulative


def generate(
    study: Study, pages: int, seed: int = 1, shape: Shape | None = None, pages_per_shard: int = PAGES_PER_SHARD
) -> int:
    """Write the tables of ``pages`` page loads into an empty study; the number of requests.

    The same arguments give the same study.
    """
    shape = shape or Shape()
    study.create()
    world = _world(np.random.default_rng([seed, 0]), shape)
    requests = 0
    seen_hosts: list[pl.Series] = []
    seen_addresses: list[pl.DataFrame] = []
    for number, first in enumerate(range(0, pages, pages_per_shard)):
        sites = np.arange(first, min(first + pages_per_shard, pages), dtype=np.int64)
        tables = _shard(np.random.default_rng([seed, 1, number]), world, shape, sites)
        for name in ("visits", "requests", "connections", "certificates", "certificate_names"):
            write_shard(study, name, f"{SYNTHETIC}-{number:04d}", _complete(name, tables[name]))
        requests += tables["requests"].height
        seen_hosts.append(tables["requests"]["host"].unique())
        seen_addresses.append(tables["addresses"])
    names = pl.concat(seen_hosts).unique().sort()
    resolved = {
        "hosts": names.to_frame().with_columns(
            pl.col("host").str.extract(r"([^.]+\.synthetic\.example)$").alias("registrable_domain")
        ),
        "addresses": pl.concat(seen_addresses)
        .unique("ip")
        .sort("ip")
        .with_columns(
            pl.concat_list("asn").alias("asns"),
            pl.format("synthetic AS {}", "asn").alias("as_name"),
            pl.lit("public").alias("kind"),
        ),
    }
    for name, frame in resolved.items():
        write_shard(study, name, "all", _complete(name, frame))
    return requests


def _complete(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """All columns of a table, NULL where the generator says nothing."""
    schema = TABLES[table].polars_schema
    return frame.select(
        (pl.col(name) if name in frame.columns else pl.lit(None)).cast(kind).alias(name)
        for name, kind in schema.items()
    )


def _world(rng: np.random.Generator, shape: Shape) -> _World:
    def zipf(size: int, exponent: float) -> _Floats:
        weights = np.arange(1, size + 1) ** -exponent
        return np.asarray(np.cumsum(weights) / weights.sum())

    as_weights = zipf(shape.ases, shape.as_exponent)
    host_as = np.searchsorted(as_weights, rng.random(shape.third_parties)).astype(np.int64)
    # The most asked-for hosts are with the largest providers.
    host_as[:200] = np.searchsorted(as_weights, rng.random(200) ** 2 * 0.7)
    return _World(zipf(shape.third_parties, shape.host_exponent), host_as, as_weights)


def _shard(rng: np.random.Generator, world: _World, shape: Shape, sites: _Ints) -> dict[str, pl.DataFrame]:
    hosts = _hosts(rng, world, shape, sites)
    rows = _requests(rng, shape, hosts)
    visit = pl.Series("visit_id", [f"{_mix(int(site)):016x}" for site in sites])
    site = pl.Series("site", [f"s{number}.{_ZONE}" for number in sites])
    names = hosts.names
    page, host = rows["page"], rows["slot"]
    requests = pl.DataFrame(
        {
            "visit_id": visit.gather(page),
            "request_id": rows["request_id"],
            "host": names.gather(host),
            "secure": hosts.secure[host],
            "initiator_id": pl.Series(rows["initiator"], dtype=pl.Int32).replace(-1, None),
            "connection_id": rows["connection"],
            "server_ip": hosts.addresses.gather(host),
            "started_ms": rows["started"],
            **{name: rows[name] for name in _PHASES},
            "path": rng.integers(0, 2**40, page.size),
            "type": rng.integers(0, 5, page.size),
            "bytes": (rng.lognormal(9, 1.6, page.size)).astype(np.int64),
        }
    )
    types = pl.Series(["script", "image", "stylesheet", "xhr", "font"])
    mimes = pl.Series(["text/javascript", "image/jpeg", "text/css", "application/json", "font/woff2"])
    first = pl.col("request_id") == 0
    scheme = pl.when("secure").then(pl.lit("https")).otherwise(pl.lit("http"))
    requests = requests.with_columns(
        pl.when(first).then(pl.lit("document")).otherwise(types.gather(requests["type"])).alias("resource_type"),
        pl.when(first).then(pl.lit("text/html")).otherwise(mimes.gather(requests["type"])).alias("mime_type"),
        scheme.alias("scheme"),
        pl.when("secure").then(443).otherwise(80).alias("port"),
        pl.when("secure").then(pl.lit("h2")).otherwise(pl.lit("http/1.1")).alias("protocol"),
        pl.when(first)
        .then(pl.format("https://{}/", "host"))
        .otherwise(pl.format("{}://{}/{}", scheme, "host", "path"))
        .alias("url"),
        *(pl.when(pl.col(name) > 0).then(name).alias(name) for name in ("dns_ms", "connect_ms", "ssl_ms")),
        pl.lit("GET").alias("method"),
        pl.lit(200).alias("status"),
        pl.lit(value=False).alias("from_cache"),
        pl.lit("har").alias("connection_source"),
    )
    certificates, certificate_names = _certificates(rng, sites, hosts)
    connections = (
        requests.filter(pl.col("connect_ms").is_not_null())
        .group_by("visit_id", "connection_id", maintain_order=True)
        .agg(
            pl.col("host").first().alias("first_host"),
            pl.col("server_ip", "port", "protocol").first(),
            pl.col("secure").first().alias("tls"),
            (pl.col("started_ms") + pl.col("blocked_ms") + pl.col("dns_ms").fill_null(0.0)).first().alias("opened_ms"),
            pl.col("connect_ms").first().alias("took"),
        )
        .with_columns(
            (pl.col("opened_ms") + pl.col("took")).alias("established_ms"),
            # One certificate for each third party's domain; the sites' own are named after them.
            pl.when("tls").then(pl.col("first_host").str.extract(r"([^.]+)\.synthetic\.example$")).alias("of"),
            pl.lit(value=True).alias("used"),
            pl.lit("har").alias("source"),
        )
        .with_columns(pl.format("fields-synthetic-{}", "of").alias("certificate_id"))
    )
    ended = rows["started"] + sum(rows[name] for name in _PHASES if name != "ssl_ms")
    loaded = np.maximum.reduceat(np.where(rows["waited_for"], ended, 0.0), np.flatnonzero(rows["request_id"] == 0))
    visits = pl.DataFrame(
        {
            "visit_id": visit,
            "site": site,
            "rank": (sites + 1).astype(np.int32),
            "url": pl.select(pl.format("https://www.{}/", site)).to_series(),
            "final_url": pl.select(pl.format("https://www.{}/", site)).to_series(),
            "load_ms": loaded,
        }
    ).with_columns(pl.lit("ok").alias("status"), pl.lit(SYNTHETIC).alias("source"), pl.lit(SYNTHETIC).alias("recorder"))
    addresses = pl.DataFrame({"ip": hosts.addresses, "asn": hosts.ases + 64_512}).unique("ip", maintain_order=True)
    return {
        "visits": visits,
        "requests": requests,
        "connections": connections,
        "certificates": certificates,
        "certificate_names": certificate_names,
        "addresses": addresses,
    }


@dataclass(frozen=True, slots=True)
class _Hosts:
    """A shard's pages' hosts, one slot for each page and host, pages in order, the document's host first."""

    page: _Ints
    starts: _Ints
    ases: _Ints
    secure: np.ndarray[Any, np.dtype[np.bool_]]
    names: pl.Series
    addresses: pl.Series
    popularity: _Floats


def _hosts(rng: np.random.Generator, world: _World, shape: Shape, sites: _Ints) -> _Hosts:
    count = sites.size
    size = rng.standard_normal(count)
    wanted = np.maximum(1, np.rint(shape.hosts_median * np.exp(shape.hosts_spread * size))).astype(np.int64)
    page = np.repeat(np.arange(count), wanted)
    nth = np.arange(page.size) - np.repeat(np.cumsum(wanted) - wanted, wanted)
    own = (nth == 0) | (rng.random(page.size) < shape.own_hosts)
    own_number = np.where(own, rng.integers(1, 9, page.size), 0) * (nth > 0)
    drawn = np.searchsorted(world.weights, rng.random(page.size)).astype(np.int64)
    identity = np.where(own, own_number, 100 + drawn)
    # Each host of a page once, in order of first use.
    _, kept = np.unique(page * (shape.third_parties + 200) + identity, return_index=True)
    kept.sort()
    page, own, own_number, drawn, nth = page[kept], own[kept], own_number[kept], drawn[kept], nth[kept]
    # Six sites in ten have a hoster that nobody else's hosts are with.
    large = np.searchsorted(world.as_weights, rng.random(count) * 0.995)
    site_as = np.where(rng.random(count) < 0.6, rng.integers(1000, shape.ases, count), large)
    ases = np.where(own, site_as[page], world.host_as[np.minimum(drawn, shape.third_parties - 1)])
    places = pl.DataFrame({"own": own, "site": sites[page], "number": own_number, "drawn": drawn, "asn": ases}).select(
        pl.when("own")
        .then(
            pl.when(pl.col("number") == 0)
            .then(pl.format(f"www.s{{}}.{_ZONE}", "site"))
            .otherwise(pl.format(f"a{{}}.s{{}}.{_ZONE}", "number", "site"))
        )
        .otherwise(pl.format(f"h{{}}.d{{}}.{_ZONE}", "drawn", pl.col("drawn") // 3))
        .alias("host"),
        pl.when("own").then(pl.col("site") * 8 + pl.col("number")).otherwise(pl.col("drawn") + 2**30).alias("id"),
    )
    # Some hosts lie behind an address that their AS uses for many; the others have one of two of their own.
    number = places["id"].to_numpy()
    fixed = number * 2654435761 % 2**32 / 2**32  # of the host, not of the visit
    shared = fixed < shape.shared_address
    low = np.where(shared, ases % 4096, 4096 + 2 * number + rng.integers(0, 2, page.size))
    text = pl.DataFrame({"low": low, "shared": shared, "asn": ases}).select(
        pl.when("shared")
        .then(pl.format("2001:db8:{}::1", "asn"))
        .otherwise(pl.format("2001:db8:{}:{}:{}::2", *(pl.col("low") // 9000**k % 9000 + 1 for k in (2, 1, 0))))
    )
    secure = (nth == 0) | (rng.random(page.size) >= shape.plain)
    starts = np.searchsorted(page, np.arange(count))
    popularity = rng.random(page.size) ** 3
    return _Hosts(page, starts, ases, secure, places["host"], text.to_series(), popularity)


def _requests(rng: np.random.Generator, shape: Shape, hosts: _Hosts) -> dict[str, Any]:
    count = hosts.starts.size
    own = np.diff(np.append(hosts.starts, hosts.page.size))
    # Pages with many hosts have many requests.
    wish = shape.requests_median * (own / shape.hosts_median) ** 0.75
    noise = np.sqrt(max(0.0, shape.requests_spread**2 - (0.75 * shape.hosts_spread) ** 2))
    wanted = np.maximum(own, np.rint(wish * np.exp(noise * rng.standard_normal(count)))).astype(np.int64)
    page = np.repeat(np.arange(count), wanted)
    start = np.cumsum(wanted) - wanted
    nth = np.arange(page.size) - start[page]
    total = page.size
    # Every host is asked at least once; the rest goes by popularity. The k-th request of a page first asks slot k.
    slot = hosts.starts[page] + np.minimum(nth, np.floor(rng.random(total) ** 2 * own[page]).astype(np.int64))
    stride = np.maximum(1, wanted[page] // own[page])
    fresh = (nth % stride == 0) & (nth // stride < own[page])
    slot = np.where(fresh, hosts.starts[page] + nth // stride, slot)
    # Half are named by the document, half by something that was asked for shortly before.
    parent = np.where(
        rng.random(total) < 0.5, 0, np.maximum(0, nth - 1 - np.floor(rng.random(total) ** 2 * 25).astype(np.int64))
    )
    parent = np.where(nth == 0, -1, parent)
    wait, receive = rng.exponential(240, total), rng.exponential(150, total)
    send, blocked = rng.exponential(0.5, total), rng.exponential(6, total)
    gap = rng.exponential(90, total)
    started = _started(parent, start[page], gap, blocked + send + wait + 15.0)
    order = np.lexsort((started, page))
    started = started[order]
    place = np.empty(total, dtype=np.int64)
    place[order] = np.arange(total)
    caused_by = np.where(parent[order] < 0, -1, place[start[page] + np.maximum(parent, 0)][order] - start[page])
    caused_by[rng.random(total) < shape.without_initiator] = -1
    slot = slot[order]
    # The first to ask a host opens a connection; some later ones open another.
    _, first = np.unique(slot, return_index=True)
    looks_up = np.zeros(total, dtype=np.bool_)
    looks_up[first] = True
    opens = looks_up.copy()
    opens[np.flatnonzero(~looks_up)[rng.random(total - first.size) < shape.again * first.size / total]] = True
    connection = _connection(slot, opens)
    secure = hosts.secure[slot]
    tls = np.where(opens & secure, 12 + rng.exponential(40, total), 0.0)
    return {
        "page": page,
        "slot": slot,
        "request_id": nth.astype(np.int32),
        "initiator": caused_by,
        "connection": connection,
        "started": started,
        "blocked_ms": blocked,
        "dns_ms": np.where(looks_up, 1 + rng.exponential(25, total), 0.0),
        "connect_ms": np.where(opens, 8 + rng.exponential(25, total), 0.0) + tls,
        "ssl_ms": tls,
        "send_ms": send,
        "wait_ms": wait,
        "receive_ms": receive,
        "waited_for": nth <= 0.85 * wanted[page],
    }


def _started(parent: _Ints, start: _Ints, gap: _Floats, answered: _Floats) -> _Floats:
    """When each request starts: after its parent's answer began; level by level down the tree."""
    at = np.where(parent < 0, -1, start + parent)
    started = np.zeros(parent.size)
    level = np.flatnonzero(parent < 0)
    done = np.zeros(parent.size, dtype=np.bool_)
    done[level] = True
    waiting = np.flatnonzero(parent >= 0)
    while waiting.size:
        ready = done[at[waiting]]
        now = waiting[ready]
        started[now] = started[at[now]] + answered[at[now]] + gap[now]
        done[now] = True
        waiting = waiting[~ready]
    return started


def _connection(slot: _Ints, opens: np.ndarray[Any, np.dtype[np.bool_]]) -> _Ints:
    """The connection of each request: the last that was opened for its host; numbered by the request that did so."""
    order = np.argsort(slot, kind="stable")
    opened = np.where(opens[order], np.arange(slot.size), 0)
    number = np.empty(slot.size, dtype=np.int64)
    number[order] = order[np.maximum.accumulate(opened)]
    return number + 1


def _certificates(rng: np.random.Generator, sites: _Ints, hosts: _Hosts) -> tuple[pl.DataFrame, pl.DataFrame]:
    sizes, shares = np.array(_NAMES).T
    cumulative = np.cumsum(shares)
    drawn = rng.random(sites.size)
    tail = np.rint(np.exp(np.log(7) + rng.random(sites.size) ** 2.5 * np.log(1000 / 7))).astype(np.int64)
    known = sizes[np.minimum(np.searchsorted(cumulative, drawn), sizes.size - 1)].astype(np.int64)
    count = np.where(drawn < cumulative[-1], known, tail)
    wildcard = rng.random(sites.size) < 0.75
    of = np.repeat(np.arange(sites.size), count)
    nth = np.arange(of.size) - np.repeat(np.cumsum(count) - count, count)
    names = pl.DataFrame({"site": sites[of], "nth": nth, "wildcard": wildcard[of]}).select(
        pl.format("fields-synthetic-s{}", "site").alias("certificate_id"),
        pl.when((pl.col("nth") == 0) & pl.col("wildcard"))
        .then(pl.format(f"*.s{{}}.{_ZONE}", "site"))
        .when(pl.col("nth") == 0)
        .then(pl.format(f"www.s{{}}.{_ZONE}", "site"))
        .when(pl.col("nth") == 1)
        .then(pl.format(f"s{{}}.{_ZONE}", "site"))
        .otherwise(pl.format(f"n{{}}.s{{}}.{_ZONE}", "nth", "site"))
        .alias("name"),
    )
    own = pl.DataFrame({"certificate_id": [f"fields-synthetic-s{site}" for site in sites], "san_count": count})
    third = (
        hosts.names.str.extract(r"\.(d[0-9]+)\.")
        .drop_nulls()
        .unique()
        .sort()
        .to_frame("of")
        .select("of", pl.format("fields-synthetic-{}", "of").alias("certificate_id"), pl.lit(2).alias("san_count"))
    )
    third_names = third.select(
        "certificate_id", pl.concat_list(pl.format(f"*.{{}}.{_ZONE}", "of"), pl.format(f"{{}}.{_ZONE}", "of"))
    ).explode(pl.selectors.by_index(1))
    certificates = pl.concat(
        [own.cast({"san_count": pl.Int32}), third.select("certificate_id", pl.col("san_count").cast(pl.Int32))]
    ).with_columns(pl.lit("synthetic CA").alias("issuer_org"), pl.lit("synthetic").alias("problem"))
    both = pl.concat([names, third_names.rename({third_names.columns[1]: "name"})])
    return certificates, both.with_columns(pl.col("name").str.starts_with("*.").alias("wildcard"))


def _mix(number: int) -> int:
    """64 bits that look random and differ for different numbers (an odd multiplication is one to one)."""
    number = (number + 1) * 0x9E3779B97F4A7C15 % 2**64
    return number ^ (number >> 29)
