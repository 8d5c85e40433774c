"""The back-test on pages of a few requests: what is predicted rests on facts, what is compared is what was recorded."""

import polars as pl
import pytest

from tests.fixtures.browser_models import browser_tables

pytestmark = pytest.mark.slow

WWW, STATIC, OTHER = "www.one.test", "static.one.test", "www.two.test"
HERE, THERE = "104.16.0.1", "104.16.0.2"


def request(number, host, connection, started_ms, **more):
    return {
        "visit_id": "v", "request_id": number, "scheme": "https", "host": host, "port": 443, "protocol": "h2",
        "status": 200, "resource_type": "document" if number == 0 else "image", "connection_id": connection,
        "credentials": "include", "server_ip": HERE, "started_ms": started_ms, "blocked_ms": 0.0, "dns_ms": 0.0,
        "connect_ms": 0.0, "send_ms": 1.0, "wait_ms": 5.0, "receive_ms": 1.0, **more,
    }  # fmt: skip


@pytest.fixture
def page(make_tables):
    """The tables of a page: ``connections`` by number, each with its first host, address and certificate's names."""

    def made(requests, connections, answers=None, **visit):
        return make_tables(
            {
                "visits": [
                    {"visit_id": "v", "site": WWW, "status": "ok", "source": "page.har", "browser": "chromium",
                     "third_party_cookies": "allowed", **visit}
                ],
                "requests": requests,
                "dns_queries": [
                    {"visit_id": "v", "lookup_id": 0, "host": host, "rtype": "A", "answers": found, "asked_ms": 0.0,
                     "took_ms": 1.0, "source": "browser"}
                    for host, found in (answers or {}).items()
                ],
                "connections": [
                    {"visit_id": "v", "connection_id": number, "first_host": host, "server_ip": ip, "port": 443,
                     "tls": True, "protocol": "h2", "certificate_id": f"c{number}", "opened_ms": 0.0,
                     "established_ms": 20.0, "source": "har"}
                    for number, (host, ip, _) in connections.items()
                ],
                "certificates": [
                    {"certificate_id": f"c{number}", "san_count": len(names)}
                    for number, (_, _, names) in connections.items()
                ],
                "certificate_names": [
                    {"certificate_id": f"c{number}", "name": name}
                    for number, (_, _, names) in connections.items()
                    for name in names
                ],
                "hosts": [
                    {"host": host, "registrable_domain": host.partition(".")[2]} for host in (WWW, STATIC, OTHER)
                ],
            }
        )  # fmt: skip

    return made


def checked(tables):
    columns = ("protocol", "tls_low", "tls_high", "recorded", "error", "error_cause")
    return browser_tables(tables)["predictions_check"].select(columns).sort("protocol").rows()


def two_hosts(connection_of_the_second, **more):
    return [request(0, WWW, 1, 0.0, connect_ms=20.0), request(1, STATIC, connection_of_the_second, 500.0, **more)]


BOTH = [WWW, STATIC]
ONE = {1: (WWW, HERE, BOTH)}
TWO = {1: (WWW, HERE, BOTH), 2: (STATIC, HERE, BOTH)}


@pytest.mark.parametrize("answers", [None, {WWW: [HERE], STATIC: [HERE]}])
def test_the_prediction_is_the_same_whichever_requests_the_recording_has_on_one_connection(page, answers) -> None:
    assert checked(page(two_hosts(1), ONE, answers)) == [("h2", 1, 1, 1, 0, None)]
    ((_, low, high, recorded, error, cause),) = checked(page(two_hosts(2), TWO, answers))
    assert (low, high, recorded, error) == (1, 1, 2, 1)
    assert cause == "UNKNOWN"  # no rule that is known forbade it


def test_sharing_that_the_certificate_forbids_is_an_error_although_the_recording_shows_it(page) -> None:
    assert checked(page(two_hosts(1), {1: (WWW, HERE, [WWW])})) == [("h2", 2, 2, 1, -1, "CERT")]


def test_what_the_model_spares_as_recorded_is_a_range_from_facts_alone(page) -> None:
    tables = page(two_hosts(1, server_ip=None), ONE)
    told = browser_tables(tables)["browser_predictions"].filter(model="today", browser="chromium")
    assert told.select("tls_low", "as_recorded").row(0) == (1, 1)
    assert checked(tables) == [("h2", 1, 2, 1, 0, None)]


def likeliest(tables):
    """The likeliest count, in the back-test and as shown of today."""
    rows = browser_tables(tables)
    shown = rows["browser_predictions"].filter(browser="chromium")
    assert shown.filter(model="planned")["tls_likely"].to_list() == [None]
    assert rows["browser_counts"]["chromium_tls_likely"].item() == shown.filter(model="today")["tls_likely"].item()
    return rows["predictions_check"]["tls_likely"].sum(), shown.filter(model="today")["tls_likely"].item()


def test_what_may_share_a_connection_most_likely_does_unless_it_was_recorded_on_its_own(page) -> None:
    apart = TWO | {2: (STATIC, None, BOTH)}
    tables = page(two_hosts(2, server_ip=None), apart)
    assert checked(tables) == [("h2", 1, 2, 2, 0, None)]
    assert likeliest(tables) == (1, 2)


def test_over_http1_there_are_most_likely_as_many_as_needed_at_once(page) -> None:
    fetched = [
        request(number, STATIC, number, started, protocol="http/1.1", credentials=None, resource_type="fetch")
        for number, started in ((1, 100.0), (2, 101.0), (3, 500.0))
    ]
    others = {number: (STATIC, HERE, [STATIC]) for number in (1, 2, 3)}
    tables = page([request(0, WWW, 0, 0.0), *fetched], {0: (WWW, HERE, [WWW]), **others})
    h1, h2 = checked(tables)
    assert (h1, h2) == (("h1", 1, 3, 3, 0, None), ("h2", 1, 1, 1, 0, None))
    assert likeliest(tables) == (3, 4)  # two at once and the page's own; as recorded


def test_where_dns_answers_are_known_the_address_of_a_shared_connection_is_no_fact_about_a_host(page) -> None:
    answers = {WWW: [HERE], STATIC: [THERE]}
    assert checked(page(two_hosts(1), ONE, answers)) == [("h2", 2, 2, 1, -1, "IP")]


def test_credentials_that_a_recording_contradicts_are_said(page) -> None:
    tables = page([request(0, WWW, 1, 0.0), request(1, WWW, 1, 500.0, credentials="omit")], ONE)
    assert checked(tables) == [("h2", 2, 2, 1, -1, "CRED")]


def test_more_connections_of_http1_than_were_needed_at_once(page) -> None:
    plain = [request(n, WWW, 1 + n % 2, 100.0 * n, protocol="http/1.1") for n in range(3)]
    tables = page(plain, {1: (WWW, HERE, [WWW]), 2: (WWW, HERE, [WWW])})
    assert checked(tables) == [("h1", 1, 1, 2, 1, "H1")]


def test_each_protocol_has_its_own_row(page) -> None:
    requests = [*two_hosts(1), request(2, OTHER, 3, 600.0, protocol="http/1.1", server_ip=THERE)]
    rows = checked(page(requests, ONE | {3: (OTHER, THERE, [OTHER])}))
    assert [row[0] for row in rows] == ["h1", "h2"]
    assert [row[3] for row in rows] == [1, 1]


def test_requests_of_unknown_connections_are_left_out_on_both_sides(page) -> None:
    requests = [*two_hosts(1), request(2, OTHER, None, 600.0, server_ip=None)]
    assert checked(page(requests, ONE)) == [("h2", 1, 1, 1, 0, None)]


def test_what_cannot_be_compared_has_no_row(page) -> None:
    assert checked(page([request(0, WWW, None, 0.0)], ONE)) == []
    assert checked(page(two_hosts(1), ONE, browser="safari")) == []


def test_a_build_of_chromium_is_predicted_by_its_rules(page) -> None:
    tables = page(two_hosts(1), ONE, browser="chromium-headless-shell")
    assert browser_tables(tables)["predictions_check"]["browser"].to_list() == ["chromium"]


@pytest.mark.parametrize(
    ("version", "predicted", "taken"), [("119.0.6045.105", 2, "119.0.6045.0"), ("153.0.8010.1", 1, "153.0.8010.0")]
)
def test_a_page_is_predicted_by_the_rules_of_its_browsers_version(page, version, predicted, taken) -> None:
    """Over HTTP/3 Chromium heeds ORIGIN frames only in later versions: two addresses, one set."""
    answers = {WWW: [HERE], STATIC: [THERE]}
    connections = {1: (WWW, HERE, BOTH), 2: (STATIC, THERE, BOTH)}
    tables = page(two_hosts(2, server_ip=THERE), connections, answers, browser_version=version)
    tables["requests"] = tables["requests"].with_columns(protocol=pl.lit("h3"))
    told = pl.when(pl.col("connection_id") == 1).then(pl.lit([f"https://{host}" for host in BOTH]))
    tables["connections"] = tables["connections"].with_columns(protocol=pl.lit("h3"), origin_set=told)
    row = browser_tables(tables)["predictions_check"].row(0, named=True)
    assert (row["tls_low"], row["tls_high"], row["recorded"]) == (predicted, predicted, 2)
    assert row["rules_version"] == taken


def test_a_page_by_firefox_is_predicted_by_the_rules_of_firefox(page) -> None:
    requests = [request(0, WWW, 1, 0.0, connect_ms=20.0), request(1, STATIC, 1, 5.0)]
    early = {1: (WWW, HERE, BOTH)}
    assert checked(page(requests, early)) == [("h2", 2, 2, 1, -1, "RACE")]  # Chromium waits for no connection
    rows = browser_tables(page(requests, early, browser="firefox"))["predictions_check"]
    assert rows["browser"].to_list() == ["firefox"]
    assert rows.select(pl.col("tls_low") <= 1).item()
