"""Counts, predictions and names exposed of one page worked out by hand, and where each browser's rules part."""

import polars as pl
import pytest

from tests.fixtures.browser_models import browser_tables

pytestmark = pytest.mark.slow

WWW, STATIC, CDN = "www.one.test", "static.one.test", "cdn.two.test"
A, B = "104.16.0.1", "104.16.0.2"


@pytest.fixture
def page(make_tables):
    """A page of three names: one at its address, one elsewhere in its AS, one of another site at its address."""

    def made(**connection):
        asked = [(WWW, A, "document", "one.test"), (STATIC, B, "image", "one.test"), (CDN, A, "image", "one.test")]
        return make_tables(
            {
                "visits": [
                    {"visit_id": "v", "site": WWW, "status": "ok", "source": "crawl", "browser": "chromium",
                     "third_party_cookies": connection.pop("cookies", "allowed")}
                ],
                "requests": [
                    {"visit_id": "v", "request_id": n, "scheme": "https", "host": host, "port": 443, "protocol": "h2",
                     "status": 200, "resource_type": kind, "frame_site": frame, "credentials": "include",
                     "connection_id": n, "server_ip": ip, "started_ms": 50.0 * n}
                    for n, (host, ip, kind, frame) in enumerate(asked)
                ],
                "connections": [
                    {"visit_id": "v", "connection_id": n, "first_host": host, "server_ip": ip, "port": 443, "tls": True,
                     "tls_version": "TLS 1.3", "protocol": "h2", "certificate_id": "all",
                     "established_ms": 50.0 * n + 9, "opened_ms": 50.0 * n, "source": "netlog", "ech": False,
                     **connection}
                    for n, (host, ip, _, _) in enumerate(asked)
                ],
                "dns_queries": [
                    {"visit_id": "v", "lookup_id": n, "host": host, "rtype": rtype, "answers": answers,
                     "asked_ms": 50.0 * n, "took_ms": 2.0, "source": "browser"}
                    for n, (host, ip, _, _) in enumerate(asked)
                    for rtype, answers in (("A", [ip]), ("HTTPS", ["1 . alpn=h2 ech"] if host == CDN else []))
                ],
                "certificates": [{"certificate_id": "all", "san_count": 3, "der_bytes": 900, "chain": ["all"]}],
                "certificate_names": [{"certificate_id": "all", "name": one} for one in (WWW, STATIC, CDN)],
                "addresses": [{"ip": A, "asn": 13335}, {"ip": B, "asn": 13335}],
                "hosts": [
                    {"host": host, "registrable_domain": ".".join(host.split(".")[-2:])} for host in (WWW, STATIC, CDN)
                ],
            }
        )  # fmt: skip

    return made


def counts(tables):
    return browser_tables(tables)["browser_counts"].drop("visit_id").row(0, named=True)


def test_the_same_page_in_both(page) -> None:
    found = counts(page())
    assert (found["chromium_tls"], found["firefox_tls"]) == (2, 2)  # cdn.two.test is where the page is
    assert (found["chromium_dns"], found["firefox_dns"]) == (3, 3)


def test_third_party_cookies_blocked_keep_chromium_alone_from_it(page) -> None:
    found = counts(page(cookies="blocked"))
    assert (found["chromium_tls"], found["firefox_tls"]) == (3, 2)


@pytest.mark.parametrize("cookies", ["allowed", None, "blocked"])
def test_with_third_party_cookies_blocked_it_is_the_same_however_they_were_recorded(page, cookies) -> None:
    found = counts(page(cookies=cookies))
    names = [f"chromium_cookies_blocked_{what}" for what in ("tls", "tls_low", "tls_high", "dns")]
    assert [found[name] for name in names] == [3, 3, 3, 3]


def test_a_connection_shared_with_cookies_allowed_is_no_evidence_of_them_blocked(page) -> None:
    """Two sites on a connection that is not the page's, two fetches of each, their credentials not known."""

    def recorded(cookies):
        tables = page(cookies=cookies)
        later = pl.col("host") != WWW
        requests = tables["requests"].with_columns(
            pl.when(later).then(1).otherwise("connection_id").alias("connection_id"),
            pl.when(later).then(pl.lit("fetch")).otherwise("resource_type").alias("resource_type"),
            pl.lit(None, pl.String).alias("credentials"),
        )
        again = requests.filter(later).with_columns(request_id=pl.col("request_id") + 2)
        own = {"certificate_id": "own", "san_count": 1, "der_bytes": 900, "chain": ["own"]}
        certificates = pl.DataFrame([own], tables["certificates"].collect_schema())
        of_page = pl.when(pl.col("first_host") == WWW).then(pl.lit("own")).otherwise("certificate_id")
        names = pl.LazyFrame({"certificate_id": ["own"], "name": [WWW]})
        changed = {
            "requests": pl.concat([requests, again]),
            # By a browser that is known for Chromium, what one connection carried is of one mode, blocked or not.
            "visits": tables["visits"].with_columns(browser=pl.lit(None, pl.String)),
            "dns_queries": tables["dns_queries"].clear(),
            "connections": tables["connections"].with_columns(of_page.alias("certificate_id")),
            "certificates": pl.concat([tables["certificates"], certificates.lazy()]),
            "certificate_names": pl.concat([tables["certificate_names"], names], how="diagonal"),
        }
        return counts({**tables, **changed})["chromium_cookies_blocked_tls_high"]

    assert (recorded("allowed"), recorded("blocked")) == (5, 4)


def test_without_word_of_the_cookies_a_range_in_chromium_alone(page) -> None:
    found = counts(page(cookies=None))
    assert (found["chromium_tls"], found["chromium_tls_low"], found["chromium_tls_high"]) == (None, 2, 3)
    assert found["firefox_tls"] == 2


def test_an_origin_frame_saves_and_costs_connections_in_firefox(page) -> None:
    both = [f"https://{WWW}", f"https://{STATIC}"]
    found = counts(page(origin_set=both))
    assert (found["chromium_tls"], found["firefox_tls"]) == (2, 2)  # static joins, cdn is kept off
    assert counts(page(origin_set=[*both, f"https://{CDN}"]))["firefox_tls"] == 1
    assert counts(page(origin_set=[f"https://{WWW}"]))["firefox_tls"] == 3
    assert counts(page(origin_set=both, origin_ms=500.0))["firefox_tls"] == 2  # too late for either


def test_after_a_plan(page) -> None:
    rows = browser_tables(page())["browser_predictions"]
    firefox = {row["model"]: row for row in rows.filter(browser="firefox").iter_rows(named=True)}
    assert (firefox["today"]["tls_high"], firefox["planned"]["tls_high"]) == (2, 1)
    assert (firefox["today"]["round_trips"], firefox["planned"]["round_trips"]) == (4, 2)
    assert firefox["today"]["handshake_bytes"] == 2 * 900
    assert firefox["planned"]["handshake_bytes"] == 900  # the certificate has all names already
    chromium = {row["model"]: row for row in rows.filter(browser="chromium").iter_rows(named=True)}
    assert (chromium["today"]["tls_high"], chromium["planned"]["tls_high"]) == (
        2,
        2,
    )  # it ignores the frame
    assert {row["dns"] for row in rows.iter_rows(named=True)} == {3}


def test_after_a_plan_a_document_over_http3_takes_in_names_without_it(page) -> None:
    tables = page()
    tables |= {
        name: tables[name].with_columns(
            protocol=pl.when(pl.col("connection_id") == 0).then(pl.lit("h3")).otherwise("protocol")
        )
        for name in ("requests", "connections")
    }
    found = browser_tables(tables)
    rows = found["browser_predictions"].filter(model="planned").select("browser", "tls_low", "tls_high").sort("browser")
    # Firefox heeds no ORIGIN frame over HTTP/3: what is elsewhere stays there.
    assert rows.rows() == [("chromium", 1, 1), ("firefox", 2, 2)]
    saved = found["saved_connections"].filter(host=STATIC)
    assert saved.select("connections_saved_chromium_h3", "connections_saved_firefox").rows() == [(1, 0)]


def test_names_that_the_path_sees(page) -> None:
    rows = browser_tables(page())["page_names"].sort("host")
    seen = {row["host"]: row for row in rows.iter_rows(named=True)}
    assert [name for name in seen if seen[name]["measured_sni"]] == [CDN, STATIC, WWW]
    assert [name for name in seen if seen[name]["firefox_sni"]] == [STATIC, WWW]
    assert [name for name in seen if seen[name]["planned_firefox_sni"]] == [WWW]
    assert all(seen[name]["planned_firefox_dns"] for name in seen), "Firefox still asks"
    assert [name for name in seen if seen[name]["best_case_dns"]] == [WWW]
    # The HTTPS record has keys: Chromium hides the name with them, Firefox only where DNS is encrypted.
    assert (seen[CDN]["chromium_sni_clear"], seen[CDN]["firefox_sni_clear"]) == (False, True)
    assert (seen[WWW]["chromium_sni_clear"], seen[WWW]["sni_clear"], seen[WWW]["dns_clear"]) == (True, True, True)


def looked_up(tables):
    rows = browser_tables(tables)["page_names"]
    return dict(rows.select("host", "measured_dns").rows())


def test_a_crawl_knows_which_names_were_looked_up(page) -> None:
    tables = page()
    tables["dns_queries"] = tables["dns_queries"].with_columns(
        pl.when(pl.col("host") == CDN).then(pl.lit("resolver")).otherwise("source").alias("source")
    )
    assert looked_up(tables) == {WWW: True, STATIC: True, CDN: False}  # our own question is not the browser's


def test_a_har_knows_of_the_names_that_have_a_phase(page) -> None:
    tables = page()
    requests = tables["requests"].collect()
    phases = requests.with_columns(dns_ms=pl.Series([3.0, 0.0, None]))
    plain = phases[:2].with_columns(
        *(pl.lit(value).alias(name) for name, value in (("scheme", "http"), ("port", 80), ("connection_id", None))),
        host=pl.Series(["plain.one.test", "old.one.test"]),
        request_id=pl.Series([3, 4]),
    )
    tables |= {
        "visits": tables["visits"].with_columns(source=pl.lit("page.har")),
        "requests": phases.vstack(plain.cast(dict(phases.schema))).lazy(),
        "dns_queries": tables["dns_queries"].clear(),
    }
    # Where there is none, it may have been there before.
    assert looked_up(tables) == {WWW: True, STATIC: None, CDN: None, "plain.one.test": True, "old.one.test": None}


def test_addresses_that_the_path_sees(page) -> None:
    tables = page()
    plain = tables["requests"].collect().row(0, named=True) | {
        "request_id": 3, "host": "plain.one.test", "scheme": "http", "port": 80, "server_ip": "104.16.0.3",
        "connection_id": None, "resource_type": "image",
    }  # fmt: skip
    requests = tables["requests"].collect()
    more = requests.vstack(type(requests)([plain], schema=requests.schema))
    rows = browser_tables({**tables, "requests": more.lazy()})["page_addresses"].sort("ip")
    seen = {name: [row["ip"] for row in rows.iter_rows(named=True) if row[name]] for name in rows.columns[2:]}
    everywhere = [A, B, "104.16.0.3"]
    assert seen["measured"] == seen["chromium"] == seen["firefox"] == seen["planned_chromium"] == everywhere
    # What ORIGIN spares is the second address; what goes without TLS goes on going there.
    assert seen["planned_firefox"] == seen["best_case"] == [A, "104.16.0.3"]


def test_where_a_connection_may_lead_is_not_known(page) -> None:
    # Without word of the cookies Chromium may or may not open a connection for cdn.two.test, which is at an address
    # that another connection leads to in any case; here it is at one of its own.
    tables = page(cookies=None)
    moved = {
        name: tables[name].with_columns(
            pl.when(pl.col(of) == CDN).then(pl.lit("104.16.0.9")).otherwise("server_ip").alias("server_ip")
        )
        for name, of in (("requests", "host"), ("connections", "first_host"))
    }
    rows = browser_tables({**tables, **moved})["page_addresses"].filter(ip="104.16.0.9")
    assert rows.select("measured", "chromium", "firefox").rows() == [(True, None, False)]


def test_whether_a_name_was_hidden_is_not_known_without_word_of_it(page) -> None:
    def clear(ech):
        return set(browser_tables(page(ech=ech))["page_names"]["sni_clear"])

    assert (clear(None), clear(ech=True), clear(ech=False)) == ({None}, {False}, {True})
