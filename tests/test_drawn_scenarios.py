"""The scenarios that the soak draws are such as the testbed takes, and have of everything some."""

from collections import Counter

from drawn_scenarios import drawn

from originset.data.scenario.entries import KINDS


def test_a_seed_draws_the_same_again() -> None:
    assert drawn(7, range(3, 9)) == drawn(7, range(3, 9)) != drawn(8, range(3, 9))


def test_everything_is_drawn() -> None:
    scenario = drawn(1, range(200))
    resources = [one for page in scenario.pages for one in page.walk()]
    never = {"dns_prefetch", "prefetch", "link", "inline"}  # these open nothing that a page's own requests do not
    assert {one.kind for one in resources} == {"page", *KINDS} - never
    assert any(one.bytes for one in resources)
    assert {one.status for one in resources} >= {200, 404, 500}
    assert any(inner.kind == "iframe" for one in resources if one.kind == "iframe" for inner in one.loads)
    hosts = scenario.hosts.values()
    for name in ("alias", "unknown", "own_connection", "redirect", "alt_svc", "https_record", "delay_ms", "origin_set",
                 "origin_delay_ms", "origin_verbatim", "origin_added"):  # fmt: skip
        assert any(getattr(host, name) for host in hosts), name
    assert any(":" in address for host in hosts for address in host.addresses)
    assert any(one.expired for one in scenario.certificates.values())
    assert scenario.missing
    sizes = Counter(name.split(".")[-2][1:] for name in scenario.hosts)
    assert 2 in sizes.values()
    assert max(sizes.values()) >= 12
