"""Where tests run, and the fixtures that several parts use.

The whole run takes place in network, mount and process namespaces of its own (``namespace.run_inside``): whatever a
test does by mistake, nothing leaves the machine, and no process outlives the run. pytest starts itself again in there,
so ``pytest tests/x.py::test_y`` works as it always does, as root and as an ordinary user; inside one is uid 0. Where
the machine does not permit it, tests marked ``testbed`` are skipped and say so; ``ORIGINSET_REQUIRE_TESTBED=1`` makes
them fail instead.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from healthy_testbed import healthy_testbed
from hypothesis import settings

from originset.crawler.testbed import scenario_file
from originset.crawler.testbed.namespace import inside, run_inside
from originset.crawler.testbed.testbed import Testbed
from originset.data.errors import MissingDependency

pytest_plugins = ["example_study", "real_study", "s3_storage", "testbed_study"]

settings.register_profile("originset", deadline=None)  # no test asserts a time
settings.load_profile("originset")

_WHY_NOT = "ORIGINSET_NO_TESTBED"

# What --fast leaves out, before it is even imported: whole commands, studies with a database, browsers, the testbed,
# and models that take whole tables. A test there can still be run by naming its file without --fast.
_SLOW_PATHS = (
    "tests/analysis/har/test_recorders_golden.py",
    "tests/analysis/test_",
    "tests/benchmarks/",
    "tests/cli/test_",
    "tests/cli/writers/test_node.py",
    "tests/crawler/cluster/",
    "tests/crawler/crawl/test_coordinator.py",
    "tests/crawler/test_crawl",
    "tests/crawler/crawl/test_estimate.py",
    "tests/crawler/crawl/test_politeness.py",
    "tests/crawler/crawl/test_pending_visits.py",
    "tests/crawler/probe/test_resolver.py",
    "tests/crawler/testbed/test_rules_command.py",
    "tests/crawler/visits/test_visits",
    "tests/data/reference/test_ip_to_as.py",
    "tests/data/captures/test_capture_place.py",
    "tests/data/test_database",
    "tests/data/studies/test_shards_earlier.py",
    "tests/data/schema/test_study_tables.py",
    "tests/models/browsers/test_browsers_soak.py",
    "tests/models/browsers/causes/test_connection_causes.py",
    "tests/models/plans/test_planned_connections.py",
    "tests/models/browsers/test_replay_strip.py",
    "tests/models/browsers/test_savings.py",
    "tests/models/browsers/test_connection_facts.py",
    "tests/models/browsers/test_tables.py",
    "tests/models/certificates/test_certificate_additions.py",
    "tests/models/certificates/test_certificate_coverage.py",
    "tests/models/runner/test_definitions.py",
    "tests/models/evidence/test_colocation_evidence.py",
    "tests/models/experiments/test_experiment_design.py",
    "tests/models/runner/test_runner_all_tables.py",
    "tests/models/connections/test_known_connections_live.py",
    "tests/models/origin_sets/test_origin_sets.py",
    "tests/models/pages/test_oversized_pages.py",
    "tests/models/test_page_counts",
    "tests/models/certificates/test_provider_changes.py",
    "tests/models/runner/test_runner.py",
    "tests/models/certificates/test_site_certificates.py",
    "tests/queries/",
    "tests/test_docs.py",
    "tests/test_packaging.py",
)
_SLOW_FIXTURES = {"shared", "example_shards"}


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    if inside() or _WHY_NOT in os.environ or config.option.help or config.option.version:
        return None
    try:
        return run_inside([sys.executable, "-P", "-m", "pytest", *config.invocation_params.args])
    except MissingDependency as error:
        os.environ[_WHY_NOT] = str(error)  # workers of a distributed run need it too
        return None


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fast", action="store_true", help="only what takes milliseconds: what make test-fast runs")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if config.option.fast and str(collection_path.relative_to(config.rootpath)).startswith(_SLOW_PATHS):
        return True
    return None


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        if "testbed" in fixtures:
            item.add_marker("testbed")
    if config.option.fast:
        items[:] = [item for item in items if not _is_slow(item)]
    # The session's testbed stays up from its first use on; whoever needs the same addresses has to be done by then.
    items.sort(key=lambda item: item.get_closest_marker("alone") is None)
    if inside() or os.environ.get("ORIGINSET_REQUIRE_TESTBED"):
        return
    skip = pytest.mark.skip(reason=os.environ.get(_WHY_NOT, "not in a network namespace"))
    for item in items:
        if item.get_closest_marker("testbed"):
            item.add_marker(skip)


def _is_slow(item: pytest.Item) -> bool:
    """Whether it needs a browser, the testbed, real files or a study, draws its cases, or takes its time."""
    drawn = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
    marked = any(item.get_closest_marker(name) for name in ("testbed", "browser", "soak"))
    return drawn or marked or not _SLOW_FIXTURES.isdisjoint(getattr(item, "fixturenames", ()))


@pytest.fixture(scope="session", autouse=True)
def _own_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What commands note for their user is noted in a folder of the run's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of data that is not the project's, beside the repository; a test that needs it is skipped without."""
    folder = Path(__file__).resolve().parents[2] / "shared"
    if not (folder / "data").is_dir():
        pytest.skip(f"{folder} is absent: it holds real HARs and tables that the repository may not contain")
    return folder


@pytest.fixture(scope="session")
def testbed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Testbed]:
    """The small internet, brought up once a session. A test that asks for it is marked ``testbed`` by that."""
    with healthy_testbed(scenario_file.built_in(), tmp_path_factory.mktemp("testbed")) as running:
        yield running
