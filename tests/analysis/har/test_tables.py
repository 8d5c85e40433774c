"""HARs to rows, against values worked out by hand and against the peculiarities of recorders."""

import json
from datetime import datetime
from pathlib import Path

import pytest
from handmade_hars import entry, har_of, tables_of

from originset.analysis.har.decoding.har_decoder import decode
from originset.data.errors import InputError
from originset.data.schema.study_tables import TABLES
from originset.data.studies.identity import import_visit_id

SMALL = Path(__file__).parents[2] / "fixtures" / "hars" / "small.har"


def test_tables_have_the_columns_and_types_of_the_schema():
    for name, rows in tables_of(SMALL.read_bytes()).items():
        assert rows.schema == TABLES[name].polars_schema


def test_small_har_requests():
    rows = tables_of(SMALL.read_bytes(), "hars/small.har")["requests"]
    first, second = (import_visit_id("hars/small.har", page) for page in (0, 1))
    assert rows.select(
        "visit_id", "request_id", "url", "host", "port", "protocol", "status", "error", "mime_type", "connection_id"
    ).rows() == [
        (first, 0, "http://example.com/", "example.com", 80, "http/1.1", 301, None, None, 5),
        (
            first,
            1,
            "https://Example.COM./start?lang=de&access_token=REDACTED",
            "example.com",
            443,
            "h2",
            200,
            None,
            "text/html",
            17,
        ),
        (
            first,
            2,
            "https://cdn.example.net:8443/a.js",
            "cdn.example.net",
            8443,
            "h3",
            200,
            None,
            "text/javascript",
            None,
        ),
        (first, 3, "data:image/png;base64,", None, None, "other", 200, None, "image/png", None),
        (first, 4, "https://example.com/b.css", "example.com", 443, "h2", None, "net::ERR_ABORTED", None, 17),
        # It names page_9, which is not there: page_2 was open when it started.
        (
            second,
            0,
            "wss://xn--bcher-kva.example/socket",
            "xn--bcher-kva.example",
            443,
            "http/1.1",
            101,
            None,
            None,
            23,
        ),
        # Its own time is a clock's zero, so it stays behind the one before it in the file.
        (second, 1, "http://bücher.example/", "xn--bcher-kva.example", 80, "http/1.1", 200, None, "text/html", None),
    ]
    assert rows["initiator_id"].to_list() == [None, 0, 1, None, None, None, None]
    assert rows["server_ip"].to_list() == ["192.0.2.1", "2001:db8::1", None, None, None, None, None]
    assert rows["started_ms"].to_list() == [0.0, 50.0, 120.0, 130.0, 140.0, 0.0, None]
    assert rows["from_cache"].to_list() == [None, None, None, None, None, None, True]
    assert rows["bytes"].to_list() == [50, 1010, 500, None, None, None, None]
    assert rows["method"].unique().to_list() == ["GET"]
    assert rows["credentials"].unique().to_list() == ["unknown"]


def test_small_har_phases():
    rows = tables_of(SMALL.read_bytes())["requests"]
    assert rows.select("blocked_ms", "dns_ms", "connect_ms", "ssl_ms", "send_ms", "wait_ms", "receive_ms").rows() == [
        (None, 5, 10, None, 1, 20, 4),
        (1, 10, 30, 20, 0, 15, 4),
        (2, None, None, None, 0, 2, 1),
        (None,) * 7,
        (None,) * 7,
        # TLS took longer than the phase that should hold it, so it came after it.
        (0, 0, 10, 6, 0, 1, 0),
        (None, None, None, None, None, 1, None),
    ]


def test_small_har_visits_connections_and_certificates():
    tables = tables_of(SMALL.read_bytes())
    assert tables["visits"].select("site", "url", "final_url", "started_at", "status", "load_ms").rows() == [
        (
            "example.com",
            "http://example.com/",
            "https://Example.COM./start?lang=de&access_token=REDACTED",
            datetime.fromisoformat("2024-05-01 08:00:00"),
            "ok",
            400.0,
        ),
        (
            "xn--bcher-kva.example",
            "http://bücher.example/",
            "http://bücher.example/",
            datetime.fromisoformat("2024-05-01 08:01:30"),
            "ok",
            None,
        ),
    ]
    connections = tables["connections"].sort("connection_id")
    assert connections.select("connection_id", "hosts", "tls", "tls_version", "opened_ms", "established_ms").rows() == [
        (5, ["example.com"], False, None, 5.0, 15.0),
        (17, ["example.com"], True, "TLS 1.3", 61.0, 91.0),
        (23, ["xn--bcher-kva.example"], True, None, 0.0, 10.0),
    ]
    certificate = tables["certificates"].row(0, named=True)
    assert connections["certificate_id"].to_list() == [None, certificate["certificate_id"], None]
    assert certificate["certificate_id"].startswith("fields-")
    assert certificate["san_count"] == 4
    assert certificate["problem"] == "1 of 5 names are no host names"
    assert tables["certificate_names"].select("name", "wildcard").rows() == [
        ("example.com", False),
        ("*.example.com", True),
        ("xn--bcher-kva.example", False),
        ("192.0.2.7", False),
    ]


def test_nothing_secret_or_inline_reaches_a_table():
    everything = str([rows.rows() for rows in tables_of(SMALL.read_bytes()).values()])
    assert not any(secret in everything for secret in ("alice", "abc123", "iVBOR", "#top"))
    assert "REDACTED" in everything


@pytest.mark.parametrize(
    ("creator", "more", "connect", "ssl", "dns"),
    [
        # TLS inside connect, as HAR 1.2 says.
        ("WebInspector", {"dns": 0, "connect": 30, "ssl": 20}, 30, 20, 0),
        # Firefox: TLS after connect, and 0 where there was no phase.
        ("Firefox", {"dns": 0, "connect": 10, "ssl": 20}, 30, 20, None),
        ("Firefox", {"dns": 0, "connect": 0, "ssl": 0}, None, None, None),
        ("mitmproxy", {"connect": 10, "ssl": 5}, 15, 5, None),
        ("WebInspector", {"dns": -1, "connect": -1, "ssl": -1}, None, None, None),
    ],
)
def test_connect_contains_tls_whatever_the_recorder_writes(creator, more, connect, ssl, dns):
    rows = tables_of(har_of(entry("https://a.test/", timings=more), creator=creator))["requests"]
    assert rows.select("connect_ms", "ssl_ms", "dns_ms").row(0) == (connect, ssl, dns)


@pytest.mark.parametrize("creator", ["Firefox", "WebInspector", "WebKit Web Inspector", "stranger"])
def test_a_port_is_no_connection_id(creator):
    har = har_of(
        entry("https://a.test/", connection="443"),
        entry("https://b.test:8443/", connection="8443"),
        entry("http://c.test/", connection="80"),
        creator=creator,
    )
    tables = tables_of(har)
    assert tables["requests"]["connection_id"].to_list() == [None] * 3
    assert tables["connections"].is_empty()
    assert "no_connection_ids" in tables["visits"]["quality"][0]


def test_ids_beside_the_port_are_used():
    har = har_of(
        entry("https://a.test/", connection="443", _connectionId="812"),
        entry("https://a.test/b", 1, connection="443", _connectionId="812", _fromCache="memory"),
        creator="WebInspector",
    )
    rows = tables_of(har)["requests"]
    assert rows["connection_id"].to_list() == [812, None]
    assert rows["from_cache"].to_list() == [None, True]


def test_ids_that_are_no_numbers_are_numbered():
    har = har_of(
        *(entry("https://a.test/", number, connection=name) for number, name in enumerate(["b", "7", "a", "b"]))
    )
    ids = tables_of(har)["requests"]["connection_id"].to_list()
    assert ids[0] == ids[3]
    assert len(set(ids)) == 3
    assert None not in ids


@pytest.mark.parametrize("creator", ["WebPagetest", "other"])
def test_webpagetest_gives_the_moment_at_which_a_request_was_sent(creator):
    """Its ``startedDateTime`` is the page's start and ``_load_start``: DNS and connect are before it."""
    connected = {"blocked": -1, "dns": 30, "connect": 90, "ssl": 50, "send": 0, "wait": 5, "receive": 1}
    over = {"blocked": -1, "dns": -1, "connect": -1, "ssl": -1, "send": 0, "wait": 5, "receive": 1}
    lookup = {"transactions_needed": [{"dns_query_type": "A"}]}
    har = har_of(
        entry("https://a.test/", 500, _socket=1, timings=connected),
        entry("https://a.test/x", 505, _socket=1, timings=over),
        # Sent after the one before it, asked for before it.
        entry("https://b.test/", 600, _socket=2, timings=connected, _dns_info=lookup),
        creator=creator,
    )
    tables = tables_of(har)
    assert tables["requests"].select("host", "started_ms").rows() == [
        ("a.test", 0.0),
        ("b.test", 100.0),
        ("a.test", 125.0),
    ]
    assert tables["connections"].select("connection_id", "opened_ms", "established_ms").sort(
        "connection_id"
    ).rows() == [
        (1, 30.0, 120.0),
        (2, 130.0, 220.0),
    ]
    assert tables["dns_queries"]["asked_ms"].to_list() == [100.0]
    assert tables["visits"]["started_at"].dt.to_string("%S%.3f").to_list() == ["00.380"]


@pytest.mark.parametrize("kind", [int, str])
def test_webpagetest_gives_the_moments_of_connections(kind):
    """The first request's, one opened ahead of need, one of a request that tells nothing, one without TLS."""
    phases = {"blocked": -1, "dns": -1, "connect": 90, "ssl": 40, "send": 0, "wait": 5, "receive": 1}
    none = {**phases, "connect": -1, "ssl": -1}

    def moments(*given):
        return dict(zip(("_load_start", "_connect_start", "_connect_end", "_ssl_end"), map(kind, given), strict=True))

    har = har_of(
        entry("https://a.test/", 190, _socket=1, timings=phases, **moments(190, 100, 140, 190)),
        entry("https://b.test/", 400, _socket=2, timings=none, **moments(400, 150, 190, 240)),
        entry("https://c.test/", 500, _socket=3, timings=phases, **moments(500, 0, 0, 0)),
        entry("http://e.test/", 700, _socket=5, timings=none, **moments(700, 610, 650, 0)),
        creator="WebPagetest",
    )
    rows = tables_of(har)["connections"].sort("connection_id").select("opened_ms", "established_ms")
    assert rows.rows() == [(0.0, 90.0), (50.0, 140.0), (310.0, 400.0), (510.0, 550.0)]


def test_a_spelling_that_does_not_tell_is_what_the_connections_others_say():
    """Chromium's DevTools write ``spdy`` for HTTP/2, too, where the response does not say what ALPN chose."""

    def over(connection, spelling, number, **more):
        request = {"method": "GET", "url": f"https://a.test/{number}", "httpVersion": spelling}
        return entry(
            "https://a.test/", number, connection=connection, request=request, response={"status": 200}, **more
        )

    har = har_of(
        *(over("1", "spdy", 0), over("1", "http/2.0", 1), over("2", "spdy", 2), over("3", "spdy", 3)),
        *(
            over("3", "h2", 4),
            over("3", "http/1.1", 5),
            over("4", "unknown", 6),
            over("4", "h3", 7),
            over(None, "spdy", 8),
        ),
    )
    tables = tables_of(har)
    protocols = ["h2", "h2", None, None, "h2", "http/1.1", "h3", "h3", None]
    assert tables["requests"]["protocol"].to_list() == protocols
    assert tables["connections"].sort("connection_id")["protocol"].to_list()[:2] == ["h2", None]
    assert tables["requests"]["protocol_raw"][0] == "spdy"


def test_webpagetest_sockets_are_inferred_connections():
    har = har_of(
        entry("https://a.test/", _socket="31", _ip_addr="192.0.2.9", _protocol="HTTP/2"),
        entry("https://a.test/b", 1, _socket=31, _ip_addr=""),
        creator="WebPagetest",
    )
    rows = tables_of(har)["requests"]
    assert rows.select("connection_id", "connection_source", "server_ip").rows() == [
        (31, "inferred", "192.0.2.9"),
        (31, "inferred", None),
    ]


def test_initiators():
    har = har_of(
        entry("https://a.test/#x", 0),
        entry("https://a.test/s.js", 1, _initiator="https://a.test/"),
        entry("https://a.test/s.js", 2, _initiator="https://a.test/#other"),
        entry("https://a.test/i.png", 3, _initiator="https://a.test/s.js"),
        entry("https://a.test/j.png", 4, _initiator="https://a.test/j.png", _initiatorIndex=1),
        entry("https://a.test/self", 5, _initiator="https://a.test/self"),
        entry(
            "https://a.test/r",
            6,
            response={"status": 302, "redirectURL": "../to", "content": {}},
        ),
        entry("https://a.test/to", 7),
    )
    assert tables_of(har)["requests"]["initiator_id"].to_list() == [None, 0, 0, 2, 1, None, None, 6]


def test_fields_of_wrong_types_count_as_absent():
    rows = tables_of(
        har_of(
            entry(
                "https://a.test/", timings={"wait": "12.5", "dns": [], "send": True}, serverIPAddress=7, connection=4
            ),
            "no object",
            {"request": None, "response": {"status": "404"}, "startedDateTime": {"a": 1}},
        )
    )["requests"]
    assert rows.height == 3
    assert rows.select("url", "wait_ms", "dns_ms", "status", "connection_id").rows()[0] == (
        "https://a.test/",
        12.5,
        None,
        200,
        4,
    )
    assert rows["status"].to_list() == [200, None, 404]


@pytest.mark.parametrize(
    ("text", "reason", "offset"),
    [
        (b"", "empty", None),
        (b"\xef\xbb\xbf \n", "empty", None),
        (b"callback({})", "not-json", 0),
        (b'{"log": {"entries": [1 2]}}', "not-json", 23),
        (b'{"log": {"entries": [', "truncated", 21),
        (b"[]", "not-har", None),
        (b'{"log": []}', "not-har", None),
        (b'{"log": {"pages": []}}', "not-har", None),
        (b'{"log": {"entries": {}}}', "not-har", None),
        (b'{"log": {"entries": ' + b"[" * 100_000 + b"]" * 100_000 + b"}}", "too-deep", None),
    ],
)
def test_what_is_no_har_is_refused_for_a_reason(text, reason, offset):
    with pytest.raises(InputError) as refusal:
        decode(text, "x.har")
    assert (refusal.value.source, refusal.value.reason, refusal.value.byte_offset) == ("x.har", reason, offset)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_byte_order_marks(encoding):
    text = json.dumps(har_of(entry("https://ä.test/")), ensure_ascii=False).encode(encoding)
    assert tables_of(text)["requests"]["host"].to_list() == ["xn--4ca.test"]


def test_chrome_har_capturer_marks_answers_from_the_disk_cache():
    entries = [entry("https://a.test/"), entry("https://a.test/b", 1)]
    entries[0]["_fromDiskCache"], entries[1]["_fromDiskCache"] = False, True
    rows = tables_of(har_of(*entries, creator="Chrome HAR Capturer"))["requests"]
    assert rows["from_cache"].to_list() == [None, True]


def test_one_odd_value_costs_its_own_field_alone():
    odd = entry("https://a.test/b", 1, connection={"not": "an id"}, _error=["x"])
    rows = tables_of(har_of(entry("https://a.test/"), odd))["requests"]
    assert rows.select("url", "status", "error").rows() == [
        ("https://a.test/", 200, None),
        ("https://a.test/b", 200, None),
    ]


def test_text_that_utf8_cannot_hold_is_replaced():
    text = json.dumps(har_of(entry("https://a.test/\ud800x\U0001f600y"), creator="\udfff")).encode()
    assert tables_of(text)["requests"]["url"].to_list() == ["https://a.test/\ufffdx\U0001f600y"]
    wrong_bytes = text.replace(b"a.test", b"a.test/\xff")
    assert tables_of(wrong_bytes)["requests"]["host"].to_list() == ["a.test"]


@pytest.mark.parametrize("number", [-1, 2**31, 2**63, 10**30, 1e308])
def test_numbers_that_no_column_can_hold_count_as_absent(number):
    odd = {"_initiatorIndex": number, "_connectionId": number, "_transferSize": number, "timings": {"wait": number}}
    rows = tables_of(har_of(entry("https://a.test/"), entry("https://a.test/b", 1, **odd), creator="originset"))[
        "requests"
    ]
    assert rows.height == 2
    assert rows["initiator_id"].to_list() == [None, None]


def test_certificates_that_differ_in_their_names_alone_are_told_apart():
    lists = [[f"{number}.example.com"] for number in range(12)] + [[], ["3.example.com"], ["11.example.com"]]
    entries = [
        entry(f"https://{number}.test/", number, connection=str(100 + number), _securityDetails=details)
        for number, details in enumerate({"subjectName": "example.com", "sanList": names} for names in lists)
    ]
    tables = tables_of(har_of(*entries, creator="chrome-har"))
    names = tables["certificate_names"].group_by("certificate_id").agg("name")
    joined = tables["connections"].sort("connection_id").join(names, on="certificate_id", how="left")
    assert joined.sort("connection_id")["name"].to_list() == [names or None for names in lists]
    assert tables["certificates"].height == 13


def test_a_chain_that_is_none_is_no_certificate():
    pem = "-----BEGIN CERTIFICATE-----\n%s\n-----END CERTIFICATE-----"
    entries = [
        entry(f"https://{number}.test/", number, _socket=number + 1, _certificates=[pem % body])
        for number, body in enumerate(("?", "", "AAA"))
    ]
    tables = tables_of(har_of(*entries, creator="WebPagetest"))
    assert tables["certificates"].is_empty()
    assert tables["connections"]["certificate_id"].to_list() == [None] * 3
