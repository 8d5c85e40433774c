"""Which links of a landing page are followed."""

import planted_secrets
import pytest

from originset.crawler.crawl.internal_links import internal_links

LINKS = [
    "https://www.example.com/",  # where we are
    "https://www.example.com/news",
    "https://www.example.com/news",
    "http://shop.example.com/a?b=1",
    "https://www.example.com/report.PDF",
    "https://www.example.com/archive.tar.gz",
    "https://example.org/elsewhere",
    "https://optout.example.com/private",
    "https://user:secret@www.example.com/",
    "ftp://www.example.com/file",
]


def test_same_site_pages_alone() -> None:
    found = internal_links(
        "https://www.example.com/", LINKS, 10, seed=1, site="example.com", excluded=frozenset({"optout.example.com"})
    )
    assert sorted(found) == ["http://shop.example.com/a?b=1", "https://www.example.com/news"]
    one = internal_links("https://www.example.com/", LINKS, 1, seed=1, site="example.com", excluded=frozenset())
    assert len(one) == 1


def test_a_platform_s_customers_are_strangers() -> None:
    links = ["https://bob.github.io/x", "https://alice.github.io/x"]
    assert internal_links("https://alice.github.io/", links, 5, seed=1, site="a", excluded=frozenset()) == links[1:]


@pytest.mark.promise("links-without-secrets")
def test_links_with_secrets_are_neither_followed_nor_kept() -> None:
    """What is returned is written into the capture and into the crawl's ledger."""
    planted = list(planted_secrets.urls())
    links = [*(one.place for one in planted), "https://a.test/news?id=1"]
    found = internal_links("https://a.test/", links, 1000, seed=1, site="a.test", excluded=frozenset())
    assert "https://a.test/news?id=1" in found
    assert [one for one in planted if any(one.secret in link for link in found)] == []
