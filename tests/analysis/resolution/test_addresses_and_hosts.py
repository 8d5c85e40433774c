"""Names and addresses: registrable domains, kinds of addresses, origin ASes."""

import tomllib
from importlib import resources
from ipaddress import ip_network
from itertools import combinations
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from originset.analysis.resolution.addresses import address_kinds, address_rows
from originset.analysis.resolution.edges import host_edges
from originset.analysis.resolution.hosts import host_rows
from originset.analysis.resolution.name_resolution import resolve_names
from originset.data.reference.providers import edge_ranges, provider_of_as, providers
from originset.data.reference.registrable_domains import registrable_domain
from originset.data.reference.snapshot import built_in_reference
from originset.data.reference.special_purpose import is_public
from originset.data.schema.study_tables import TABLES
from originset.data.studies.shards import scan, write_shard
from originset.data.studies.study import Study


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
        ("static.daily.test", "daily.test"),
        ("scores.live.daily.test", "daily.test"),
        ("shop.test", "shop.test"),
        ("a_b.example.com", "example.com"),
        ("xn--bcher-kva.example.de", "example.de"),
        ("192.0.2.1", None),
        ("2001:db8::1", None),
    ],
)
def test_registrable_domains(host, domain):
    assert registrable_domain(host) == domain


NO_EDGES = host_edges(
    pl.DataFrame(schema={"host": pl.String, "alias": pl.String}),
    pl.DataFrame(schema={"host": pl.String, "ip": pl.String}),
    TABLES["addresses"].polars_schema.to_frame(),
    providers(),
)


def test_host_rows_are_distinct():
    rows = host_rows(pl.Series(["b.example.com", "a.example.com", None, "b.example.com"]), NO_EDGES)
    assert rows.schema == TABLES["hosts"].polars_schema
    assert rows.select("host", "registrable_domain").rows() == [
        ("a.example.com", "example.com"),
        ("b.example.com", "example.com"),
    ]


def test_another_list_of_suffixes(tmp_path: Path):
    path = tmp_path / "list.dat"
    path.write_text("// VERSION: 2026-01-02_00-00-00_UTC\ncom\nexample.com\n// ===BEGIN PRIVATE DOMAINS===\nb.com\n")
    assert registrable_domain("www.a.example.com", path) == "a.example.com"
    assert registrable_domain("www.a.b.com", path) == "a.b.com"
    assert registrable_domain("www.a.example.com") == "example.com"


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
        ("64:ff9b::1.2.3.4", "public"),
        ("4000::1", "bogon"),
        ("3fff:fff::1", "bogon"),
        ("192.88.99.1", "bogon"),
        ("64:ff9b:1::1", "private"),
        ("64:ff9b::10.0.0.1", "private"),
        ("::ffff:10.0.0.1", "private"),
    ],
)
def test_kinds_of_addresses(ip, kind):
    assert address_kinds(pl.Series([ip])).to_list() == [kind]


@given(st.lists(st.ip_addresses(), max_size=20))
def test_every_address_has_a_kind(addresses):
    """The ranges say of all at once what the list says of each alone."""
    kinds = address_kinds(pl.Series([str(address) for address in addresses], dtype=pl.String))
    for address, kind in zip(addresses, kinds, strict=True):
        assert kind in {"public", "private", "bogon"}
        assert (kind == "public") == is_public(str(address))


TABLE = "; made for a test\n10.0.0.0/8\t64500\n10.1.0.0/16\t64501\n2001:db8::/32\t64502\n192.0.2.0/24\t13335\n"


def test_rows_of_addresses(tmp_path: Path):
    (tmp_path / "t.dat").write_text(TABLE)
    reference = built_in_reference().with_table(tmp_path / "t.dat")
    rows = address_rows(
        pl.Series(["10.1.2.3", "10.2.0.1", "2001:db8::9", "8.8.8.8", "192.0.2.9", None]),
        reference.ip_to_as,
        reference.as_names,
        provider_of_as(),
    )
    assert rows.schema == TABLES["addresses"].polars_schema
    assert dict(rows.select("ip", "asn").iter_rows()) == {
        "10.1.2.3": 64501,
        "10.2.0.1": 64500,
        "2001:db8::9": 64502,
        "8.8.8.8": None,
        "192.0.2.9": 13335,
    }
    cloudflare = rows.row(by_predicate=pl.col("asn") == 13335, named=True)
    assert (cloudflare["as_name"], cloudflare["organisation"]) == ("Cloudflare, Inc.", "Cloudflare")
    assert rows.filter(pl.col("asn").is_null()).select("asns", "as_name", "organisation").row(0) == (None, None, None)


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
        counts = resolve_names(study, built_in_reference().with_table(tmp_path / "t.dat"))
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
    for facts in reference.values():
        assert len(facts["sha256"]) == 64
    assert scan(study, "providers").collect().height == providers().height


def test_an_empty_study_resolves_to_empty_tables(tmp_path: Path):
    study = Study(tmp_path / "study")
    with study.changing("analyze", {}):
        assert resolve_names(study) == {"hosts": 0, "addresses": 0, "addresses_without_as": 0}
    assert scan(study, "hosts").collect().is_empty()


def edges_of(aliases, located, kinds=None):
    """``located``: host, address, AS."""
    addresses = pl.DataFrame(
        [
            {
                **dict.fromkeys(TABLES["addresses"].polars_schema),
                "ip": ip,
                "asn": asn,
                "kind": (kinds or {}).get(ip, "public"),
            }
            for _, ip, asn in located
        ],
        schema=TABLES["addresses"].polars_schema,
    ).unique()
    rows = host_edges(
        pl.DataFrame(aliases, schema={"host": pl.String, "alias": pl.String}, orient="row"),
        pl.DataFrame([row[:2] for row in located], schema={"host": pl.String, "ip": pl.String}, orient="row"),
        addresses,
        providers(),
    )
    return {row["host"]: (row["edge"], row["edges"], row["multi_cdn"]) for row in rows.iter_rows(named=True)}


@pytest.mark.parametrize(
    ("aliases", "located", "expected"),
    [
        ([("w", "w.example.edgekey.net.")], [], ("Akamai", ["Akamai"], False)),
        # a cache in somebody else's network, which the alias explains
        ([("w", "w.edgekey.net")], [("w", "193.0.6.1", 3333)], ("Akamai", ["Akamai"], False)),
        ([], [("w", "104.16.1.1", 13335)], ("Cloudflare", ["Cloudflare"], False)),
        # in a cloud's network anybody's machine may be
        ([], [("w", "13.32.1.1", 16509)], None),
        (
            [("w", "d1.cloudfront.net")],
            [("w", "13.32.1.1", 16509)],
            ("Amazon CloudFront", ["Amazon CloudFront"], False),
        ),
        # multi-CDN: two edges, or an edge and elsewhere
        ([("w", "x.fastly.net")], [("w", "104.16.1.1", 13335)], (None, ["Cloudflare", "Fastly"], True)),
        ([], [("w", "104.16.1.1", 13335), ("w", "193.0.6.1", 3333)], ("Cloudflare", ["Cloudflare"], True)),
        ([("w", "notfastly.net")], [("w", "193.0.6.1", 3333)], None),
        # a machine in a cloud is on no edge that has a network of its own, whatever other visits saw
        ([], [("w", "104.16.1.1", 13335), ("w", "52.1.1.1", 16509)], ("Cloudflare", ["Cloudflare"], True)),
        ([("w", "x.fastly.net")], [("w", "52.1.1.1", 16509)], ("Fastly", ["Fastly"], True)),
        # but a provider's own network says nothing of its edges, as here customers' prefixes on Cloudflare
        ([("w", "x.cdn.cloudflare.net")], [("w", "5.10.244.1", 209242)], ("Cloudflare", ["Cloudflare"], False)),
        ([], [("w", "104.16.1.1", 13335), ("w", "5.10.244.1", 209242)], ("Cloudflare", ["Cloudflare"], False)),
    ],
)
def test_edges_of_hosts(aliases, located, expected):
    assert edges_of(aliases, located).get("w") == expected


def test_providers_have_sources_and_own_their_networks():
    rows = providers()
    assert rows.schema == TABLES["providers"].polars_schema
    owned = rows.select("asns").explode("asns").drop_nulls().to_series()
    assert owned.is_unique().all()
    assert (rows["source"].list.len() > 0).all()
    said = rows.filter(pl.any_horizontal(pl.col("misdirected_policy", "account_rule", "name_limit").is_not_null()))
    assert said["source"].list.eval(pl.element().str.contains("https://", literal=True).any()).list.first().all()


def entries():
    return tomllib.loads(resources.files("originset.data.reference").joinpath("providers.toml").read_text())["provider"]


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry["provider"])
def test_each_provider_has_the_ases_of_its_name(entry):
    """Every AS that bears the provider's name is its own or left out by number; none bears another name."""
    names = built_in_reference().as_names.select("asn", "organisation").iter_rows()
    bearing = {asn for asn, name in names if name.startswith(tuple(entry.get("as_names", ())))}
    listed = [*entry["asns"], *entry.get("asns_left_out", ())]
    assert sorted(listed) == sorted(bearing)
    assert set(entry.get("asns_not_edge", ())) <= set(entry["asns"])
    assert ("ranges" in entry) == ("ranges_dated" in entry)


def test_ranges_of_edges_are_disjoint_and_announced_by_their_providers():
    """What is published is read as prefixes; the built-in table has most of it in an AS of the provider."""
    ranges = {ip_network(prefix): provider for prefix, provider in edge_ranges().items()}
    for one, other in combinations(ranges, 2):
        assert one.version != other.version or not one.overlaps(other)
    first = pl.Series([str(prefix.network_address + 1) for prefix in ranges])
    rows = address_rows(first, built_in_reference().ip_to_as, built_in_reference().as_names, provider_of_as())
    of_ip = dict(rows.select("ip", "organisation").iter_rows())
    own = [of_ip[ip] == provider for ip, provider in zip(first, ranges.values(), strict=True)]
    assert sum(own) > len(own) / 2


def test_an_edge_is_where_its_provider_publishes_it():
    """Cloudflare's edge is in several ASes; its customers' prefixes, and those behind Prolexic, are no edge."""
    located = [
        ("shop", "104.16.1.1", 13335), ("shop", "104.22.5.1", 14789), ("shop", "162.158.65.1", 132892),
        ("protected", "5.10.244.1", 209242), ("behind", "2.17.108.1", 32787), ("fast", "151.101.1.1", 54113),
    ]  # fmt: skip
    assert edges_of([], located) == {
        "shop": ("Cloudflare", ["Cloudflare"], False),
        "fast": ("Fastly", ["Fastly"], False),
    }
