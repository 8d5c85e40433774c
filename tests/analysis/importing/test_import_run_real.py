"""The real recordings, against an independent reader that shares nothing with the one tested."""

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlsplit

import polars as pl
import pyasn
import pytest
from rich.progress import Progress

from originset.analysis.importing.import_run import import_hars
from originset.analysis.resolution.name_resolution import resolve_names
from originset.data.studies.shards import scan
from originset.data.studies.study import Study

# The recorders whose `connection` is the server's port (in these files it is 443 or 80 throughout).
PORT_WRITERS = {"Firefox", "Firebug"}


@pytest.fixture(scope="module")
def hars(shared: Path) -> Path:
    return shared / "data" / "hars"


@pytest.fixture(scope="module")
def study(hars: Path, tmp_path_factory: pytest.TempPathFactory) -> Study:
    study = Study(tmp_path_factory.mktemp("real") / "study")
    with study.changing("import", {}), Progress(disable=True) as progress:
        summary = import_hars(study, [hars / "real"], progress)
        resolve_names(study)
    assert (summary.files, summary.imported, summary.refused) == (99, 99, [])
    return study


def naive_pages(folder: Path) -> Iterator[tuple[str, int, list[dict[str, Any]], str]]:
    """(source, page number, entries, creator) of each page; entries with a false pageref by their time."""
    for path in sorted(folder.iterdir()):
        content = path.read_bytes()
        text = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
        log = json.loads(text.decode("utf-8-sig"))["log"]
        pages = log.get("pages") or [{"id": None}]
        names = [page["id"] for page in pages]
        entries: list[list[dict[str, Any]]] = [[] for _ in pages]
        for entry in log["entries"]:
            if len(pages) == 1:
                entries[0].append(entry)
            elif entry.get("pageref") in names:
                entries[names.index(entry["pageref"])].append(entry)
            else:  # all in one file, whose stamps share an offset and so sort as text
                open_ = [n for n, page in enumerate(pages) if page["startedDateTime"] <= entry["startedDateTime"]]
                entries[open_[-1]].append(entry)
        for number, page in enumerate(entries):
            yield f"real/{path.name}", number, page, log["creator"]["name"]


def test_files_visits_and_entries(study, hars):
    pages = list(naive_pages(hars / "real"))
    assert len({source for source, *_ in pages}) == 99
    assert len(pages) == 137
    assert sum(len(entries) for _, _, entries, _ in pages) == 10_126
    expected = Counter((source, len(entries)) for source, _, entries, _ in pages)
    requests = scan(study, "requests").group_by("visit_id").len("entries")
    visits = scan(study, "visits").join(requests, on="visit_id", how="left").collect()
    found = Counter(visits.select("source", pl.col("entries").fill_null(0)).iter_rows())
    assert found == expected
    assert visits["visit_id"].n_unique() == 137
    requests_of_a_visit = scan(study, "requests").group_by("visit_id").agg(pl.col("request_id").sort()).collect()
    assert all(ids.to_list() == list(range(len(ids))) for ids in requests_of_a_visit["request_id"])


def test_identical_files_stay_apart(study):
    visits = scan(study, "visits").collect()
    files = visits.select("source", "source_sha256").unique()
    assert files.height - files["source_sha256"].n_unique() == 2


def naive_host(url: str) -> str | None:
    """Without the dot that ends four of them; one address has `400,700` written into its host, which makes it none."""
    host = urlsplit(url).hostname
    return None if host is None or "," in host else host.removesuffix(".")


def test_a_page_that_no_entry_names_has_those_of_its_time(study, hars):
    """The file multi_test_4 declares page_4, and its four entries name page_3."""
    named = {
        (source, number): {entry.get("pageref") for entry in entries}
        for source, number, entries, _ in naive_pages(hars / "real")
        if source.endswith("multi_test_4.har")
    }
    assert list(named.values()) == [{"page_3"}]
    rows = scan(study, "requests").join(scan(study, "visits"), on="visit_id").collect()
    assert rows.filter(pl.col("source").str.ends_with("multi_test_4.har")).height == 4


def test_hosts_of_each_page(study, hars):
    expected = Counter(
        (source, frozenset(naive_host(entry["request"]["url"]) for entry in entries) - {None})
        for source, _, entries, _ in naive_pages(hars / "real")
        if entries
    )
    found = (
        scan(study, "requests")
        .join(scan(study, "visits").select("visit_id", "source"), on="visit_id")
        .group_by("visit_id", "source")
        .agg(pl.col("host").drop_nulls().unique())
        .collect()
    )
    assert (
        Counter((source, frozenset(hosts)) for source, hosts in found.select("source", "host").iter_rows()) == expected
    )


def test_tls_connections_of_each_page(study, hars):
    """789 by the ids as written, less the three pages' worth of port numbers that Firefox wrote in their place."""
    expected: Counter[str] = Counter()
    for source, _, entries, creator in naive_pages(hars / "real"):
        if creator not in PORT_WRITERS:
            secure = [entry for entry in entries if entry["request"]["url"].startswith("https:")]
            expected[source] += len({entry["connection"] for entry in secure if entry.get("connection", "0") != "0"})
    found = (
        scan(study, "requests")
        .filter((pl.col("scheme") == "https") & (pl.col("connection_source") == "har"))
        .join(scan(study, "visits").select("visit_id", "source"), on="visit_id")
        .group_by("source")
        .agg(pl.struct("visit_id", "connection_id").n_unique())
        .collect()
    )
    assert dict(found.iter_rows()) == {source: number for source, number in expected.items() if number}
    assert sum(expected.values()) > 780


def test_connections_of_each_page_that_webpagetest_tells_by_their_sockets(study, hars):
    expected = Counter(
        (source, len(sockets))
        for source, _, entries, creator in naive_pages(hars / "real")
        if creator == "WebPagetest"
        and (sockets := {str(entry["_socket"]) for entry in entries if entry.get("_socket") not in {None, "", 0, -1}})
    )
    found = (
        scan(study, "connections")
        .filter(pl.col("source") == "inferred")
        .join(scan(study, "visits").select("visit_id", file="source"), on="visit_id")
        .group_by("visit_id", "file")
        .len("connections")
        .collect()
    )
    assert Counter(found.select("file", "connections").iter_rows()) == expected
    assert sum(number for _, number in expected) > 100


def test_every_address_maps_as_pyasn_says(study, shared):
    table = pyasn.pyasn(str(shared / "data" / "asn" / "ipasn_iplocdb_20260617.dat.gz"))
    addresses = scan(study, "addresses").collect()
    assert addresses.height > 700
    assert addresses["asn"].to_list() == [table.lookup(ip)[0] for ip in addresses["ip"]]
    assert addresses.filter(pl.col("asn").is_not_null())["as_name"].null_count() == 0


def test_every_recorded_address_is_kept(study, hars):
    recorded = [
        entry.get("serverIPAddress") or entry.get("_ip_addr") or None
        for _, _, entries, _ in naive_pages(hars / "real")
        for entry in entries
    ]
    assert scan(study, "requests").select("server_ip").collect()["server_ip"].count() == sum(map(bool, recorded))


def test_medians_of_the_papers_counts(study, hars, shared):
    """TLS connections and distinct ASes per page, in plain Python, over the pages that have ids and addresses."""
    table = pyasn.pyasn(str(shared / "data" / "asn" / "ipasn_iplocdb_20260617.dat.gz"))
    connections, ases = [], []
    for _, _, entries, creator in naive_pages(hars / "real"):
        ids = {
            entry["connection"]
            for entry in entries
            if entry["request"]["url"].startswith("https:") and entry.get("connection", "0") != "0"
        }
        ips = {entry["serverIPAddress"] for entry in entries if entry.get("serverIPAddress")}
        if ids and creator not in PORT_WRITERS:
            connections.append(len(ids))
        if ips and creator != "WebPagetest":
            ases.append(len({table.lookup(ip)[0] or ip for ip in ips}))
    requests = scan(study, "requests").filter(
        pl.col("connection_source").is_null() | (pl.col("connection_source") == "har")
    )
    requests = requests.join(
        scan(study, "visits").filter(pl.col("recorder") != "webpagetest"), on="visit_id", how="semi"
    )
    joined = requests.join(scan(study, "addresses"), left_on="server_ip", right_on="ip", how="left").collect()
    secure = joined.filter((pl.col("scheme") == "https") & pl.col("connection_id").is_not_null())
    assert secure.group_by("visit_id").agg(pl.col("connection_id").n_unique())["connection_id"].median() == median(
        connections
    )
    key = pl.coalesce(pl.col("asn").cast(pl.String), "server_ip")
    addressed = joined.filter(pl.col("server_ip").is_not_null())
    assert addressed.group_by("visit_id").agg(key.n_unique().alias("n"))["n"].median() == median(ases)


# Written down from the manifest of the odd files before the reader ran: these four hold no HAR, the others one.
REFUSED = {
    "odd/grafana__har-to-k6__example__page.har": "not-har",
    "odd/haralyzer__haralyzer__tests__data__single_entry.har": "not-har",
    "odd/mitmproxy__mitmproxy__test__mitmproxy__data__corrupted_har__brokenfile.har": "not-json",
    "odd/mitmproxy__mitmproxy__test__mitmproxy__data__har_extractor.har": "not-har",
}


def test_odd_files_are_read_or_refused_for_a_reason(hars, tmp_path):
    study = Study(tmp_path / "study")
    with study.changing("import", {}), Progress(disable=True) as progress:
        summary = import_hars(study, [hars / "odd"], progress)
    rejects = scan(study, "rejects").collect()
    assert dict(rejects.select("source", "reason").iter_rows()) == REFUSED
    manifest = [json.loads(line) for line in (hars / "odd.jsonl").read_text().splitlines()]
    entries = {f"odd/{row['file']}": row["n"] for row in manifest if f"odd/{row['file']}" not in REFUSED}
    found = (
        scan(study, "visits")
        .join(scan(study, "requests").group_by("visit_id").len("entries"), on="visit_id", how="left")
        .group_by("source")
        .agg(pl.col("entries").sum())
        .collect()
    )
    assert dict(found.iter_rows()) == entries
    assert summary.requests == sum(entries.values())
