"""The scenario format: what is refused and how it is said; the small internet itself."""

import gzip
from pathlib import Path

import pyasn
import pytest
import tldextract

from originset.crawler.testbed import scenario_file
from originset.crawler.testbed.scenario import Certificate
from originset.data.errors import InputError

GOOD = """
[certificate.one]
names = ["a.test", "*.a.test"]
[host."a.test"]
addresses = ["104.16.1.1", "2606:4700::1"]
certificate = "one"
[site."a.test"]
loads = [{ style = "https://a.test/a.css", loads = [{ font = "https://a.test/a.woff2" }] }]
"""
RECORD = 'certificate = "one"\nhttps_record = { alpn = ["h3"]'
FETCH = '"https://a.test/p", credentials = "omit"'


def test_a_small_scenario() -> None:
    scenario = scenario_file.parse(GOOD)
    assert scenario.sites == ("a.test",)
    assert scenario.addresses == ("104.16.1.1", "2606:4700::1")
    assert [one.url for one in scenario.pages[0].walk()] == [
        "https://a.test/",
        "https://a.test/a.css",
        "https://a.test/a.woff2",
    ]


@pytest.mark.parametrize(
    ("before", "after", "place"),
    [
        ("[site", "[[site", "line 7"),
        ('certificate = "one"', 'certificate = "two"', 'host."a.test": there is no certificate two'),
        ('certificate = "one"', "certificate = 1", 'host."a.test": Expected `str | null`, got `int`'),
        ('certificate = "one"', 'certifcate = "one"', 'host."a.test": Object contains unknown field `certifcate`'),
        ("104.16.1.1", "104.16.1.256", "host.\"a.test\".addresses: '104.16.1.256'"),
        ("104.16.1.1", "192.0.2.53", 'host."a.test": 192.0.2.53 is the DNS server'),
        ("[certificate.one]", '[certificate."../one"]', "certificate.../one: is not named"),
        ('"*.a.test"', '"*.*.test"', "certificate.one: '*.test' is not a host name"),
        ("{ style =", "{ text =", 'site."a.test": Object contains unknown field `text` - at `$.loads[0]`'),
        ("{ font =", "{ iframe =", 'site."a.test".loads[0].loads[0]: a style cannot load a iframe'),
        ("https://a.test/a.css", "http://a.test/a.css", "site.\"a.test\".loads[0]: 'http://a.test/a.css' is not"),
        ("https://a.test/a.css", 'https://a.test/a\\"<b>', "is not https://HOST/PATH"),
        ("https://a.test/a.css", "https://b.test/a.css", "b.test is neither a host nor missing"),
        ("https://a.test/a.woff2", "https://a.test/a.css", "https://a.test/a.css: stands twice"),
        ('[site."a.test"]', '[site."b.test"]', 'site."b.test": is neither a host nor missing'),
        ('certificate = "one"', 'certificate = "one"\nhttp3 = "yes"', "host.\"a.test\": Invalid enum value 'yes'"),
        ('certificate = "one"', 'certificate = "one"\nhttps_record = { alpn = [] }', "https_record: has no alpn"),
        ('certificate = "one"', f"{RECORD}, port = 65536 }}", 'host."a.test".https_record: 65536 is no port'),
        ('certificate = "one"', 'certificate = "one"\ncookies = ["a=b; Path"]', "host.\"a.test\".cookies: 'a=b; Path'"),
        ('certificate = "one"', 'certificate = "one"\nalt_svc = "h3\\r\\nX: y"', 'host."a.test".alt_svc: '),
        ('certificate = "one"', 'certificate = "one"\nalias = "a.test"', 'host."a.test": is an alias of itself'),
        ("a.test", "1.2.3.4", 'host."1.2.3.4": is an address, which has no other'),
        (
            '[site."a.test"]',
            '[site."a.test"]\nopens = "http://b.test/"',
            "'http://b.test/' is not http(s)://a.test/PATH",
        ),
        ("{ style =", '{ inline = "ftp:" }, { style =', "site.\"a.test\": Invalid enum value 'ftp:'"),
        ("{ style =", "{ websocket =", "'https://a.test/a.css' is not wss://HOST/PATH"),
        ("{ style =", '{ preload = "https://a.test/p" }, { style =', 'site."a.test".loads[0]: a preload needs as'),
        ("{ style =", '{ link = "https://a.test/p", status = 200 }, { style =', "status does not go with link"),
        ("{ style =", '{ image = "https://a.test/p", status = 100 }, { style =', "100 is no final status"),
        ("{ style =", '{ image = "https://a.test/p", cached = true }, { style =', "cached needs a worker around it"),
        ("{ style =", f"{{ fetch = {FETCH}, crossorigin = true }}, {{ style =", "which say the same"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(before: str, after: str, place: str) -> None:
    assert before in GOOD
    with pytest.raises(InputError) as caught:
        scenario_file.parse(GOOD.replace(before, after), "mine.toml")
    assert str(caught.value).startswith("mine.toml: ")
    assert place in str(caught.value)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.toml"):
        scenario_file.read(tmp_path / "absent.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff")
    with pytest.raises(InputError, match=r"bytes\.toml"):
        scenario_file.read(tmp_path / "bytes.toml")


def test_certificates_cover_as_browsers_say() -> None:
    certificate = Certificate("one", ("a.test", "*.a.test"))
    covered = [name for name in ("a.test", "x.a.test", "y.x.a.test", "b.test", "xa.test") if certificate.covers(name)]
    assert covered == ["a.test", "x.a.test"]


def test_the_small_internet_has_what_it_promises() -> None:
    scenario = scenario_file.built_in()
    split = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)
    assert (
        len({split(site).top_domain_under_public_suffix or ".".join(site.split(".")[-2:]) for site in scenario.sites})
        >= 12
    )
    assert len({host.asn for host in scenario.hosts.values()}) >= 6
    assert sum(any(":" in one for one in host.addresses) for host in scenario.hosts.values()) >= 2
    kinds = {(one.kind, one.crossorigin) for page in scenario.pages for one in page.walk()}
    assert kinds >= {("font", True), ("fetch", True), ("fetch", False), ("iframe", False), ("style", False)}
    assert any(one.after_ms for page in scenario.pages for one in page.walk())
    assert any(one.protocol == "http/1.1" for one in scenario.hosts.values())


def test_its_addresses_are_in_the_ases_that_it_names(shared: Path, tmp_path: Path) -> None:
    table = tmp_path / "table.dat"
    table.write_bytes(gzip.decompress((shared / "data/asn/ipasn_iplocdb_20260617.dat.gz").read_bytes()))
    numbers = pyasn.pyasn(str(table))
    scenario = scenario_file.built_in()
    found = {host.name: {numbers.lookup(one)[0] for one in host.addresses} for host in scenario.hosts.values()}
    assert found == {host.name: {host.asn} for host in scenario.hosts.values()}
