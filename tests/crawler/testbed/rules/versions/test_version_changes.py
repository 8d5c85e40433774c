"""What counts as a change between two versions, what as a race, and what as not supported."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest

from originset.crawler.testbed.rules import rule_catalogue
from originset.crawler.testbed.rules.observations import ObservedConnection
from originset.crawler.testbed.rules.rule_text import RuleText
from originset.crawler.testbed.rules.version_outcomes import VersionOutcome
from originset.crawler.testbed.rules.versions import version_changes
from originset.crawler.testbed.rules.versions.compat_data import compat_data

REAL = {rule: rule_catalogue.read_rule(rule) for rule in ("address-same", "http3-same-address", "http3-alt-svc")}


def outcome(rule: str, version: str, used: int, count: int = 1, loads: int = 1, **more: object) -> VersionOutcome:
    """So many loads that used so many connections, to the hosts www, static0, static1, ..."""
    hosts = [f"{name}.{rule}.test" for name in ("www", *(f"static{number}" for number in range(used - 1)))]
    facts = {"protocol": "h2", "build": "headless-shell", "lookups": {}, "flags": (), **more}
    protocol = str(facts.pop("protocol"))
    connections = tuple(ObservedConnection(host, "192.0.2.1", protocol, (f"{host}/",)) for host in hosts)
    return msgspec.convert(
        {
            "browser": "chromium",
            "version": version,
            "observed_on": "2026-11-23",
            "count": count,
            "loads": loads,
            "connections": connections,
            "missing": (),
            "opened": (used,) * count,
            **facts,
        },
        VersionOutcome,
        from_attributes=True,
    )


@pytest.fixture(autouse=True)
def texts(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, RuleText]]:
    """The rules' files, without any browser: a test puts its outcomes in."""
    found = {rule: msgspec.structs.replace(text, observed=(), versions=()) for rule, text in REAL.items()}
    monkeypatch.setattr(rule_catalogue, "read_rule", lambda rule: found[rule])
    monkeypatch.setattr(rule_catalogue, "rule_names", lambda: tuple(found))
    version_changes.columns.cache_clear()
    version_changes.rule_ways.cache_clear()
    yield found
    version_changes.columns.cache_clear()
    version_changes.rule_ways.cache_clear()


def changes(texts: dict[str, RuleText], rule: str, *outcomes: VersionOutcome) -> list[tuple[str, str]]:
    texts[rule] = msgspec.structs.replace(texts[rule], versions=outcomes)
    return [(one.before.major, one.after.major) for one in version_changes.rule_changes(rule)]


def test_a_change_is_between_the_versions_next_to_one_another(texts: dict[str, RuleText]) -> None:
    found = [outcome("address-same", version, used) for version, used in (("88.0", 2), ("110.0", 1), ("99.0", 2))]
    assert changes(texts, "address-same", *found) == [("99", "110")]


def test_what_one_version_does_both_ways_is_a_race(texts: dict[str, RuleText]) -> None:
    both = [outcome("address-same", "131.0", used, 1, 2) for used in (1, 2)]
    found = [outcome("address-same", "88.0", 2), outcome("address-same", "110.0", 1)]
    assert changes(texts, "address-same", *found, *both) == []
    version_changes.columns.cache_clear()
    version_changes.rule_ways.cache_clear()
    assert changes(texts, "address-same", *found) == [("88", "110")]


def test_builds_are_compared_at_one_version_only(texts: dict[str, RuleText]) -> None:
    found = [
        outcome("address-same", "88.0", 2),
        outcome("address-same", "110.0", 1, build="full"),
        outcome("address-same", "110.0", 2),
    ]
    assert changes(texts, "address-same", *found) == []
    (one,) = version_changes.build_differences("address-same")
    assert (one.before.build, one.after.build) == ("full", "headless-shell")


def test_what_a_version_cannot_do_is_not_supported_and_no_change(texts: dict[str, RuleText]) -> None:
    """A version without HTTP/3, one with it but without HTTPS records, and one with both."""
    texts["http3-alt-svc"] = msgspec.structs.replace(
        texts["http3-alt-svc"],
        versions=(
            outcome("http3-alt-svc", "88.0", 2),
            outcome("http3-alt-svc", "110.0", 2, protocol="h3"),
            outcome("http3-alt-svc", "131.0", 2, protocol="h3", lookups={"www.http3-alt-svc.test": ("HTTPS",)}),
        ),
    )
    rule = "http3-same-address"
    found = [outcome(rule, version, used) for version, used in (("88.0", 3), ("110.0", 2), ("131.0", 1))]
    assert changes(texts, rule, *found) == []
    lacks = [version_changes.lacks(rule, column) for column in version_changes.columns()]
    assert lacks == ["HTTP/3", "HTTPS records", None]
    assert [column.major for column in version_changes.rule_ways(rule)] == ["131"]
    assert [column.major for column in version_changes.rule_ways("http3-alt-svc")] == ["110", "131"]


def test_support_is_by_the_spans_of_versions(texts: dict[str, RuleText]) -> None:
    found = [outcome("address-same", version, used) for version, used in (("88.0", 2), ("99.0", 1), ("110.0", 2))]
    changes(texts, "address-same", *found)
    feature = compat_data()["http"]["connection_reuse"]["address-same"]
    support = feature["2_www__static0"]["__compat"]["support"]["chrome"]
    assert [(one["version_added"], one.get("version_removed")) for one in support] == [("≤110", None), ("≤88", "≤99")]
    assert feature["1_www"]["__compat"]["support"]["chrome"]["version_removed"] == "≤110"
