"""The ladder of the real recordings: each rung with its drop, each merge with its evidence."""

import polars as pl
import pytest

from originset.data.studies.database import open_database
from originset.queries.catalogue import run
from originset.queries.ladder import ladder


@pytest.fixture(scope="module")
def real(real_study):
    with open_database(real_study) as connection:
        yield connection


def test_every_rung_drops(real) -> None:
    rows = ladder(real).filter(~pl.col("comparison_only"), counts="TLS connections", browser="chromium")
    print(rows.select("rung", "total", "saved_pct"))  # noqa: T201 - shown by pytest -s: the drop from AS to deployable
    assert rows["rung"].to_list() == [
        "measured",
        "without same-host duplicates",
        "deployable: same edge and certificate",
        "same edge",
        "one owner, different machines",
        "same AS (the paper's ideal ORIGIN)",
    ]
    totals = rows["total"].to_list()
    assert totals == sorted(totals, reverse=True)
    assert len(set(totals)) == len(totals), "strangers in one AS are what the rungs tell apart"


def test_every_level_above_one_names_what_was_seen(real) -> None:
    bare = "SELECT count(*) AS n FROM colocation_evidence WHERE level > 1 AND (source IS NULL OR source = '')"
    assert run(real, bare).item() == 0
    kinds = run(real, "SELECT DISTINCT kind FROM colocation_evidence WHERE level > 1").to_series().to_list()
    assert {"same_edge", "shared_address", "certificate", "coalesced"} <= set(kinds)
    proposed = """
        SELECT count(*) AS n FROM origin_sets AS o
        WHERE o.level > 1 AND o.server <> o.host AND NOT EXISTS (
          FROM colocation_evidence AS e
          WHERE e.host_a = least(o.server, o.host) AND e.host_b = greatest(o.server, o.host) AND e.level = o.level
        )
    """
    assert run(real, proposed).item() == 0
    assert run(real, "SELECT count(*) AS n FROM origin_sets WHERE level > 1 AND server <> host").item() > 0


def test_every_address_maps_as_pyasn_says(real, shared) -> None:
    import pyasn  # noqa: PLC0415 - the oracle, only here

    oracle = pyasn.pyasn(str(shared / "data/asn/ipasn_iplocdb_20260617.dat.gz"))
    rows = run(real, "SELECT ip, asn FROM addresses")
    assert rows["asn"].to_list() == [oracle.lookup(ip)[0] for ip in rows["ip"]]
    assert rows.height > 700
