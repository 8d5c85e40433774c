"""Two strangers in one AS, crawled with a real browser: the paper's count merges them, nothing deployable does."""

import os
import subprocess
import sys

import pytest

from originset.data.studies.database import open_database
from originset.data.studies.study import Study
from originset.queries.catalogue import run

pytestmark = [pytest.mark.testbed, pytest.mark.browser]


@pytest.fixture(scope="module")
def crawled(testbed, tmp_path_factory):
    folder = tmp_path_factory.mktemp("strangers")
    sites = ["anna.test", "bert.test", "dora.hosting.test", "shop.test"]
    (folder / "sites.txt").write_text("".join(f"https://{site}/\n" for site in sites))
    study = Study(folder / "study")
    environment = {**os.environ, **testbed.environment, "XDG_CACHE_HOME": str(folder / "cache")}
    for arguments in (["crawl", str(folder / "sites.txt"), "--retries", "0"], ["analyze"]):
        command = [sys.executable, "-m", "originset", "--study", str(study.root), *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    with open_database(study) as connection:
        yield connection


# One AS of one page: connections by the AS, and by what colocation_evidence lets merge.
HETZNER = """
    SELECT count(DISTINCT a.asn) AS ases, count(DISTINCT r.host) AS hosts, any_value(c.ideal_origin) AS ideal_origin,
           any_value(c.ideal_deployable) AS ideal_deployable
    FROM requests AS r JOIN addresses AS a ON a.ip = r.server_ip JOIN page_counts AS c USING (visit_id)
    JOIN visits AS v USING (visit_id)
    WHERE v.final_url LIKE '%//anna.test/%' AND a.asn = 24940
"""


def test_ideal_origin_is_one_and_deployable_two(crawled) -> None:
    (row,) = run(crawled, HETZNER).rows(named=True)
    assert (row["ases"], row["hosts"]) == (1, 2)
    others = run(
        crawled,
        "SELECT count(DISTINCT a.asn) AS n FROM requests AS r JOIN addresses AS a ON a.ip = r.server_ip"
        " JOIN visits AS v USING (visit_id) WHERE v.final_url LIKE '%//anna.test/%' AND a.asn <> 24940",
    ).item()
    # The page's other ASes have one host each, so each needs one connection by either count.
    assert row["ideal_origin"] == others + 1
    assert row["ideal_deployable"] == others + 2


def test_nothing_is_proposed_between_them(crawled) -> None:
    pair = (
        "SELECT kind, level FROM colocation_evidence WHERE host_a = 'anna.test' AND host_b = 'bert.test' ORDER BY kind"
    )
    assert run(crawled, pair).rows() == [("same_as", 0), ("same_organisation", 1)]
    sets = run(
        crawled,
        "SELECT level, covered_by_certificate FROM origin_sets WHERE server = 'anna.test' AND host = 'bert.test'",
    )
    assert sets.rows() == [(1, False)]


def test_a_421_keeps_neighbours_of_one_certificate_apart(crawled) -> None:
    """Both are in one certificate and at one address; the browser tried, and was refused."""
    rows = run(
        crawled,
        "SELECT kind, level, contradicts FROM colocation_evidence"
        " WHERE host_a = 'carla.hosting.test' AND host_b = 'dora.hosting.test' ORDER BY level, kind",
    ).rows()
    assert ("certificate", 3, False) in rows
    assert ("misdirected", 0, True) in rows
    proposed = run(
        crawled, "SELECT level, misdirected FROM origin_sets WHERE server = 'dora.hosting.test' AND host LIKE 'carla%'"
    )
    assert proposed.rows() == [(0, True)]


def test_a_certificate_that_covers_both_is_named(crawled) -> None:
    rows = run(
        crawled,
        "SELECT e.kind, e.level, list_sort(list(n.name)) AS names FROM colocation_evidence AS e"
        " JOIN certificate_names AS n ON e.source = 'certificate ' || n.certificate_id"
        " WHERE e.host_a = 'assets.shopcdn.test' AND e.host_b = 'shop.test' GROUP BY ALL",
    )
    assert rows.to_dicts() == [
        {"kind": "certificate", "level": 3, "names": ["assets.shopcdn.test", "shop.test", "www.shop.test"]}
    ]
