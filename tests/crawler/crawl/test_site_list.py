"""What a site list may look like, and what it may not."""

import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from originset.crawler.crawl.site_list import Site, parse_site, read_exclusions, read_site_list
from originset.data.errors import InputError


def test_list_of_every_kind(tmp_path: Path) -> None:
    file = tmp_path / "sites.txt"
    text = (
        "\ufeff# a ranking\n"
        "1,Example.COM\n"
        "\n"
        "  bücher.example   # IDN\n"
        "https://example.com/\n"
        "https://example.com/shop?a=1#frag\n"
        "http://example.org\r\n"
        "2, example.net\n"
        "10.0.0.1\n"
        "[2001:DB8::1]:8443\n"
        "example.net.\n"
    )
    file.write_text(text)
    read = read_site_list(str(file))
    assert read.sites == (
        Site("example.com", None, 1),
        Site("xn--bcher-kva.example"),
        Site("https://example.com/shop?a=1", "https://example.com/shop?a=1"),
        Site("http://example.org/", "http://example.org/"),
        Site("example.net", None, 2),
        Site("10.0.0.1"),
        Site("[2001:db8::1]:8443", "https://[2001:db8::1]:8443/"),
    )
    assert read.duplicates == (5, 11)
    assert read.sha256 == hashlib.sha256(file.read_bytes()).hexdigest()


def test_a_column_of_a_csv(tmp_path: Path) -> None:
    file = tmp_path / "sites.csv"
    file.write_text(
        'rank,origin,"a, b"\n10,https://a.test,x\n,"b.test",\n"20","c.test:8443","two\nlines"\n3,not a site,\n'
    )
    with pytest.raises(InputError) as refused:
        read_site_list(str(file), "origin")
    assert refused.value.source == f"{file}:6"
    file.write_text(file.read_text().rpartition("3,not")[0])
    assert read_site_list(str(file), "origin").sites == (
        Site("a.test", "https://a.test/", 10),
        Site("b.test"),
        Site("c.test:8443", "https://c.test:8443/", 20),
    )
    with pytest.raises(InputError, match="no column 'domain'; there are 'rank', 'origin', 'a, b'"):
        read_site_list(str(file), "domain")


def test_all_lines_that_are_no_sites_are_told_at_once_or_left_out(tmp_path: Path) -> None:
    file = tmp_path / "sites.txt"
    file.write_text("a.test\ntwo words\nb.test\nftp://c.test/\n")
    with pytest.raises(InputError) as refused:
        read_site_list(str(file))
    assert refused.value.source == str(file)
    assert refused.value.detail == (
        "2 lines are no sites: line 2: not a host name or address: 'two words'; "
        "line 4: not an http or https address: 'ftp://c.test/'"
    )
    read = read_site_list(str(file), skip_invalid=True)
    assert (read.sites, read.invalid) == ((Site("a.test"), Site("b.test")), (2, 4))
    file.write_text("two words\n" * 30)
    with pytest.raises(InputError, match=r"30 lines are no sites: .* and 10 more"):
        read_site_list(str(file))
    with pytest.raises(InputError, match="no sites in it"):
        read_site_list(str(file), skip_invalid=True)


def test_exclusions(tmp_path: Path) -> None:
    file = tmp_path / "no.txt"
    file.write_text("# who asked\nExample.com\nhttps://b.test/page\n[2001:db8::1]:8443\n")
    assert read_exclusions(file) == {"example.com", "b.test", "2001:db8::1"}


@pytest.mark.parametrize(
    "junk",
    [
        "two words",
        "ftp://example.com/",
        "javascript://example.com/%0aalert(1)",
        "https://user:secret@example.com/",
        "-leading.example",
        "a..b",
        "1.2.3.4.5",
        "example.com:0",
        "example.com:99999",
        "<script>",
        "99999999999999999999,example.com",
        "https://exa\u0000mple.com/",
        "https://example.com/\u202eevil",
        "[::1",
        "x" * 64 + ".example",
        "https://[::1/",
    ],
)
def test_junk_is_named_by_its_line(tmp_path: Path, junk: str) -> None:
    file = tmp_path / "sites.txt"
    file.write_text(f"good.example\n# no\n{junk}\n")
    with pytest.raises(InputError) as refused:
        read_site_list(str(file))
    assert refused.value.source == f"{file}:3"
    assert refused.value.exit_code == 2


@pytest.mark.parametrize(
    ("content", "reason"), [(b"", "empty"), (b"# none\n\n", "empty"), (b"\xff\xfe\x00", "not-text")]
)
def test_lists_that_are_none(tmp_path: Path, content: bytes, reason: str) -> None:
    file = tmp_path / "sites.txt"
    file.write_bytes(content)
    with pytest.raises(InputError) as refused:
        read_site_list(str(file))
    assert refused.value.reason == reason


def test_list_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_site_list(str(tmp_path / "none"))


@given(st.text(max_size=80))
def test_an_entry_is_a_site_or_refused(entry: str) -> None:
    try:
        site = parse_site(entry)
    except ValueError:
        return
    # What comes out is safe in a URL, a file of one site a line, and means the same when read again.
    assert site.name.isprintable()
    assert not set(site.name) & set(" \t\r\n\"'<>")
    assert parse_site(site.name).name == site.name


@given(st.from_regex(r"[a-z0-9]([a-z0-9-]{0,10}[a-z0-9])?(\.[a-z]([a-z0-9-]{0,10}[a-z])?){1,3}\.?", fullmatch=True))
def test_host_names_are_kept(host: str) -> None:
    assert parse_site(host.upper()).name == host.rstrip(".")
