"""Scenarios by name, and those of many sites: as a file's are checked, and every inner page is served."""

from __future__ import annotations

from urllib.parse import urlsplit

import polars as pl
import pytest

from originset.crawler.testbed.many_sites import BUILT_IN, many_sites, scenario_named
from originset.crawler.testbed.scenario_checks import check_scenario
from originset.data.reference.snapshot import built_in_reference


@pytest.mark.parametrize("name", BUILT_IN)
def test_each_scenario_that_comes_with_originset(name: str) -> None:
    assert scenario_named(name).sites


@pytest.mark.parametrize("count", [1, 30, 1000])
def test_many_sites(count: int) -> None:
    scenario = many_sites(count)
    check_scenario(scenario, "many sites")
    assert len(scenario.sites) == count
    networks = built_in_reference().ip_to_as
    assert not networks.origins(pl.Series(scenario.addresses))["asn"].null_count()
    for page in scenario.pages:
        for link in (one for one in page.loads if one.kind == "link"):
            served = scenario.served[urlsplit(link.url).hostname, urlsplit(link.url).path]
            assert (served.kind, bool(served.loads)) == ("page", True)
