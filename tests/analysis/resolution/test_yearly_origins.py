"""Addresses looked up in the IP-to-AS tables of the years in which they were seen."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from originset.analysis.resolution.name_resolution import resolve_names
from originset.data.reference.snapshot import built_in_reference
from originset.data.schema.study_tables import TABLES
from originset.data.studies.shards import scan, write_shard
from originset.data.studies.study import Study

ROWS = {
    "visits": [
        {"visit_id": "old", "started_at": datetime(2016, 5, 4, tzinfo=UTC).replace(tzinfo=None)},
        {"visit_id": "new", "started_at": datetime(2026, 1, 1, tzinfo=UTC).replace(tzinfo=None)},
        {"visit_id": "undated"},
    ],
    "requests": [
        {"visit_id": "old", "host": "a.test", "server_ip": "10.1.0.1"},
        {"visit_id": "new", "host": "b.test", "server_ip": "10.1.0.2"},
        {"visit_id": "undated", "host": "c.test", "server_ip": "10.1.0.3"},
        {"visit_id": "old", "host": "d.test", "server_ip": "10.2.0.1"},
        {"visit_id": "new", "host": "d.test", "server_ip": "10.2.0.1"},
    ],
    "connections": [{"visit_id": "new", "first_host": "e.test", "hosts": ["e.test"], "server_ip": "10.1.0.4"}],
    "dns_queries": [
        {"visit_id": visit, "host": "f.test", "rtype": "A", "answers": ["10.1.0.5"]} for visit in ("old", "new")
    ],
}  # fmt: skip
USUAL = "10.1.0.0/16\t64501\n10.2.0.0/16\t64502\n"
OF_2016 = "10.1.0.0/16\t65001\n10.2.0.0/16\t64502\n"


def test_each_address_has_the_as_of_its_year(tmp_path: Path) -> None:
    """10.2.0.1 had one AS in both years; 10.1.0.5, seen in both, had two, and which is meant is not known."""
    study = Study(tmp_path / "S")
    study.create()
    for name, rows in ROWS.items():
        write_shard(study, name, "x", pl.DataFrame(rows, schema=TABLES[name].polars_schema))
    reference = built_in_reference()
    for text, year in ((USUAL, None), (OF_2016, 2016)):
        (table := tmp_path / f"{year}.dat").write_text(text)
        reference = reference.with_table(table, year)
    counts = resolve_names(study, reference)
    found = scan(study, "addresses").sort("ip").collect()
    assert dict(found.select("ip", "asn").iter_rows()) == {
        "10.1.0.1": 65001,
        "10.1.0.2": 64501,
        "10.1.0.3": 64501,
        "10.1.0.4": 64501,
        "10.1.0.5": None,
        "10.2.0.1": 64502,
    }
    assert found["asns"].to_list() == [[65001], [64501], [64501], [64501], None, [64502]]
    assert counts["addresses_without_as"] == 1
    assert study.manifest()["reference_data"]["ip_to_as_2016"]["source"] == "2016.dat"
