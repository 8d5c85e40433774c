"""Where tests run, and the fixtures that several parts use.

The whole run takes place in network, mount and process namespaces of its own (``namespace.run_inside``): whatever a test
does by mistake, nothing leaves the machine, and no process outlives the run. pytest starts itself again in there, so
``pytest tests/x.py::test_y`` works as it always does, as root and as an ordinary user; inside one is uid 0. Where the
machine does not permit it, tests marked ``testbed`` are skipped and say so, unless ``ORIGINSET_REQUIRE_TESTBED=1``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from originset.crawler.testbed import scenario_file
from originset.crawler.testbed.lab import Testbed
from originset.crawler.testbed.namespace import inside, run_inside
from originset.data.errors import MissingDependency
from originset.data.schema import TABLES, Stage

pytest_plugins = ["example_study"]

_WHY_NOT = "ORIGINSET_NO_TESTBED"


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    if inside() or _WHY_NOT in os.environ or config.option.help or config.option.version:
        return None
    try:
        return run_inside([sys.executable, "-m", "pytest", *config.invocation_params.args])
    except MissingDependency as error:
        os.environ[_WHY_NOT] = str(error)  # workers of a distributed run need it too
        return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if inside() or os.environ.get("ORIGINSET_REQUIRE_TESTBED"):
        return
    skip = pytest.mark.skip(reason=os.environ.get(_WHY_NOT, "not in a network namespace"))
    for item in items:
        if item.get_closest_marker("testbed"):
            item.add_marker(skip)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of data that is not the project's, beside the repository; a test that needs it is skipped without."""
    folder = Path(__file__).resolve().parents[2] / "shared"
    if not (folder / "data").is_dir():
        pytest.skip(f"{folder} is absent: it holds real HARs and tables that the repository may not contain")
    return folder


@pytest.fixture(scope="session")
def testbed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Testbed]:
    """The small internet, brought up once a session; marks its tests with ``testbed`` by being asked for."""
    with Testbed(scenario_file.built_in(), tmp_path_factory.mktemp("testbed")) as running:
        yield running


Rows = dict[str, list[dict[str, Any]]]
MakeTables = Callable[[Rows], dict[str, pl.LazyFrame]]


def _make_tables(rows: Mapping[str, list[dict[str, Any]]]) -> dict[str, pl.LazyFrame]:
    tables = {}
    for name, table in TABLES.items():
        if table.stage in (Stage.ROWS, Stage.RESOLVED):
            columns = table.polars_schema.names()
            full = [{column: row.get(column) for column in columns} for row in rows.get(name, [])]
            assert all(set(row) <= set(columns) for row in rows.get(name, [])), name
            tables[name] = pl.DataFrame(full, schema=table.polars_schema, orient="row").lazy()
    assert set(rows) <= set(tables)
    return tables


@pytest.fixture(scope="session")
def make_tables() -> MakeTables:
    """A function: rows with only the columns that matter -> every table that models read, the rest NULL."""
    return _make_tables


def _request(visit: str, number: int, host: str, ip: str | None, connection: int | None, **more: Any) -> dict[str, Any]:
    scheme = more.get("scheme", "https")
    return {
        "visit_id": visit,
        "request_id": number,
        "url": f"{scheme}://{host}/{number}",
        "scheme": scheme,
        "host": host,
        "port": 443 if scheme == "https" else 80,
        "method": "GET",
        "protocol": "h2",
        "status": 200,
        "connection_id": connection,
        "connection_source": None if connection is None else "netlog",
        "server_ip": ip,
        "started_ms": 10.0 * number,
        **more,
    }


def _connection(visit: str, number: int, host: str, certificate: str | None, **more: Any) -> dict[str, Any]:
    return {
        "visit_id": visit,
        "connection_id": number,
        "first_host": host,
        "tls": True,
        "certificate_id": certificate,
        "opened_ms": 10.0 * number,
        "source": "netlog",
        **more,
    }


@pytest.fixture(scope="session")
def example_rows() -> Rows:
    """Six page loads, small enough to count by hand.

    a, b: two crawled visits of example.com; c: an imported page with connection ids; d: one without;
    e: a visit that failed; f: a page that asked for nothing.
    """
    a1, a2, google, alone = "104.16.0.1", "104.16.0.2", "142.250.0.1", "203.0.113.9"
    visits = [
        {"visit_id": "a", "site": "example.com", "rank": 1, "status": "ok", "source": "crawl", "vantage": "here",
         "url": "https://www.example.com/0", "final_url": "https://www.example.com/0", "browser": "chromium",
         "started_at": datetime(2026, 1, 1), "load_ms": 500.0},  # noqa: DTZ001 - the schema's timestamps are UTC
        {"visit_id": "b", "site": "example.com", "rank": 1, "status": "ok", "source": "crawl", "vantage": "there",
         "url": "https://www.example.com/0", "final_url": "https://www.example.com/0", "browser": "chromium"},
        {"visit_id": "c", "site": "shop.test", "status": "ok", "source": "x/c.har", "load_ms": 900.0},
        {"visit_id": "d", "site": "plain.test", "status": "ok", "source": "x/d.har"},
        {"visit_id": "e", "site": "gone.test", "rank": 2, "status": "failed", "source": "crawl", "error": "dns",
         "error_code": "net::ERR_NAME_NOT_RESOLVED", "vantage": "here"},
        {"visit_id": "f", "site": "empty.test", "status": "ok", "source": "x/f.har"},
    ]
    requests = [
        # 6 TLS connections, one of them (4) a duplicate; 4 addresses; 2 ASes and one address in none.
        _request("a", 0, "www.example.com", a1, 1, resource_type="document", mime_type="text/html"),
        _request("a", 1, "static.example.com", a2, 2, mime_type="text/css", initiator_id=0),
        _request("a", 2, "cdn.other.net", a2, 3, dns_ms=20.0, connect_ms=30.0, wait_ms=10.0, receive_ms=5.0),
        _request("a", 3, "cdn.other.net", a2, 4),
        _request("a", 4, "fonts.g.test", google, 5, dns_ms=20.0, connect_ms=30.0, wait_ms=10.0, receive_ms=396.0),
        _request("a", 5, "api.tiny.test", alone, 6, protocol="http/1.1"),
        _request("a", 6, "assets.example.com", a2, 2),
        _request("a", 7, "", None, None, scheme="data", port=None),
        _request("a", 8, "cdn.other.net", None, None, from_cache=True),
        _request("a", 9, "www.example.com", None, None),
        # img.other.net came over the document's connection; the second static.example.com got a 421.
        _request("b", 0, "www.example.com", a1, 1, resource_type="document"),
        _request("b", 1, "img.other.net", a1, 1),
        _request("b", 2, "cdn.other.net", a2, 2),
        _request("b", 3, "static.example.com", a2, 2, status=421),
        # A redirect, plain HTTP, three DNS phases of which one took no time.
        _request("c", 0, "shop.test", google, None, scheme="http", status=301, dns_ms=1.0, connection_source=None),
        _request("c", 1, "www.shop.test", google, 7, dns_ms=2.0, connect_ms=3.0, connection_source="har"),
        _request("c", 2, "www.shop.test", google, 8, dns_ms=0.0, connection_source="har"),
        _request("d", 0, "plain.test", None, None),
        _request("d", 1, "img.plain.test", None, None),
    ]
    connections = [
        _connection("a", 1, "www.example.com", "own", established_ms=5.0),
        _connection("a", 2, "static.example.com", "own"),
        _connection("a", 3, "cdn.other.net", "other"),
        _connection("a", 4, "cdn.other.net", "other"),
        _connection("a", 5, "fonts.g.test", "google"),
        _connection("a", 6, "api.tiny.test", None),
        _connection("a", 7, "speculative.test", None, used=False),
        _connection("a", 8, "refused.test", None, tls=False, used=False),
        _connection("b", 1, "www.example.com", "own"),
        _connection("b", 2, "cdn.other.net", "other"),
        _connection("c", 7, "www.shop.test", None, source="har", opened_ms=None),
        _connection("c", 8, "www.shop.test", None, source="har", opened_ms=None),
    ]
    dns = [
        *({"visit_id": "a", "lookup_id": i, "rtype": rtype, "attempts": 1, "source": "browser", "host": f"h{i}"}
          for i in range(5) for rtype in ("A", "AAAA", "HTTPS")),
        {"visit_id": "b", "lookup_id": 1, "rtype": "A", "attempts": 0, "source": "browser", "host": "h1"},
        {"visit_id": "c", "lookup_id": 1, "rtype": "A", "attempts": 9, "source": "live", "host": "h1"},
    ]
    names = {"own": ["example.com", "*.example.com"], "other": ["cdn.other.net"], "google": ["*.g.test"]}
    return {
        "visits": visits,
        "requests": requests,
        "connections": connections,
        "dns_queries": dns,
        "certificates": [
            {"certificate_id": each, "san_count": len(sans), "issuer_org": "Example CA"} for each, sans in names.items()
        ],
        "certificate_names": [
            {"certificate_id": each, "name": name, "wildcard": name.startswith("*.")}
            for each, sans in names.items()
            for name in sans
        ],
        "hosts": [
            {"host": host, "registrable_domain": ".".join(host.split(".")[-2:])}
            for host in sorted({row["host"] for row in requests if row["host"]})
        ],
        "addresses": [
            {"ip": a1, "asn": 13335, "asns": [13335], "as_name": "Cloudflare", "kind": "public"},
            {"ip": a2, "asn": 13335, "asns": [13335], "as_name": "Cloudflare", "kind": "public"},
            {"ip": google, "asn": 15169, "asns": [15169], "as_name": "Google", "kind": "public"},
            {"ip": alone, "asn": None, "kind": "public"},
        ],
    }


@pytest.fixture
def example_tables(make_tables: MakeTables, example_rows: Rows) -> dict[str, pl.LazyFrame]:
    """``example_rows`` as tables."""
    return make_tables(example_rows)
