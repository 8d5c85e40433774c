"""The rules' texts: that they cover what is claimed, can be up together, and belong to the stored observations."""

from __future__ import annotations

from pathlib import Path

import pytest

from originset.crawler.testbed.rules import rule_catalogue
from originset.crawler.testbed.rules.page import _SECTIONS
from originset.crawler.testbed.rules.rule_text import parse, serialize
from originset.data.errors import InputError

RULES = rule_catalogue.rule_names()
HOSTS = [host for rule in RULES for host in rule_catalogue.scenario(rule).hosts.values()]
LOADS = [one for rule in RULES for one in rule_catalogue.page(rule).walk()]


def test_every_rule_says_one_thing_about_one_site() -> None:
    assert len(RULES) >= 60
    titles = [rule_catalogue.scenario(rule).title for rule in RULES]
    assert len(set(titles)) == len(RULES)
    assert all(titles)
    for rule in RULES:
        assert len(rule_catalogue.scenario(rule).sites) == 1, rule
        assert rule.partition("-")[0] in _SECTIONS, rule
        assert all(name.removesuffix(".test").endswith(rule) for name in rule_catalogue.scenario(rule).names), rule


def test_the_rules_cover_every_means() -> None:
    """Whatever a scenario can say about sharing connections, some rule says it."""
    for attribute in ("origin_set", "origin_verbatim", "origin_added", "origin_delay_ms", "alias", "own_connection"):
        assert any(getattr(host, attribute) for host in HOSTS), attribute
    for attribute in ("redirect", "delay_ms", "https_record", "alt_svc", "unknown"):
        assert any(getattr(host, attribute) for host in HOSTS), attribute
    assert {host.protocol for host in HOSTS} == {"h2", "http/1.1"}
    assert {host.implementation for host in HOSTS} == {"python", "node"}
    assert {host.http3 for host in HOSTS} == {None, "advertised"}, "HTTP/3 is found as it is on the internet"
    assert any(host.origin_set == () for host in HOSTS)
    assert any(":" in address for host in HOSTS for address in host.addresses)
    assert {one.credentials for one in LOADS if one.kind in ("fetch", "xhr")} == {"include", "same-origin", "omit"}
    kinds = {one.kind for one in LOADS}
    assert kinds >= {"style", "script", "image", "font", "fetch", "xhr", "iframe", "websocket", "preconnect"}


def test_all_can_be_up_together() -> None:
    together = rule_catalogue.combined_scenario(RULES)
    assert len(together.sites) == len(RULES)
    assert len(together.hosts) == sum(len(rule_catalogue.scenario(rule).hosts) for rule in RULES)
    for host in together.hosts.values():
        assert host.certificate in together.certificates


def test_two_rules_with_one_name_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    one = rule_catalogue.scenario("address-same")
    monkeypatch.setattr(rule_catalogue, "scenario", lambda _rule: one)
    with pytest.raises(InputError, match="another rule has"):
        rule_catalogue.combined_scenario(["address-same", "address-different"])
    with pytest.raises(InputError, match="none of this name"):
        rule_catalogue.combined_scenario([])


def test_cookies_are_blocked_where_there_is_a_third_party_and_in_controls() -> None:
    assert rule_catalogue.rules_under(RULES, "allowed") == list(RULES)
    blocked = rule_catalogue.rules_under(RULES, "blocked")
    assert {"address-same-cross-site", "frame-back", "address-same"} <= set(blocked)
    assert "certificate-wildcard" not in blocked
    assert set(rule_catalogue.CORE) <= set(RULES)


def test_observations_are_of_these_rules() -> None:
    seen = rule_catalogue.observations()
    for cookies in ("allowed", "blocked"):
        for browser in ("chromium", "firefox"):
            observed = {cell.rule for cell in seen.cells if (cell.browser, cell.cookies) == (browser, cookies)}
            assert observed == set(rule_catalogue.rules_under(RULES, cookies)), "make rules"
    for cell in seen.cells:
        assert sorted(load for outcome in cell.outcomes for load in outcome.loads) == list(range(seen.loads))
        assert seen.cell(*cell.key) == cell


def test_files_are_written_as_they_are_read(tmp_path: Path) -> None:
    rule_catalogue.write_observations(rule_catalogue.observations(), tmp_path)
    for rule in RULES:
        text = (tmp_path / f"{rule}.md").read_text(encoding="utf-8")
        assert text == serialize(rule_catalogue.read_rule(rule))
        assert parse(rule, text) == rule_catalogue.read_rule(rule)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is no title, scenario and observations"),
        ("# A title\n\n```toml\n[host.www\n```\n", None),
        ("# A title\n\n```toml\n```\n\n## Chromium 1.0\n\nsome loads\n", "not written as make rules writes them"),
    ],
)
def test_a_file_that_is_no_rule_is_refused(text: str, problem: str | None) -> None:
    if problem is None:
        with pytest.raises(InputError, match=r"a-rule\.md"):
            parse("a-rule", text).scenario()
    else:
        with pytest.raises(InputError, match=problem):
            parse("a-rule", text)


def test_what_rules_have_in_common_need_not_be_written() -> None:
    """The certificate for all hosts, the standard page, and names below the rule's own."""
    text = """\
# A title

```toml
[host.www]
addresses = ["192.0.2.1"]
origin_set = ["https://www"]

[host."static.cdn-RULE.test"]
addresses = ["192.0.2.1"]
```
"""
    tables = parse("a-rule", text).scenario()
    assert tables["certificate"] == {"all": {"names": ["www.a-rule.test", "static.cdn-a-rule.test"]}}
    assert tables["host"]["www.a-rule.test"]["origin_set"] == ["https://www.a-rule.test"]
    assert tables["host"]["static.cdn-a-rule.test"]["certificate"] == "all"
    assert tables["site"]["www.a-rule.test"]["loads"][0] == {"style": "https://static.a-rule.test/a.css"}
