"""Real servers answer today what docs/servers.md says."""

import pytest
from lab_lint import require_servers

from originset.crawler.testbed.server_lab.situation_observation import lab_addresses, observe
from originset.crawler.testbed.server_lab.situation_text import Situation, situations

# Servers that listen at all addresses cannot start beside those of the testbed of a session.
pytestmark = [pytest.mark.testbed, pytest.mark.alone]


@pytest.fixture(scope="module", autouse=True)
def _addresses():
    with lab_addresses():
        yield


@pytest.fixture(params=situations(), ids=lambda situation: situation.name)
def situation(request) -> Situation:
    return request.param


def test_a_server_answers_what_its_file_says(situation: Situation, tmp_path) -> None:
    """A server of another version that answers otherwise is news: `make servers` writes it."""
    require_servers(situation)
    observed = observe(situation, tmp_path / "server")
    assert observed.answers == situation.answers
    assert observed.http3 == situation.http3
