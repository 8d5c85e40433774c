"""A plan announces what coalesces safely today and says of everything else why it does not."""

from typing import Any

import polars as pl
import pytest

from originset.data.schema.study_tables import TABLES
from originset.models.plans.certificate_costs import costs
from originset.models.plans.client_shares import ClientMix
from originset.models.plans.origin_plan import Basis, Plan, Server, plan

SITE = "www.site.test"
BASIS = Basis(study="S", visits=20, vantages=2, first_visit="2026-11-20", last_visit="2026-11-21")
SERVED = "198.51.100.1"


def member(host: str, **facts: Any) -> dict[str, Any]:
    usual = {
        "site": SITE, "server": SITE, "host": host, "port": 443, "asn": 64500, "level": 3,
        "covered_by_certificate": True, "misdirected": False, "requests": 5, "visits": 20, "seen_share": 1.0,
    }  # fmt: skip
    return usual | facts


def request(host: str, **facts: Any) -> dict[str, Any]:
    return {"scheme": "https", "host": host, "protocol": "h2", "server_ip": "203.0.113.9", "asn": 64500} | facts


def addition(name: str, rank: int, **facts: Any) -> dict[str, Any]:
    usual = {"site": SITE, "name": name, "certificate_id": "c1", "rank": rank, "level": 0, "same_owner": False}
    usual |= {"validatable_by": "site" if facts.get("same_owner") else "nobody_known", "connections_saved_paper": 7}
    return usual | facts


def planned(
    members: list[dict[str, Any]],
    requests: list[dict[str, Any]] | None = None,
    additions: list[dict[str, Any]] | None = None,
    names: list[str] | None = None,
    *,
    max_additions: int | None = None,
    chain: list[int | None] | None = None,
    **asked: Any,
) -> Plan:
    certificate = {"site": SITE, "certificate_id": "c1", "existing_names": len(names or [])}
    tables = {
        "origin_sets": pl.DataFrame(members, schema=TABLES["origin_sets"].polars_schema),
        "certificate_additions": pl.DataFrame(additions or [], schema=TABLES["certificate_additions"].polars_schema),
        "site_certificates": pl.DataFrame([certificate], schema=TABLES["site_certificates"].polars_schema),
        "certificate_names": pl.DataFrame({"name": names or []}, schema={"name": pl.String}),
        "chain": pl.DataFrame({"der_bytes": chain or []}, schema={"der_bytes": pl.Int64}),
        "requests": pl.DataFrame(
            [request(SITE, server_ip=SERVED), *(requests or [])],
            schema=dict.fromkeys(("scheme", "host", "protocol", "server_ip"), pl.String) | {"asn": pl.Int64()},
        ),
    }
    return plan(SITE, BASIS, tables, max_additions, **asked)


def only(made: Plan) -> Server:
    (server,) = made.servers
    return server


def test_what_is_covered_is_announced_with_the_server_itself() -> None:
    server = only(planned([member("static.test", requests=9), member(SITE, requests=2)]))
    assert server.origins == ["https://static.test", "https://www.site.test"]
    assert [entry.requests for entry in server.announce] == [9, 2]
    assert server.left_out == []


@pytest.mark.parametrize(
    ("facts", "requests", "reason"),
    [
        ({"misdirected": True}, [], "misdirected"),
        ({"covered_by_certificate": False}, [], "not_covered"),
        ({"covered_by_certificate": None}, [], "coverage_unknown"),
        ({"port": 8443}, [], "other_port"),
        ({"visits": 1, "seen_share": 0.05}, [], "rare"),
        ({"requests": 0, "visits": 0, "seen_share": 0.0}, [], "rare"),
        ({}, [request("x.test", scheme="http", protocol="http/1.1")], "not_https"),
        ({}, [request("x.test", protocol="http/1.1"), request("x.test", protocol="http/1.0")], "no_http2"),
        ({"host": "x_y.test"}, [], "not_an_origin"),
        ({"host": "192.0.2.7"}, [], "not_an_origin"),
        ({"host": "x.test."}, [], "not_an_origin"),
    ],
)
def test_what_is_left_out_and_why(facts: dict[str, Any], requests: list[dict[str, Any]], reason: str) -> None:
    server = only(planned([member(SITE), member("x.test") | facts], requests))
    assert server.origins == ["https://www.site.test"]
    assert [left.reason for left in server.left_out] == [reason]


@pytest.mark.parametrize(
    ("facts", "requests", "told"),
    [
        ({"misdirected": True}, [], "a server answered 421 for it"),
        ({"covered_by_certificate": False}, [], "the server's certificate does not cover it"),
        ({"covered_by_certificate": None}, [], "the names of the server's certificate are not known"),
        ({"port": 8443}, [], "it is reached through another port than the server"),
        ({"visits": 1, "seen_share": 0.05}, [], "it was seen in 1 visit only"),
        ({}, [request("x.test", scheme="http", protocol="http/1.1")], "it was asked for without TLS only"),
        ({}, [request("x.test", protocol="http/1.1")], "it was seen over HTTP/1 only: another kind of server"),
        ({"host": "192.0.2.7"}, [], "an IP address is not a host name"),
    ],
)
def test_the_reason_is_words_for_a_person(facts: dict[str, Any], requests: list[dict[str, Any]], told: str) -> None:
    (left,) = only(planned([member(SITE), member("x.test") | facts], requests)).left_out
    assert left.detail == told


@pytest.mark.parametrize("protocols", [["h2", "http/1.1"], ["h3"], [None]])
def test_one_request_over_http1_or_an_unknown_protocol_is_no_reason(protocols: list[str | None]) -> None:
    requests = [request("x.test", protocol=protocol) for protocol in protocols]
    assert "https://x.test" in only(planned([member(SITE), member("x.test")], requests)).origins


def test_hosts_of_the_set_at_the_servers_address_are_to_send_it_too() -> None:
    hosts = ("site.test", "far.test", "else.test")
    uncovered = member("else.test", covered_by_certificate=False)
    requests = [request(host, server_ip=SERVED) for host in ("site.test", "else.test")] + [request("far.test")]
    server = only(planned([member(SITE), *map(member, hosts[:2]), uncovered], requests))
    assert server.same_server == ["site.test"]


@pytest.mark.parametrize(("level", "announced"), [(None, False), (1, False), (2, False), (3, True), (5, True)])
def test_what_is_covered_is_announced_where_it_is_deployable(level: int | None, announced: bool) -> None:
    made = planned([member(SITE, level=level), member("apart.test", level=level)], [request("apart.test")])
    assert only(made).origins == ["https://apart.test"] * announced + ["https://www.site.test"]
    assert [left.reason for left in only(made).left_out] == ["no_evidence"] * (not announced)


def test_what_coalesces_today_is_announced_whatever_the_evidence() -> None:
    made = planned([member(SITE), member("same.test", level=1)], [request("same.test", server_ip=SERVED)])
    assert only(made).origins == ["https://same.test", "https://www.site.test"]


def test_a_rare_host_that_coalesces_today_stays() -> None:
    """Without it a browser that honours the set would open a connection it did not need before."""
    rare = member("x.test", visits=1, seen_share=0.05)
    neighbour = [request("x.test", server_ip=SERVED)]
    (entry,) = [e for e in only(planned([member(SITE), rare], neighbour)).announce if e.origin == "https://x.test"]
    assert entry.coalesces_today
    assert only(planned([member(SITE), rare])).origins == ["https://www.site.test"]
    assert "https://x.test" in only(planned([member(SITE), rare | {"level": 5}])).origins


@pytest.mark.parametrize(
    ("facts", "today"),
    [
        ({"covered_by_certificate": None}, None),
        ({"covered_by_certificate": False}, False),
        ({"port": 8443}, False),
        ({"host": "x_y.test"}, True),
    ],
)
def test_what_a_set_breaks_is_said(facts: dict[str, Any], today: bool | None) -> None:
    row = member("x.test") | facts
    server = only(planned([member(SITE), row], [request(row["host"], server_ip=SERVED)]))
    assert [left.coalesces_today for left in server.left_out] == [today]
    assert any(row["host"] in warning for warning in server.warnings) == (today is not False)


def test_names_of_the_certificate_that_are_not_announced_are_said() -> None:
    (warning,) = only(planned([member(SITE)], names=[SITE, "other.test", "*.site.test"])).warnings
    assert "2 names not announced" in warning
    assert "other.test" in warning
    assert only(planned([member(SITE)], names=[SITE])).warnings == []


def test_a_server_without_http2_is_warned_about() -> None:
    members = [member("old.test", server="old.test")]
    made = planned(members, [request("old.test", protocol="http/1.1")])
    assert any("HTTP/2" in warning for warning in only(made).warnings)


def test_a_server_whose_name_is_no_origin_has_no_set() -> None:
    server = only(planned([member("192.0.2.1", server="192.0.2.1"), member("x.test", server="192.0.2.1")]))
    assert server.origins == []
    assert [left.host for left in server.left_out] == ["192.0.2.1"]


def test_a_server_without_a_set_has_no_other_hosts_for_it() -> None:
    rows = [member("a_b.test", server="a_b.test"), member(SITE, server="a_b.test")]
    requests = [request("a_b.test", server_ip=SERVED)]
    (server,) = (one for one in planned(rows, requests).servers if one.server == "a_b.test")
    assert (server.announce, server.same_server) == ([], [])


def test_servers_come_with_the_most_visited_first() -> None:
    made = planned([member("a.test", server="a.test", visits=3), member("b.test", server="b.test", visits=9)])
    assert [server.server for server in made.servers] == ["b.test", "a.test"]


def test_additions_are_apart_ranked_and_limited() -> None:
    rows = [addition("second.test", 2, same_owner=True), addition("first.test", 1), addition("third.test", 3)]
    made = planned([member(SITE)], additions=rows, max_additions=2)
    assert [(entry.name, entry.same_owner) for entry in made.additions] == [
        ("first.test", False),
        ("second.test", True),
    ]
    assert made.additions_not_taken == 1
    assert only(made).origins == ["https://www.site.test"]
    assert planned([member(SITE)], additions=rows, max_additions=0).additions == []


def test_a_name_that_answered_421_or_is_none_is_not_proposed() -> None:
    rows = [addition("misdirected.test", 1), addition("a_b.test", 2), addition("fine.test", 3)]
    refuser = member("misdirected.test", misdirected=True, covered_by_certificate=False)
    made = planned([member(SITE), refuser], additions=rows)
    assert [entry.name for entry in made.additions] == ["fine.test"]
    assert [(left.name, left.reason) for left in made.additions_left_out] == [
        ("misdirected.test", "misdirected"),
        ("a_b.test", "not_an_origin"),
    ]


def test_a_name_that_saves_nothing_in_any_browser_is_not_proposed() -> None:
    browsers = ("chromium", "chromium_h3", "firefox")
    saved = {"idle.test": (0, 0, 0), "unknown.test": (0, 0, None), "fire.test": (0, 0, 1)}
    rows = [
        addition(name, rank, **{f"connections_saved_{browser}": n for browser, n in zip(browsers, each, strict=True)})
        for rank, (name, each) in enumerate(saved.items(), 1)
    ]
    made = planned([member(SITE)], additions=rows)
    assert [entry.name for entry in made.additions] == ["unknown.test", "fire.test"]
    assert [(left.name, left.reason) for left in made.additions_left_out] == [("idle.test", "saves_nothing")]
    made = planned([member(SITE)], additions=rows, zero_savings=True)
    assert [entry.name for entry in made.additions] == list(saved)


def test_additions_that_are_blocked_or_excluded_say_so() -> None:
    rows = [addition("a.test", 1, blocked_reason="multi_cdn"), addition("b.test", 2), addition("c.test", 3)]
    rows.append(addition("printer", 4, blocked_reason="not_a_name"))
    made = planned([member(SITE), member("d.test")], additions=rows, excluded=frozenset({"b.test", "d.test"}))
    assert [entry.name for entry in made.additions] == ["c.test"]
    assert [(left.name, left.reason, left.detail) for left in made.additions_left_out] == [
        ("a.test", "multi_cdn", "it is on another edge at times"),
        ("b.test", "excluded", "excluded, as asked"),
        ("printer", "not_a_name", "no CA takes it into a certificate"),
    ]
    assert [(left.host, left.reason) for left in only(made).left_out] == [("d.test", "excluded")]


def test_a_host_that_is_elsewhere_at_times_is_left_out_unless_it_coalesces_today() -> None:
    seen = [request("x.test"), request("x.test", server_ip="192.0.2.9", asn=64999)]
    members = [member(SITE), member("x.test")]
    (left,) = only(planned(members, seen)).left_out
    assert (left.reason, "AS64999" in left.detail) == ("elsewhere", True)
    neighbour = [*seen, request("x.test", server_ip=SERVED)]
    assert "https://x.test" in only(planned(members, neighbour)).origins


def test_a_client_mix_ranks_by_what_its_clients_save_and_puts_the_unknown_last() -> None:
    saved = {"connections_saved_chromium": 0, "connections_saved_chromium_h3": 4, "connections_saved_firefox": 2}
    rows = [
        addition("unknown.test", 1),
        addition("h3.test", 2, **saved),
        addition("h2.test", 3, **saved | {"connections_saved_firefox": 6, "connections_saved_chromium_h3": 0}),
    ]
    firefox = ClientMix(firefox_h2=0.5, chromium_h3=0.25, other=0.25)
    made = planned([member(SITE)], additions=rows, client_mix=firefox)
    assert [(entry.name, entry.connections_saved_mix) for entry in made.additions] == [
        ("h2.test", 3.0),
        ("h3.test", 2.0),
        ("unknown.test", None),
    ]
    assert planned([member(SITE)], additions=rows).additions[0].name == "unknown.test"
    only_h3 = ClientMix(chromium_h3=1.0)
    assert planned([member(SITE)], additions=rows, client_mix=only_h3).additions[0].name == "h3.test"


def test_what_a_set_saves_in_firefox_is_the_sum_unless_one_is_unknown() -> None:
    members = [member(SITE, connections_saved_firefox=0), member("x.test", connections_saved_firefox=3)]
    assert only(planned(members)).connections_saved_firefox == 3
    assert only(planned([*members, member("y.test")])).connections_saved_firefox is None


def test_only_names_of_the_site_itself_are_costed() -> None:
    rows = [addition("own.test", 1, same_owner=True), addition("x.test", 2)]
    made = planned([member(SITE)], additions=rows, chain=[1000, 2575])
    assert made.costs == costs(["own.test"], [1000, 2575])


def test_records_are_for_servers_that_announce() -> None:
    made = planned([member(SITE), member("x.test")], [request(SITE, protocol="h3")])
    (record,) = made.https_records
    assert record.line == 'www.site.test. 3600 IN HTTPS 1 . alpn="h3,h2"'
    assert record.only_if.endswith("as it was seen to")
    assert only(planned([member("192.0.2.1", server="192.0.2.1")])).origins == []
