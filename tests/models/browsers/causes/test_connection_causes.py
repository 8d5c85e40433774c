"""Each cause by a page of two connections that differ in nothing else."""

import pytest

from tests.fixtures.browser_models import browser_tables

pytestmark = pytest.mark.slow

A, B, AWAY = "104.16.0.1", "104.16.0.2", "142.250.0.1"
HOST, OTHER = "www.one.test", "static.one.test"


def redundant(
    make_tables, first=None, second=None, *, requests=(), certificates=None, answers=True, visit=None, edge=None
):
    """The row of the second connection of a page of two: one for HOST, one for OTHER, alike in all that counts."""
    held = {"first_host": HOST, "host": HOST, "server_ip": A, "certificate_id": "all", **(first or {})}
    later = {"first_host": OTHER, "host": OTHER, "server_ip": A, "certificate_id": "all", **(second or {})}
    names = certificates or {"all": [HOST, OTHER]}
    connection = {"tls": True, "source": "netlog", "protocol": "h2", "port": 443, "privacy_mode": None}
    own = set(connection) | {"first_host", "server_ip", "certificate_id", "opened_ms", "established_ms", "closed_ms"}
    own |= {"misdirected", "origin_set", "source"}
    request = {"visit_id": "v", "scheme": "https", "port": 443, "status": 200, "credentials": "include"}
    pages = [{**request, "resource_type": "document", "frame_site": "one.test"}, {**request, "frame_site": "one.test"}]
    of_request = {"host", "server_ip", "protocol", "port", "credentials", "frame_site", "scheme", "resource_type"}
    times = ({"opened_ms": 0.0, "established_ms": 5.0}, {"opened_ms": 30.0, "established_ms": 35.0})
    rows = [
        {**request, "protocol": "h2", "started_ms": 25.0 * n, "wait_ms": 10.0, "request_id": n, "connection_id": n}
        | page
        | {name: value for name, value in given.items() if name in of_request}
        for n, (page, given) in enumerate(zip(pages, (held, later), strict=True))
    ]
    known = [
        {"visit_id": "v", "lookup_id": n, "host": given["host"], "rtype": "A", "answers": [given["server_ip"]],
         "asked_ms": 25.0 * n, "took_ms": 2.0, "source": "browser"}
        for n, given in enumerate((held, later))
    ]  # fmt: skip
    tables = make_tables(
        {
            "visits": [
                {"visit_id": "v", "site": HOST, "status": "ok", "source": "crawl", "browser": "chromium",
                 "third_party_cookies": "allowed", **(visit or {})}
            ],
            "requests": [*rows, *requests],
            "connections": [
                {"visit_id": "v", "connection_id": n, **connection, **time}
                | {name: value for name, value in given.items() if name in own}
                for n, (given, time) in enumerate(zip((held, later), times, strict=True))
            ],
            "dns_queries": known if answers else [],
            "certificates": [
                {"certificate_id": one, "san_count": None if each is None else len(each)} for one, each in names.items()
            ],
            "certificate_names": [
                {"certificate_id": one, "name": name, "wildcard": False}
                for one, each in names.items()
                for name in each or ()
            ],
            "addresses": [{"ip": A, "asn": 13335}, {"ip": B, "asn": 13335}, {"ip": AWAY, "asn": 15169}],
            "hosts": [
                {"host": host, "registrable_domain": ".".join(host.split(".")[-2:]), "edge": edge}
                for host in {HOST, held["host"], later["host"]}
            ],
        }
    )  # fmt: skip
    rows = browser_tables(tables)["redundant_connections"]
    return rows.row(0, named=True) if rows.height else None


OWN_NAME = {"all": [HOST]}
SOCKET = {"second": {"scheme": "wss", "protocol": "http/1.1"}}
CASES = {
    "UNKNOWN": ({}, {}, {}),
    "H1": ({}, {"protocol": "http/1.1"}, {}),
    "PROTO_MIX": ({}, {"protocol": "h3"}, {}),
    "CRED": ({}, {"credentials": "omit"}, {}),
    "PARTITION": ({}, {"frame_site": "other.test"}, {}),
    "PORT_SCHEME": ({}, {"port": 8443}, {}),
    "IP": ({}, {"server_ip": B}, {}),
    "CERT": ({}, {}, {"certificates": OWN_NAME}),
    "CERT+IP": ({}, {"server_ip": B}, {"certificates": OWN_NAME}),
    "RACE": ({"established_ms": 40.0}, {}, {}),
    "MISDIRECTED": ({"misdirected": [OTHER]}, {}, {}),
    "LIFETIME": ({"closed_ms": 28.0}, {}, {}),
    "SPECIAL": ({}, SOCKET["second"], {}),
}


@pytest.mark.parametrize("cause", CASES)
def test_a_cause_by_itself(make_tables, cause) -> None:
    first, second, more = CASES[cause]
    row = redundant(make_tables, first, second, **more)
    assert row["cause"] == cause
    assert row["causes"] == ([] if cause == "UNKNOWN" else [cause])
    assert row["needs"] == []
    assert (row["connection_id"], row["reusable_connection_id"]) == (1, 0)
    assert (row["fixable_by"] is None) == (row["fix"] is None) == (cause == "UNKNOWN")


def test_all_causes_the_first_of_the_taxonomy_primary(make_tables) -> None:
    row = redundant(
        make_tables, {"misdirected": [OTHER]}, {"server_ip": B, "credentials": "omit"}, certificates=OWN_NAME
    )
    assert row["causes"] == ["MISDIRECTED", "CERT+IP", "CRED"]
    assert row["cause"] == "MISDIRECTED"


@pytest.mark.parametrize(
    ("given", "first", "all_of_them"),
    [
        # HTTP/2 helps nobody whose connection leads to another machine.
        ({"second": {"protocol": "http/1.1", "server_ip": AWAY}}, "IP", ["IP", "H1"]),
        ({"second": {"protocol": "http/1.1", "server_ip": B}, "certificates": OWN_NAME}, "CERT+IP", ["CERT+IP", "H1"]),
        # Nothing is shared over HTTP/1.1 that a request could come too soon for.
        ({"first": {"established_ms": 40.0}, "second": {"protocol": "http/1.1"}}, "H1", ["H1"]),
        # Nor by a WebSocket, whatever its certificate.
        ({**SOCKET, "certificates": OWN_NAME}, "SPECIAL", ["SPECIAL", "CERT"]),
    ],
)
def test_what_must_go_first_is_first(make_tables, given, first, all_of_them) -> None:
    row = redundant(make_tables, **given)
    assert (row["cause"], row["causes"]) == (first, all_of_them)


LATE = {"established_ms": 40.0}


@pytest.mark.parametrize(
    ("given", "applies", "need"),
    [
        # Two connections at once may be two for their credentials, or of two servers; the browser is not to blame.
        (
            {"first": LATE, "second": {"host": HOST, "first_host": HOST, "credentials": "unknown"}},
            "RACE",
            "credentials",
        ),
        ({"first": LATE, "certificates": {"all": None}}, "RACE", "certificate names"),
        ({"second": {"protocol": "http/1.1", "server_ip": B}, "answers": False}, "H1", "DNS answers"),
    ],
)
def test_no_obstacle_comes_first_where_one_before_it_is_open(make_tables, given, applies, need) -> None:
    row = redundant(make_tables, **given)
    assert (row["cause"], row["causes"], row["needs"]) == ("NOT_DECIDABLE", [applies], [need])
    assert (row["fixable_by"], row["fix"]) == (None, None)


def test_a_cdn_is_not_told_to_put_one_customers_name_on_anothers_certificate(make_tables) -> None:
    """Both hosts are on one edge and of different owners; who owns the edge's own names, it knows itself."""
    other = {"host": "img.two.test", "first_host": "img.two.test", "server_ip": B}
    row = redundant(make_tables, second=other, certificates=OWN_NAME, edge="cdn.example")
    assert (row["cause"], row["fixable_by"]) == ("CERT+IP", "cdn")
    assert row["fix"].startswith("if img.two.test belongs to the CDN itself, not to one of its customers: ")
    strangers = redundant(make_tables, second=other, certificates=OWN_NAME)
    assert (strangers["fixable_by"], strangers["fix"]) == ("nobody", None)


def test_no_cause_without_a_candidate(make_tables) -> None:
    assert redundant(make_tables, second={"server_ip": AWAY}, certificates=OWN_NAME) is None


@pytest.mark.parametrize(
    ("missing", "need"),
    [
        ({"certificates": {"all": None}}, "certificate names"),
        ({"second": {"server_ip": B}, "answers": False}, "DNS answers"),
        ({"second": {"credentials": "unknown"}}, "credentials"),
        ({"second": {"protocol": None, "scheme": "https"}, "first": {"protocol": None}}, "protocols"),
    ],
)
def test_what_was_left_out_is_named(make_tables, missing, need) -> None:
    row = redundant(make_tables, **missing)
    assert (row["cause"], row["needs"], row["fixable_by"]) == ("NOT_DECIDABLE", [need], None)


def test_third_party_cookies_keep_other_sites_off(make_tables) -> None:
    other = {"host": "cdn.two.test", "first_host": "cdn.two.test"}
    names = {"all": [HOST, "cdn.two.test"]}
    allowed = redundant(make_tables, second=other, certificates=names)
    blocked = redundant(make_tables, second=other, certificates=names, visit={"third_party_cookies": "blocked"})
    firefox = redundant(
        make_tables, second=other, certificates=names, visit={"third_party_cookies": "blocked", "browser": "firefox"}
    )
    assert (allowed["cause"], firefox["cause"]) == ("UNKNOWN", "UNKNOWN")
    assert (blocked["cause"], blocked["detail"], blocked["fixable_by"]) == ("CRED", "THIRD_PARTY_COOKIES", "browser")


def test_an_origin_set_permits_and_keeps_off_where_the_recorder_heeds_it(make_tables) -> None:
    both = {"origin_set": [f"https://{HOST}", f"https://{OTHER}"]}
    own = {"origin_set": [f"https://{HOST}"]}
    firefox = {"visit": {"browser": "firefox"}}
    assert redundant(make_tables, both, {"server_ip": B})["causes"] == ["ORIGIN_UNSUPPORTED", "IP"]
    assert redundant(make_tables, both, {"server_ip": B}, **firefox)["cause"] == "UNKNOWN"
    assert redundant(make_tables, own, {})["cause"] == "UNKNOWN"
    assert redundant(make_tables, own, {}, **firefox)["causes"] == ["ORIGIN_EXCLUDED"]


def test_sander_bounds_where_nobody_saw_it_close(make_tables) -> None:
    watched = redundant(make_tables, second={"server_ip": B})
    assert watched["sander_immediate"] == watched["sander_endless"] == ["IP"]
    # The first one's last answer ended before the second was opened; nobody knows whether it was still there.
    by_har = {"source": "har"}
    row = redundant(make_tables, by_har, {**by_har, "server_ip": B})
    assert (row["sander_immediate"], row["sander_endless"]) == ([], ["IP"])


def test_what_goes_over_to_http3_is_none_of_sanders_causes(make_tables) -> None:
    """The same host at the same address, over HTTP/2 and then, by Alt-Svc, over HTTP/3."""
    upgraded = redundant(make_tables, second={"host": HOST, "first_host": HOST, "protocol": "h3"})
    assert (upgraded["cause"], upgraded["sander_immediate"], upgraded["sander_endless"]) == ("PROTO_MIX", [], [])
    over_h3 = {"protocol": "h3"}
    again = redundant(make_tables, over_h3, {"host": HOST, "first_host": HOST, **over_h3})
    assert again["sander_endless"] == ["CRED"]


HTTP1 = {"protocol": "http/1.1", "first_host": HOST, "host": HOST}
ELSEWHERE = {"visit_id": "v", "request_id": 2, "scheme": "https", "host": "h2.three.test", "port": 443, "status": 200}


@pytest.mark.parametrize(
    ("visit", "requests", "cause"),
    [
        ({"browser": None, "recorder": "splash"}, [], "NOT_DECIDABLE"),
        ({"browser": "chromium", "browser_version": "21.0.1180.79"}, [], "NOT_DECIDABLE"),
        ({"browser": None}, [{**ELSEWHERE, "protocol": "h2"}], "H1"),
        ({"browser": "chromium", "browser_version": "60.0.3112.78"}, [], "H1"),
        ({"browser": "chromium-headless-shell", "browser_version": "150.0.7871.1"}, [], "H1"),
        ({"browser": "firefox", "browser_version": None}, [], "H1"),
    ],
)
def test_a_recorder_without_http2_says_nothing_of_servers(make_tables, visit, requests, cause) -> None:
    """Splash, for one, speaks HTTP/1.1 to servers that have had HTTP/2 for years."""
    row = redundant(make_tables, HTTP1, HTTP1, visit=visit, requests=requests)
    assert row["cause"] == cause
    assert row["needs"] == (["a recorder that speaks HTTP/2"] if cause == "NOT_DECIDABLE" else [])
