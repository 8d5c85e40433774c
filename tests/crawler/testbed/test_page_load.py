"""Whose connections carried a page's hosts, from the servers' records."""

from __future__ import annotations

from originset.crawler.testbed import scenario_file
from originset.crawler.testbed.page_load import connections_by_host
from originset.crawler.testbed.server_logs import LoggedRequest, TlsHandshake

SCENARIO = scenario_file.built_in()


def handshake(connection: int, name: str | None) -> TlsHandshake:
    return TlsHandshake(
        time=0, connection=connection, server="a", client="b", client_port=1, server_name=name, alpn="h2",
        resumed=False, tls_version="TLSv1.3",
    )  # fmt: skip


def request(connection: int, host: str, path: str, status: int = 200, scheme: str = "https") -> LoggedRequest:
    return LoggedRequest(
        time=0, connection=connection, server="a", client_port=1, scheme=scheme, protocol="h2", method="GET", host=host,
        path=path, status=status,
    )  # fmt: skip


def test_what_is_counted() -> None:
    shop, assets = "shop.test", "assets.shopcdn.test"
    handshakes = [handshake(1, shop), handshake(2, assets), handshake(3, shop), handshake(4, None)]
    requests = [
        request(1, shop, "/"),
        request(3, shop, "/basket.json"),
        request(1, assets, "/shop.css"),
        request(2, assets, "/shop.js", status=421),  # not carried
        request(2, assets, "/favicon.ico", status=404),  # no page asks for it
        request(5, shop, "/", scheme="http"),
        request(4, "stats.metrics.test", "/view.png"),
        request(3, "daily.test", "/", status=302),
    ]
    assert connections_by_host(SCENARIO, handshakes, requests) == {
        shop: {shop: 2},
        assets: {shop: 1},
        "stats.metrics.test": {"no name": 1},
        "daily.test": {shop: 1},
    }
