"""Names and addresses: registrable domains, kinds of addresses, origin ASes."""

import gzip
import json
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from originset.analysis.addresses import address_kind, address_rows
from originset.analysis.hosts import host_rows, registrable_domain, suffix_list
from originset.analysis.resolution import resolve
from originset.data.errors import InputError
from originset.data.reference.ip_to_as import IpToAs
from originset.data.schema import TABLES
from originset.data.shards import scan, write_shard
from originset.data.study import Study


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("www.example.co.uk", "example.co.uk"),
        ("example.com", "example.com"),
        ("alice.github.io", "alice.github.io"),
        ("a.alice.github.io", "alice.github.io"),
        ("github.io", "github.io"),
        ("s3.amazonaws.com", "amazonaws.com"),
        ("co.uk", None),
        ("localhost", None),
        ("www.shop.test", "shop.test"),
        ("shop.test", "shop.test"),
        ("a_b.example.com", "example.com"),
        ("xn--bcher-kva.example.de", "example.de"),
        ("192.0.2.1", None),
        ("2001:db8::1", None),
    ],
)
def test_registrable_domains(host, domain):
    assert registrable_domain(host) == domain


def test_host_rows_are_distinct():
    rows = host_rows(pl.Series(["b.example.com", "a.example.com", None, "b.example.com"]))
    assert rows.schema == TABLES["hosts"].polars_schema
    assert rows.rows() == [("a.example.com", "example.com"), ("b.example.com", "example.com")]
    assert len(suffix_list()["sha256"]) == 64


@pytest.mark.parametrize(
    ("ip", "kind"),
    [
        ("93.184.216.34", "public"),
        ("2606:2800:220:1:248:1893:25c8:1946", "public"),
        ("10.1.2.3", "private"),
        ("172.16.0.1", "private"),
        ("172.32.0.1", "public"),
        ("100.64.0.1", "private"),
        ("127.0.0.1", "private"),
        ("::1", "private"),
        ("fd00::1", "private"),
        ("fe80::1", "private"),
        ("0.0.0.0", "bogon"),  # noqa: S104 - an address that was recorded, not one listened on
        ("192.0.2.1", "bogon"),
        ("2001:db8::1", "bogon"),
        ("224.0.0.1", "bogon"),
        ("255.255.255.255", "bogon"),
    ],
)
def test_kinds_of_addresses(ip, kind):
    assert address_kind(ip) == kind


@given(st.ip_addresses())
def test_every_address_has_a_kind(address):
    kind = address_kind(str(address))
    assert kind in {"public", "private", "bogon"}
    assert (kind != "public") or address.is_global


TABLE = "; made for a test\n10.0.0.0/8\t64500\n10.1.0.0/16\t64501\n2001:db8::/32\t64502\n192.0.2.0/24\t13335\n"


def test_a_table_of_ones_own(tmp_path: Path):
    plain, packed = tmp_path / "t.dat", tmp_path / "t.dat.gz"
    plain.write_text(TABLE)
    packed.write_bytes(gzip.compress(TABLE.encode()))
    for path in (plain, packed):
        table = IpToAs.load(path)
        rows = address_rows(pl.Series(["10.1.2.3", "10.2.0.1", "2001:db8::9", "8.8.8.8", "192.0.2.9", None]), table)
        assert rows.schema == TABLES["addresses"].polars_schema
        assert dict(rows.select("ip", "asn").iter_rows()) == {
            "10.1.2.3": 64501,
            "10.2.0.1": 64500,
            "2001:db8::9": 64502,
            "8.8.8.8": None,
            "192.0.2.9": 13335,
        }
        assert rows.filter(pl.col("asn") == 13335)["as_name"][0].startswith("Cloudflare")
        assert rows.filter(pl.col("asn").is_null()).select("asns", "as_name").row(0) == (None, None)
        assert table.described()["source"] == path.name


def test_what_is_no_table_is_refused(tmp_path: Path):
    (tmp_path / "x.dat").write_text("hello\tworld\n")
    with pytest.raises(InputError) as refusal:
        IpToAs.load(tmp_path / "x.dat")
    assert refusal.value.reason == "not-ip-to-as"
    with pytest.raises(InputError):
        IpToAs.load(tmp_path / "nowhere.dat")


def test_the_built_in_table_is_the_one_described():
    table = IpToAs.builtin()
    assert (table.lookup("1.1.1.1"), table.lookup("2606:4700::1111"), table.lookup("10.0.0.1")) == (13335, 13335, None)
    facts = table.described()
    assert facts["date"] == "2026-06-17"
    assert "CC BY 4.0" in facts["source"]


def test_built_in_files_are_as_their_description_says():
    import hashlib  # noqa: PLC0415 - only here
    from importlib import resources  # noqa: PLC0415 - only here

    folder = resources.files("originset.data.reference")
    for facts in json.loads(folder.joinpath("reference.json").read_bytes()).values():
        content = folder.joinpath(facts["file"]).read_bytes()
        assert hashlib.sha256(content).hexdigest() == facts["sha256"]
    attribution = folder.joinpath("ATTRIBUTION.md").read_text()
    assert all(name in attribution for name in ("RouteViews", "NRO", "DB-IP", "Creative Commons Attribution 4.0"))


def test_resolving_a_study(tmp_path: Path):
    study = Study(tmp_path / "study")
    (tmp_path / "t.dat").write_text(TABLE)
    rows = {
        "requests": [
            {"visit_id": "v", "host": "a.example.com", "server_ip": "10.1.2.3"},
            {"visit_id": "v", "host": None},
        ],
        "connections": [
            {"visit_id": "v", "first_host": "b.example.org", "hosts": ["c.example.org"], "server_ip": "192.0.2.1"}
        ],
        "dns_queries": [
            {"visit_id": "v", "host": "d.example.net", "rtype": "A", "answers": ["10.9.9.9", "junk"]},
            {"visit_id": "v", "host": "d.example.net", "rtype": "HTTPS", "answers": ["1 . alpn=h2"]},
        ],
    }
    with study.changing("analyze", {}):
        for table, given_rows in rows.items():
            schema = TABLES[table].polars_schema
            full = [{name: row.get(name) for name in schema} for row in given_rows]
            write_shard(study, table, "x", pl.DataFrame(full, schema=schema))
        counts = resolve(study, IpToAs.load(tmp_path / "t.dat"))
    assert counts == {"hosts": 4, "addresses": 3, "addresses_without_as": 0}
    assert scan(study, "hosts").collect()["host"].to_list() == [
        "a.example.com",
        "b.example.org",
        "c.example.org",
        "d.example.net",
    ]
    assert scan(study, "addresses").collect()["ip"].to_list() == ["10.1.2.3", "10.9.9.9", "192.0.2.1"]
    reference = study.manifest()["reference_data"]
    assert reference["ip_to_as"]["source"] == "t.dat"
    assert "tldextract" in reference["public_suffix_list"]["source"]


def test_an_empty_study_resolves_to_empty_tables(tmp_path: Path):
    study = Study(tmp_path / "study")
    with study.changing("analyze", {}):
        assert resolve(study) == {"hosts": 0, "addresses": 0, "addresses_without_as": 0}
    assert scan(study, "hosts").collect().is_empty()
