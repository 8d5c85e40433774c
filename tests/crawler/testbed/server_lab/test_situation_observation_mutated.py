"""Configurations with mistakes in them: where the server starts, nothing that the linter calls safe is not."""

from __future__ import annotations

import itertools
import os
import shutil

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lab_lint import READERS, contradiction, lab_folder, linted
from mutated_configurations import mutated

from originset.crawler.testbed.server_lab.lab_servers import program_of
from originset.crawler.testbed.server_lab.situation_observation import lab_addresses, observe
from originset.crawler.testbed.server_lab.situation_text import situations
from originset.data.errors import InputError, MissingDependency, TestbedError

pytestmark = [pytest.mark.testbed, pytest.mark.soak, pytest.mark.alone]

FULL = os.environ.get("ORIGINSET_SOAK") == "full"
MUTATIONS = 2_000 if FULL else 15
NUMBERS = itertools.count()


@pytest.fixture(scope="module", autouse=True)
def _addresses():
    with lab_addresses():
        yield


def runnable():
    """The situations of all formats, but those of servers that are not installed, where that is permitted."""
    for one in situations():
        try:
            if one.server in READERS:
                program_of(one.server)
                yield one
        except MissingDependency:
            if os.environ.get("ORIGINSET_REQUIRE_TESTBED"):
                raise


@pytest.mark.timeout(7_200 if FULL else 300)
@settings(max_examples=MUTATIONS, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_nothing_that_is_called_safe_is_not(tmp_path, data) -> None:
    situation = data.draw(st.sampled_from(list(runnable())))
    text = data.draw(mutated(situation))
    folder = tmp_path / str(next(NUMBERS))
    try:
        _, verdicts = linted(situation.server, text, lab_folder(folder / "linted"))
        safe = [one for one in verdicts if one.verdict == "safe"]
        if safe:
            seen = observe(msgspec.structs.replace(situation, configuration=text), folder / "server")
            assert [said for one in safe if (said := contradiction(one, seen))] == [], text
    except (InputError, TestbedError):
        pass  # it is refused by the linter, or by the server
    finally:
        shutil.rmtree(folder, ignore_errors=True)
