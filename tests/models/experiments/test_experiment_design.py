"""Experiments before they are run: groups alike but for one name, the mix, scenarios, what rules predict of them."""

from collections import Counter

import pytest

from originset.crawler.testbed import scenario_file
from originset.data.scenario.toml_text import toml_text
from originset.models.experiments.experiment_design import (
    AGAINST_BEFORE,
    AGAINST_CONTROL,
    MIX,
    PHASES,
    SHARED,
    predictions,
    random_sites,
    scenario,
)

pytestmark = pytest.mark.slow


def test_the_same_seed_draws_the_same_pages_and_groups_take_turns() -> None:
    sites = random_sites(50, 1)
    assert sites == random_sites(50, 1) != random_sites(50, 2)
    assert [site.group for site in sites] == ["experiment", "control"] * 50
    assert len({site.name for site in sites}) == 100


def test_36_percent_ask_without_credentials() -> None:
    kinds = Counter(site.kind for site in random_sites(20_000, 3))
    assert kinds.total() == 40_000
    assert (kinds["anonymous"] + kinds["both"]) / kinds.total() == pytest.approx(0.36, abs=0.01)
    assert sum(MIX.values()) == pytest.approx(1)


@pytest.mark.parametrize("mode", ["ip", "origin"])
@pytest.mark.parametrize("changed", [False, True])
def test_groups_differ_by_one_name_of_the_same_length(mode, changed) -> None:
    sites = random_sites(4, 5)
    parsed = scenario_file.parse(toml_text(scenario(sites, mode, changed=changed)), "made")
    assert parsed.sites == tuple(site.name for site in sites)
    added = {"experiment": set(), "control": set()}
    for site in sites:
        host = parsed.hosts[site.name]
        own, more = parsed.certificates[host.certificate].names
        assert own == site.name
        added[site.group].add(more)
        frame = (f"https://{own}", f"https://{more}") if changed and mode == "origin" else None
        assert host.origin_set == frame
        together = host.addresses == parsed.hosts[SHARED].addresses
        assert together == (changed and mode == "ip")
    (with_it,), (unused,) = added["experiment"], added["control"]
    assert with_it == SHARED != unused
    assert len(with_it) == len(unused)
    assert unused not in parsed.hosts


@pytest.mark.parametrize(
    ("mode", "browser", "before", "during"),
    # Of pages that do both, Chromium opens two and then one, Firefox one or two and then none or one: whether requests
    # with and without credentials share a connection that has carried one request is chance there.
    [
        ("ip", "chromium", (1.09, 1.09), (0.36, 0.36)),
        ("origin", "firefox", (1.0, 1.09), (0.27, 0.36)),
        ("origin", "chromium", (1.09, 1.09), (1.09, 1.09)),
    ],
)
def test_predictions_follow_from_the_mix(mode, browser, before, during) -> None:
    said = {row["what"]: row for row in predictions(200, mode, 8336).filter(browser=browser).iter_rows(named=True)}
    for group in ("experiment", "control"):
        for phase in PHASES:
            expected = during if (group, phase) == ("experiment", "during") else before
            assert said[f"{group}, {phase}"]["predicted"] == pytest.approx(sum(expected) / 2)
    least, most = during[0] / before[1], during[1] / before[0]
    for change in (AGAINST_CONTROL, AGAINST_BEFORE):
        row = said[change]
        assert row["predicted"] == pytest.approx(100 * ((least + most) / 2 - 1))
        assert row["low"] <= row["predicted"] <= row["high"]
    # Fewer sites tell less.
    fewer = {row["what"]: row for row in predictions(10, mode, 8336).filter(browser=browser).iter_rows(named=True)}
    width = {
        size: rows[AGAINST_CONTROL]["high"] - rows[AGAINST_CONTROL]["low"] for size, rows in ((10, fewer), (200, said))
    }
    certain = 100 * (most - least)  # what is left however many sites there are
    assert width[10] - certain > 3 * (width[200] - certain)


def change_in_draw(sites, mode, seed):
    """The experiment's change against the control in the pages that a seed draws, each as its kind has it."""
    still = {"plain": 0, "anonymous": 1, "both": 1 if mode == "ip" else 0}
    chosen = random_sites(sites, seed)
    experiment = sum(still[site.kind] for site in chosen if site.group == "experiment")
    control = sum(1 + (site.kind == "both") for site in chosen if site.group == "control")
    return 100 * (experiment / control - 1)


@pytest.mark.parametrize(("mode", "browser"), [("ip", "chromium"), ("origin", "firefox")])
@pytest.mark.parametrize("sites", [20, 200])
def test_95_of_100_draws_lie_in_the_interval(mode, browser, sites) -> None:
    said = predictions(sites, mode, 8336).filter(browser=browser, what=AGAINST_CONTROL).row(0, named=True)
    inside = [said["low"] <= change_in_draw(sites, mode, seed) <= said["high"] for seed in range(1000)]
    assert 0.93 <= sum(inside) / len(inside) <= 0.985
