"""What the tests of the crawler have in common: the testbed with one site for each thing that a capture must tell."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from healthy_testbed import healthy_testbed

from originset.crawler.testbed import scenario_file
from originset.crawler.testbed.testbed import Testbed


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Testbed]:
    """The scenario ``captures``. Not of the session: while it is up, the names of ``testbed`` are not resolved."""
    with healthy_testbed(scenario_file.built_in("captures"), tmp_path_factory.mktemp("captures")) as running:
        yield running
