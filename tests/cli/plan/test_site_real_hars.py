"""Plans of real pages: complete for what their recordings show on one connection, or the plan says what breaks."""

from collections import defaultdict

import pytest

from originset.data.studies.database import open_database
from originset.data.studies.study import Study
from originset.models.plans.site_plan import site_plan

# Independent of the models: which hosts the recordings show on one h2 connection with the document's host.
CARRIED = """
    SELECT DISTINCT v.site, s.server, r.host, r.port
    FROM origin_sets s
    JOIN visits v USING (site)
    JOIN requests own ON own.visit_id = v.visit_id AND own.host = s.server AND s.host = s.server
    JOIN requests r ON r.visit_id = own.visit_id AND r.connection_id = own.connection_id
    WHERE r.protocol = 'h2' AND r.scheme = 'https' AND r.status BETWEEN 200 AND 399
        AND r.server_ip = own.server_ip AND r.from_cache IS DISTINCT FROM true"""


@pytest.fixture
def study(study_of_recordings: Study) -> Study:
    return study_of_recordings


def test_what_was_carried_together_is_announced_or_said_to_break(study: Study) -> None:
    carried = defaultdict(set)
    with open_database(study) as connection:
        for site, server, host, port in connection.execute(CARRIED).fetchall():
            carried[site, server].add((host, port))
    together = 0
    for (site, server), hosts in carried.items():
        (made,) = [entry for entry in site_plan(study, site).servers if entry.server == server]
        assert f"https://{server}" in made.origins
        breaks = {left.host for left in made.left_out if left.coalesces_today is not False}
        assert not breaks or any("at the server's address not announced" in warning for warning in made.warnings)
        announced = {origin.removeprefix("https://") for origin in made.origins}
        assert {host for host, port in hosts if port == 443} <= announced | breaks, site
        together += len(hosts) > 1
    # Else this looked at nothing; the repository's own recordings are of few pages.
    assert together >= (5 if len(carried) > 50 else 2)


def test_every_plan_announces_only_what_the_certificate_covers(study: Study) -> None:
    with open_database(study) as connection:
        sites = [row[0] for row in connection.execute("SELECT DISTINCT site FROM origin_sets").fetchall()]
        covered = set(
            connection.execute(
                "SELECT site, 'https://' || host FROM origin_sets WHERE covered_by_certificate"
            ).fetchall()
        )
    announced = {
        (site, origin)
        for site in sites
        for server in site_plan(study, site).servers
        for origin in server.origins
        if origin != f"https://{server.server}"
    }
    assert announced
    assert announced <= covered
