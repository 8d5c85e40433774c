"""Real servers answer today what docs/servers.md says."""

import os

import pytest

from originset.crawler.testbed.server_lab.situation_observation import lab_addresses, observe
from originset.crawler.testbed.server_lab.situation_text import Situation, situations
from originset.data.errors import MissingDependency

# Servers that listen at all addresses cannot start beside those of the testbed of a session.
pytestmark = [pytest.mark.testbed, pytest.mark.alone]


@pytest.fixture(scope="module", autouse=True)
def _addresses():
    with lab_addresses():
        yield


@pytest.fixture(params=situations(), ids=lambda situation: situation.name)
def situation(request) -> Situation:
    return request.param


def observed(situation: Situation, tmp_path) -> Situation:
    """What the installed server answers; a test without that server is skipped on a user's machine."""
    try:
        return observe(situation, tmp_path / "server")
    except MissingDependency as missing:
        if os.environ.get("ORIGINSET_REQUIRE_TESTBED"):
            raise
        pytest.skip(str(missing))


def test_a_server_answers_what_its_file_says(situation: Situation, tmp_path) -> None:
    """A server of another version that answers otherwise is news: `make servers` writes it."""
    assert observed(situation, tmp_path).answers == situation.answers
