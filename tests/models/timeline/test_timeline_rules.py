"""The paper's Figure 2, to the unit, what no reconstruction may do, and the columns against one request at a time."""

from dataclasses import replace
from itertools import chain, pairwise

import numpy as np
import pytest
import timeline_oracle as oracle
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from model_tables import model_table
from timeline_oracle import Request

from originset.models.parameters import Parameters
from originset.models.runner.runner import batch_rows
from originset.models.timeline import timeline_rules
from originset.models.timeline.changed_timelines import TIMELINE_READS, request_times

# Figure 2, before: start, then blocked, dns, connect, send, wait, receive. The site and cdnhost share a provider.
SITE, TRACKER = 13335, 15169
FIGURE_2 = [
    Request(1, 78, 20, 20, 30, 10, 40, 189, 1, SITE, None, "www.example.com"),
    Request(2, 208, 20, 20, 30, 10, 40, 62, 2, SITE, 1, "assets.cdnhost.com"),
    Request(3, 218, 20, 20, 30, 10, 40, 102, 3, SITE, 1, "static.example.com"),
    Request(4, 218, 70, 0, 0, 10, 50, 62, 3, SITE, 1, "static.example.com"),
    Request(5, 358, 20, 20, 30, 10, 50, 42, 4, SITE, 4, "fonts.cdnhost.com"),
    Request(6, 500, 20, 20, 30, 10, 20, 30, 5, TRACKER, 5, "analytics.tracker.com"),
]
PAGE_LOADED = 630
BY_KEY = [request.key for request in FIGURE_2]


def page_load_times(tables, parameters, batches=1):
    return model_table("page_load_times", tables, parameters, batches, browsers=False)


def codes(values) -> np.ndarray:
    known = {value: number for number, value in enumerate(sorted({str(value) for value in values}))}
    return np.array([timeline_rules.NONE if value is None else known[str(value)] for value in values], np.int64)


def columns(pages, loads=None):
    """Pages of requests as the reconstruction takes them."""
    flat = [(number, request) for number, page in enumerate(pages) for request in page]

    def numbers(name):
        values = [getattr(request, name) for _, request in flat]
        return np.array([timeline_rules.NONE if value is None else value for value in values], np.int32)

    return timeline_rules.Requests(
        np.cumsum([0, *(len(page) for page in pages)]),
        np.array([np.nan] * len(pages) if loads is None else loads),
        numbers("request_id"),
        numbers("initiator"),
        codes([None if request.lane is None else (number, request.lane) for number, request in flat]),
        *(
            np.array([getattr(request, name) for _, request in flat], np.float64)
            for name in ("started", "blocked", "dns", "connect", "send", "wait", "receive")
        ),
    )


def changed(pages, servers, parameters, loads, rule="paper"):
    """For each page its requests' changes, then all load times."""
    requests = columns(pages, loads)
    times = timeline_rules.measured_timeline(requests, parameters.predecessor)
    of_pages = [None if server is None else (page, server) for page, server in zip(requests.page, servers, strict=True)]
    if rule == "paper":
        again = [server is not None and server in of_pages[:row] for row, server in enumerate(of_pages)]
        changes = timeline_rules.paper_timeline(requests, times, np.array(again, np.bool_), parameters)
    else:
        changes = timeline_rules.causal_timeline(requests, times, codes(of_pages), parameters)
    found = (changes.shift, changes.dns, changes.connect, changes.blocked)
    rows = list(zip(*(values.tolist() for values in found), strict=True))
    split = [rows[first:end] for first, end in pairwise(requests.starts.tolist())]
    return split, changes.loaded.tolist()


def figure_2(servers=BY_KEY, page=FIGURE_2, rule="paper", **parameters):
    (changes,), (loaded,) = changed([page], servers, Parameters(**parameters), [float(PAGE_LOADED)], rule)
    return changes, loaded


@pytest.mark.parametrize("rule", ["paper", "causal"])
@pytest.mark.parametrize("parallel_dns", ["own", "minimum"])
@pytest.mark.parametrize("predecessor", ["initiator", "time"])
def test_figure_2(predecessor, parallel_dns, rule) -> None:
    """Its requests travel on the root's connection, which is there long before: both rules say the same."""
    changes, loaded = figure_2(predecessor=predecessor, parallel_dns=parallel_dns, rule=rule)
    assert [-shift for shift, *_ in changes] == [0, 0, 0, 0, -50, -100]
    assert [
        (request.dns - dns, request.connect - connect)
        for request, (_, dns, connect, _) in zip(FIGURE_2, changes, strict=True)
    ] == [(20, 30), (0, 0), (0, 0), (0, 0), (0, 0), (20, 30)]
    # 70 - 50 = 20 where the drawing has 22: its bars are a few units off wherever nothing can have changed.
    assert [request.blocked - freed for request, (*_, freed) in zip(FIGURE_2, changes, strict=True)] == [20] * 6
    assert loaded - PAGE_LOADED == -100


def test_figure_2_by_initiator_without_initiators_is_by_time() -> None:
    unnamed = [replace(request, initiator=None) for request in FIGURE_2]
    assert figure_2(page=unnamed) == figure_2(predecessor="time")


def test_what_starts_after_its_initiator_waited_for_something_else_too() -> None:
    """A script of another host stops the parser for 10 + 20 + 70 ms; the image behind it comes when that has run."""
    page = [
        Request(0, 0, dns=10, connect=20, wait=10, receive=10, ip=1, lane="a"),
        Request(1, 45, dns=10, connect=20, wait=20, receive=50, ip=2, lane="b", initiator=0),
        Request(2, 150, wait=20, ip=1, lane="a", initiator=0),
    ]
    for predecessor in ("initiator", "time"):
        (changes,), (loaded,) = changed([page], "kkk", Parameters(predecessor=predecessor), [170.0], "causal")
        assert ([shift for shift, *_ in changes], loaded) == ([0, 0, 30], 140)


def test_figure_2_by_address_and_provider() -> None:
    def saved(servers) -> float:
        return PAGE_LOADED - figure_2(servers)[1]

    assert saved([request.ip for request in FIGURE_2]) == 0  # five addresses; the one seen twice was reused already
    assert saved([key if key == SITE else None for key in BY_KEY]) == 100
    assert saved([key if key == TRACKER else None for key in BY_KEY]) == 0


def test_blocked_time_kept() -> None:
    changes, _ = figure_2(blocked_time="kept")
    assert [blocked for *_, blocked in changes] == [0] * 6
    assert [shift for shift, *_ in changes] == [0, 0, 0, 0, 0, 50]  # the font's predecessor saved nothing


def test_overlapping_lookups_save_the_shortest() -> None:
    page = [
        Request(0, 0, dns=10, connect=10, lane="a"),
        Request(1, 20, dns=30, connect=5, lane="b"),
        Request(2, 25, dns=8, connect=5, lane="c"),
        Request(3, 60, dns=7, connect=5, lane="d"),
    ]
    for parallel_dns, expected in {"minimum": [0, 8, 8, 7], "own": [0, 30, 8, 7]}.items():
        changes, _ = figure_2("kkkk", page, parallel_dns=parallel_dns)
        assert [dns for _, dns, *_ in changes] == expected


@pytest.mark.parametrize("predecessor", ["initiator", "time"])
def test_a_chain_of_any_length(predecessor) -> None:
    """Each waits for the one before it, which saved its 2 ms: a chain longer than any recursion may be."""
    chain = [Request(i, 10.0 * i, dns=1, connect=1, initiator=i - 1, lane=i) for i in range(50_000)]
    changes, _ = figure_2(["k"] * len(chain), chain, predecessor=predecessor)
    assert [shift for shift, *_ in changes] == [0, 0, *(2.0 * i for i in range(1, len(chain) - 1))]


def test_many_that_wait_for_as_many() -> None:
    """Whose first byte came last is found fast also where none has come for very many requests."""
    page = [Request(i, 0.001 * i, wait=1000.0) for i in range(50_000)]
    page.append(Request(50_000, 1010.0005))
    assert timeline_rules.measured_timeline(columns([page]), "time").predecessor.tolist() == [*[-1] * 50_000, 10_000]


@st.composite
def pages(draw):
    phase = st.sampled_from([0, 0, 1, 7, 20, 33, 60]).map(float)
    starts = sorted(draw(st.lists(st.integers(0, 40).map(lambda tens: tens * 10.0), min_size=1, max_size=12)))
    requests = []
    for number, start in enumerate(starts):
        server = draw(st.none() | st.integers(0, 4))
        requests.append(
            Request(
                number * 3,  # requests that did not reach the network left gaps
                start,
                *(draw(phase) for _ in range(6)),
                server,
                None if server is None else server // 2,
                draw(st.none() | st.integers(0, len(starts)).map(lambda place: place * 3)),
                draw(st.none() | st.integers(0, 4)),
            )
        )
    return requests


@st.composite
def odd_pages(draw):
    """Numbers in any order and of any size, some twice; requests that took no time; phases that make no sense."""
    ids = st.sampled_from([0, 1, 2, 3, 5, 8, 13, 40, 2**31 - 2, 2**31 - 1])
    phases = st.just([0.0] * 6) | st.lists(
        st.sampled_from([0.0, 5.0, 10.0, 10.0, 30.0, 400.0, -1.0, float("nan")]), min_size=6, max_size=6
    )
    starts = sorted(draw(st.lists(st.integers(0, 12).map(lambda tens: tens * 10.0), min_size=1, max_size=40)))
    keys = st.none() | st.integers(0, 3)
    return [
        Request(draw(ids), start, *draw(phases), None, draw(keys), draw(st.none() | ids), draw(keys))
        for start in starts
    ]


def taken(page):
    """As the rules take it: what is not known, or cannot be, takes no time."""
    names = ("blocked", "dns", "connect", "send", "wait", "receive")
    return [replace(each, **{name: max(0.0, np.nan_to_num(getattr(each, name))) for name in names}) for each in page]


PARAMETERS = st.builds(
    Parameters,
    predecessor=st.sampled_from(["initiator", "time"]),
    parallel_dns=st.sampled_from(["own", "minimum"]),
    blocked_time=st.sampled_from(["freed", "kept"]),
)


@settings(max_examples=100, deadline=None)
@given(
    several=st.lists(pages() | odd_pages(), min_size=1, max_size=4),
    load=st.integers(1, 700).map(float),
    parameters=PARAMETERS,
)
def test_columns_equal_one_request_at_a_time(several, load, parameters) -> None:
    clean = [taken(page) for page in several]
    for name in ("ip", "key"):
        servers = [[getattr(request, name) for request in page] for page in several]
        for rule, by_one in (("paper", oracle.reconstruct), ("causal", oracle.causal)):
            expected = [by_one(page, known, parameters) for page, known in zip(clean, servers, strict=True)]
            flat = list(chain.from_iterable(servers))
            changes, loaded = changed(several, flat, parameters, [load] * len(several), rule)
            assert changes == expected
            assert loaded == [oracle.load_time(page, one, load) for page, one in zip(clean, expected, strict=True)]


@settings(deadline=None)
@given(page=pages(), load=st.integers(1, 700).map(float), parameters=PARAMETERS)
def test_nothing_is_sent_before_its_connection_is_established(page, load, parameters) -> None:
    servers = [request.key for request in page]
    (changes,), (modelled,) = changed([page], servers, parameters, [load], "causal")
    assert modelled <= load
    was = [request.begun + request.dns + request.connect for request in page]
    sent = [before - sum(change) for before, change in zip(was, changes, strict=True)]
    for i, (request, (shift, dns, connect, blocked)) in enumerate(zip(page, changes, strict=True)):
        assert 0 <= shift <= request.started - page[0].started
        assert blocked <= request.blocked
        assert request.started - shift <= sent[i] <= was[i]
        if dns + connect > 0:
            assert sent[i] >= min(sent[j] for j in range(i) if servers[j] == servers[i])
        lane = [sent[j] for j in range(i) if request.lane is not None and page[j].lane == request.lane]
        if request.dns + request.connect == 0 and lane:
            assert sent[i] >= min([was[i], *lane])


def test_a_request_travels_on_no_connection_that_is_still_being_opened(make_tables) -> None:
    """Two names of one AS are asked for at once, and each handshake takes 150 ms: nothing can be saved."""
    base = {"visit_id": "v", "scheme": "https", "port": 443, "status": 200, "started_ms": 100.0, "dns_ms": 50.0,
            "connect_ms": 100.0, "wait_ms": 20.0, "initiator_id": 0}  # fmt: skip
    rows = {
        "visits": [{"visit_id": "v", "status": "ok", "load_ms": 470.0}],
        "requests": [
            {**base, "request_id": 0, "host": "a", "server_ip": "192.0.2.1", "connection_id": 1, "started_ms": 0.0,
             "dns_ms": 10.0, "connect_ms": 40.0, "initiator_id": None},
            {**base, "request_id": 1, "host": "x", "server_ip": "192.0.2.2", "connection_id": 2, "receive_ms": 10.0},
            {**base, "request_id": 2, "host": "y", "server_ip": "192.0.2.3", "connection_id": 3, "receive_ms": 200.0},
        ],
        "addresses": [{"ip": f"192.0.2.{last}", "asn": 1 + (last > 1)} for last in (1, 2, 3)],
    }  # fmt: skip
    (row,) = page_load_times(make_tables(rows), Parameters()).to_dicts()
    assert (row["origin_ms"], row["paper_origin_ms"]) == (470.0, 320.0)


def test_a_cleartext_request_opens_no_connection_that_others_travel_on(make_tables) -> None:
    """The paper's rule saves the TLS handshake after a redirect from http to https."""
    base = {"visit_id": "v", "host": "a", "server_ip": "192.0.2.1", "wait_ms": 50.0}
    rows = {
        "visits": [{"visit_id": "v", "status": "ok", "load_ms": 350.0}],
        "requests": [
            {**base, "request_id": 0, "scheme": "http", "port": 80, "status": 301, "connection_id": 1,
             "started_ms": 0.0, "dns_ms": 20.0, "connect_ms": 50.0},
            {**base, "request_id": 1, "scheme": "https", "port": 443, "status": 200, "connection_id": 2,
             "started_ms": 120.0, "connect_ms": 150.0, "receive_ms": 30.0, "initiator_id": 0},
        ],
        "addresses": [{"ip": "192.0.2.1", "asn": 1}],
    }  # fmt: skip
    (row,) = page_load_times(make_tables(rows), Parameters(provider_asns=(1,))).to_dicts()
    assert [row[f"{name}_ms"] for name in ("ip", "origin", "provider")] == [350.0] * 3
    assert [row[f"paper_{name}_ms"] for name in ("ip", "origin", "provider")] == [200.0] * 3


@settings(deadline=None)
@given(page=pages(), load=st.integers(1, 700).map(float), parameters=PARAMETERS)
def test_what_no_reconstruction_may_do(page, load, parameters) -> None:
    for name in ("ip", "key"):
        (changes,), (modelled,) = changed([page], [getattr(request, name) for request in page], parameters, [load])
        for request, (shift, dns, connect, blocked) in zip(page, changes, strict=True):
            assert 0 <= dns <= request.dns
            assert 0 <= connect <= request.connect
            assert 0 <= blocked <= request.blocked
            assert 0 <= shift <= request.started - page[0].started  # nothing starts before the page
        assert modelled <= load
        waited_for = [r.ended - sum(c) for r, c in zip(page, changes, strict=True) if r.ended <= load]
        assert modelled >= max(waited_for, default=0)
    assert changed([page], [None] * len(page), parameters, [load])[1] == [load]


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(several=st.lists(pages(), min_size=1, max_size=3), parameters=PARAMETERS, data=st.data())
def test_tables_equal_one_request_at_a_time(make_tables, several, parameters, data) -> None:
    """From rows in any order to load times, with connection ids and without, in any batches."""
    requests, addresses, expected = [], {}, {}
    for number, page in enumerate(several):
        for request in page:
            ip = None if request.ip is None else f"192.0.2.{request.ip}"
            addresses[ip] = request.key
            phases = zip(("blocked", "dns", "connect", "send", "wait", "receive"), range(6), strict=True)
            requests.append(
                {"visit_id": f"v{number}", "request_id": request.request_id, "scheme": "https", "status": 200,
                 "host": "x" if request.lane is None else f"h{request.lane}", "port": 443, "server_ip": ip,
                 "connection_id": None if request.lane is None or request.lane < 2 else request.lane,
                 "initiator_id": request.initiator, "started_ms": request.started,
                 **{f"{name}_ms": getattr(request, name) or None for name, _ in phases}}
            )  # fmt: skip
        # Here every request has an origin, so none is without a lane.
        laned = [replace(request, lane="x" if request.lane is None else request.lane) for request in page]
        expected[f"v{number}"] = [
            oracle.load_time(page, by_one(laned, [getattr(request, name) for request in page], parameters), 500.0)
            for by_one in (oracle.causal, oracle.reconstruct)
            for name in ("ip", "key")
        ]
    rows = {
        "visits": [{"visit_id": visit, "status": "ok", "load_ms": 500.0} for visit in expected],
        "requests": data.draw(st.permutations(requests)),
        "addresses": [{"ip": ip, "asn": asn} for ip, asn in addresses.items() if ip],
    }
    table = page_load_times(make_tables(rows), parameters, data.draw(st.integers(1, 3)))
    times = ("ip_ms", "origin_ms", "paper_ip_ms", "paper_origin_ms")
    for row in table.iter_rows(named=True):
        assert row["left_out_reason"] is not None or [row[name] for name in times] == expected[row["visit_id"]]


def test_ssl_beside_connect(make_tables) -> None:
    """Where a recorder's connect phase ends before TLS begins, the handshake that is saved is both."""
    base = {"visit_id": "v", "scheme": "https", "host": "h", "port": 443, "status": 200, "server_ip": "192.0.2.1"}
    rows = {
        "visits": [{"visit_id": "v", "status": "ok", "load_ms": 100.0}],
        "requests": [
            {**base, "request_id": 0, "started_ms": 0.0, "connection_id": 1, "wait_ms": 5.0},
            {**base, "request_id": 1, "started_ms": 10.0, "connection_id": 2, "connect_ms": 20.0, "ssl_ms": 15.0},
        ],
    }
    saved = [
        100.0 - page_load_times(make_tables(rows), Parameters(ssl=ssl))["ip_ms"].item() for ssl in ("inside", "beside")
    ]
    assert saved == [20.0, 35.0]


def test_figure_2_request_by_request(make_tables) -> None:
    """The table of the paper's Figure 2, before and after, from a study's rows."""
    phases = ("blocked", "dns", "connect", "send", "wait", "receive")
    rows = [
        {
            "visit_id": "v", "request_id": each.request_id, "host": each.lane, "scheme": "https", "port": 443,
            "status": 200, "initiator_id": each.initiator,
            "server_ip": f"192.0.2.{each.key % 11}", "started_ms": float(each.started),
            **{f"{name}_ms": float(getattr(each, name)) or None for name in phases},
        }
        for each in FIGURE_2
    ]  # fmt: skip
    addresses = [{"ip": f"192.0.2.{asn % 11}", "asn": asn} for asn in (SITE, TRACKER)]
    tables = make_tables({"visits": [{"visit_id": "v"}], "requests": rows, "addresses": addresses})
    found = request_times(batch_rows(tables, TIMELINE_READS), Parameters())
    assert found["started"].to_list() == [each.started for each in FIGURE_2]
    assert found["started_after"].to_list() == [78, 208, 218, 218, 308, 400]
    assert found["coalesced"].to_list() == [False, True, True, False, True, False]
    for name, after in (
        ("dns", [20, 0, 0, 0, 0, 20]), ("connect", [30, 0, 0, 0, 0, 30]), ("blocked", [20, 20, 20, 20, 20, 20]),
    ):  # fmt: skip
        assert found[f"{name}_after"].to_list() == after, name
    for name in ("send", "wait", "receive"):
        assert found[f"{name}_after"].equals(found[name].alias(f"{name}_after")), name
