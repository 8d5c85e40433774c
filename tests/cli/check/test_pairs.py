"""``originset check pairs``: pairs of hosts drawn from a study's evidence, asked of the testbed's servers."""

import json

import polars as pl
import pytest

from originset.cli.check.evidence_sample import drawn_pairs, precision


@pytest.mark.testbed
@pytest.mark.promise("pairs-stay-public")
def test_pairs_of_each_kind_are_asked_over_one_anothers_connections(run, testbed, testbed_study) -> None:
    call = ("--study", testbed_study.root, "check", "pairs", "--sample", "3", "--format", "json")
    refused = run(*call)
    assert refused.returncode == 2
    assert "--live" in refused.stderr
    listed = run(*call, "--dry-run")
    assert listed.returncode == 0, listed.stderr
    drawn = json.loads(listed.stdout)
    asked = len(testbed.requests())
    done = run(*call, "--live", "--rate", "50", "--ca-file", testbed.authority.root)
    assert done.returncode in {0, 3}, done.stderr
    rows = json.loads(done.stdout)
    assert len(rows) == 2 * len(drawn)
    assert len(testbed.requests()) > asked
    results = {kind: {row["result"] for row in rows if row["kind"] == kind} for kind in {row["kind"] for row in rows}}
    assert "same" in results["coalesced"], results
    for row in rows:
        own = testbed.scenario.hosts[row["host"]]
        if row["result"] == "refused":
            assert own.own_connection or row["host"] not in testbed.scenario.hosts_at(row["address"]), row
        if row["result"] == "same" and not own.redirect:
            assert row["host"] in testbed.scenario.hosts_at(row["address"]) or _answers(testbed, row), row
    compared = [row for row in rows if row["kind"] == "coalesced" and row["result"] != "not compared"]
    assert f"coalesced: {sum(row['result'] == 'same' for row in compared)} of {len(compared)} the same" in done.stderr


def _answers(testbed, row) -> bool:
    return testbed.scenario.hosts[row["server"]].answers_for(row["host"])


def test_the_same_seed_draws_the_same_pairs(testbed_study) -> None:
    first, again, other = (drawn_pairs(testbed_study, 2, seed) for seed in (1, 1, 2))
    assert first.equals(again)
    assert not first.equals(other)
    assert first.group_by("kind", "provider").len()["len"].max() <= 2


def test_a_share_has_the_interval_of_wilson() -> None:
    """Worked out by hand: 8 of 10 is 49.0 to 94.3 %, 0 of 3 is 0 to 56.1 %."""
    rows = [("certificate", "same")] * 8 + [("certificate", "refused"), ("certificate", "other")]
    rows += [("same_as", "other")] * 3 + [("same_as", "not compared")] * 5
    found = precision(pl.DataFrame(rows, ["kind", "result"], orient="row"))
    rounded = [(*row[:3], *(round(share, 1) for share in row[3:])) for row in found.rows()]
    assert rounded == [("certificate", 10, 8, 80.0, 49.0, 94.3), ("same_as", 3, 0, 0.0, 0.0, 56.1)]
