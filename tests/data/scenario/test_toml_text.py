"""Scenarios written as TOML: what is read again is what was written, whatever their texts hold."""

from __future__ import annotations

import tomllib

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from originset.data.scenario.entries import (
    CertificateEntry,
    HostEntry,
    HttpsRecordEntry,
    ResourceEntry,
    ScenarioEntries,
    SiteEntry,
)
from originset.data.scenario.toml_text import toml_text

TEXTS = st.text(max_size=8) | st.sampled_from(['"]\n[x]', "\x7f", "\U0001f600", "\\u0022", "a.b"])
LISTS = st.lists(TEXTS, max_size=3)
RESOURCES = st.recursive(
    st.builds(ResourceEntry, image=TEXTS, size=st.none() | st.integers(0, 9), crossorigin=st.none() | st.booleans()),
    lambda below: st.builds(ResourceEntry, script=TEXTS, loads=st.lists(below, max_size=3)),
    max_leaves=5,
)
HOSTS = st.builds(
    HostEntry, addresses=LISTS, asn=st.none() | st.integers(0, 9), origin_set=st.none() | LISTS, redirect=TEXTS,
    https_record=st.none() | st.builds(HttpsRecordEntry, LISTS), own_connection=st.booleans(),
)  # fmt: skip
SCENARIOS = st.builds(
    ScenarioEntries,
    title=TEXTS,
    missing=LISTS,
    certificate=st.dictionaries(TEXTS, st.builds(CertificateEntry, LISTS), max_size=2),
    host=st.dictionaries(TEXTS, HOSTS, max_size=3),
    site=st.dictionaries(TEXTS, st.builds(SiteEntry, loads=st.none() | st.lists(RESOURCES, max_size=3)), max_size=2),
)


@given(SCENARIOS)
def test_what_is_read_is_what_was_written(scenario: ScenarioEntries) -> None:
    read = {"host": {}} | tomllib.loads(toml_text(scenario, ["[not a table]"]))
    assert msgspec.convert(read, ScenarioEntries) == scenario


def test_its_layout() -> None:
    script = ResourceEntry(script="https://b.test/1.js", loads=[ResourceEntry(xhr="https://b.test/2", wait_ms=5)])
    scenario = ScenarioEntries(
        title="a.test",
        certificate={"own": CertificateEntry(["a.test"])},
        host={"a.test": HostEntry(["192.0.2.1"], certificate="own", https_record=HttpsRecordEntry(["h2"]))},
        site={"a.test": SiteEntry(size=9, loads=[script, ResourceEntry(image="https://a.test/3.svg")])},
    )
    assert (
        toml_text(scenario, ["Made up."])
        == """\
# Made up.
title = "a.test"

[certificate.own]
names = ["a.test"]

[host."a.test"]
addresses = ["192.0.2.1"]
certificate = "own"
https_record = { alpn = ["h2"] }

[site."a.test"]
bytes = 9
loads = [
  { script = "https://b.test/1.js", loads = [
    { xhr = "https://b.test/2", wait_ms = 5 },
  ] },
  { image = "https://a.test/3.svg" },
]
"""
    )
