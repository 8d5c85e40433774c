"""The model's counts on real recordings, page by page, against a short script that knows only JSON, pyasn and sets."""

import gzip
import json
from statistics import median

import pyasn
import pytest

from originset.data.studies.database import open_database
from originset.data.studies.identity import import_visit_id
from originset.queries.catalogue import run

pytestmark = pytest.mark.slow


def script(folder, asn_of):
    """(file, page number) -> (TLS connections, ASes), None where the recorder does not tell."""
    counts = {}
    for path in sorted(folder.iterdir()):
        content = path.read_bytes()
        log = json.loads(gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content.decode("utf-8-sig"))["log"]
        names = [page["id"] for page in log.get("pages") or [{"id": None}]]
        starts = [page["startedDateTime"] for page in log.get("pages") or []]
        pages = {number: (set(), set(), []) for number in range(len(names))}
        ports = all(str(e.get("connection") or "443") in {"443", "80"} for e in log["entries"])
        for entry in log["entries"]:
            lost = len(names) > 1 and entry.get("pageref") not in names
            open_ = [number for number, start in enumerate(starts) if start <= entry["startedDateTime"]]
            number = open_[-1] if lost else names.index(entry["pageref"]) if len(names) > 1 else 0
            ids, ips, secure = pages[number]
            url, connection = entry["request"]["url"], entry.get("_socket" if ports else "connection")
            cached = entry.get("_fromCache") or entry.get("_fetchType", "Network Load") != "Network Load"
            unanswered = entry["response"].get("status", 0) <= 0 and not connection
            if not url.startswith(("http:", "https:")) or cached or unanswered:
                continue
            ips |= {entry.get("serverIPAddress") or entry.get("_ip_addr")} - {None, ""}
            if url.startswith("https:"):
                secure.append(url)
                ids |= {str(connection)} - {"None", "0", "-1", ""}
        for number, (ids, ips, secure) in pages.items():
            ases = {asn_of(ip.strip("[]")) or ip for ip in ips}
            counts[f"real/{path.name}", number] = (len(ids) if ids or not secure else None, len(ases) or None)
    return counts


@pytest.fixture(scope="module")
def counted(real_study):
    with open_database(real_study) as connection:
        return run(connection, "SELECT * FROM page_counts")


def test_every_page_and_the_medians(counted, shared) -> None:
    table = pyasn.pyasn(str(shared / "data/asn/ipasn_iplocdb_20260617.dat.gz"))
    pages = script(shared / "data/hars/real", lambda ip: table.lookup(ip)[0])
    expected = {import_visit_id(*page): (*counts, page) for page, counts in pages.items()}
    assert len(expected) == 137
    found = {row["visit_id"]: row for row in counted.iter_rows(named=True)}
    assert set(found) == set(expected)
    for visit, (tls, ases, page) in expected.items():
        row = found[visit]
        assert (row["measured_tls"], row["ideal_origin"] or None) == (tls, ases), page
    for column, place in (("measured_tls", 0), ("ideal_origin", 1)):
        known = [counts[place] for counts in pages.values() if counts[place] is not None]
        assert counted[column].replace(0, None if place else 0).median() == median(known), column


def test_counts_stand_in_the_order_they_must(counted) -> None:
    """On a page whose addresses are all known, and whose connections are one AS's each, the ladder goes down."""
    rows = counted.drop_nulls("paired_ideal_origin").filter(counted.drop_nulls("paired_ideal_origin")["left_out"] == 0)
    assert rows.height > 50
    for row in rows.iter_rows(named=True):
        assert row["without_duplicates"] <= row["measured_tls"]
        assert row["paired_ideal_origin"] <= row["paired_ideal_ip"] <= row["ideal_ip"]
        assert row["paired_ideal_origin"] <= row["ideal_origin"]
        assert row["paired_ideal_origin"] <= row["without_duplicates"]
