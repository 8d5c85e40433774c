"""Where tests run, and the fixtures that several parts use.

The whole run takes place in network, mount and process namespaces of its own (``namespace.run_inside``): whatever a
test does by mistake, nothing leaves the machine, and no process outlives the run. pytest starts itself again in there,
so ``pytest tests/x.py::test_y`` works as it always does, as root and as an ordinary user; inside one is uid 0. Each
worker of a parallel run (``-n auto``) has namespaces of its own within these, and takes whole files. Where the machine
does not permit it, tests marked ``testbed`` are skipped and say so; ``ORIGINSET_REQUIRE_TESTBED=1`` makes them fail
instead.
"""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import isolated_python
import pytest
from healthy_testbed import healthy_testbed
from hypothesis import settings

from originset.crawler.testbed import scenario_file
from originset.crawler.testbed.namespace import in_namespace, run_inside
from originset.crawler.testbed.testbed import Testbed
from originset.data.errors import MissingDependency

pytest_plugins = ["built_once", "example_study", "real_study", "s3_storage", "testbed_study"]

settings.register_profile("originset", deadline=None)  # no test asserts a time
settings.load_profile("originset")

_WHY_NOT = "ORIGINSET_NO_TESTBED"

# Markers and fixtures of tests that take more than milliseconds: `make test-fast` leaves these tests out.
_SLOW_MARKERS = ("testbed", "browser", "soak")
_SLOW_FIXTURES = {"shared", "example_shards", "modelled_example", "sensitivity_example", "recorded_study"}


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    if in_namespace() or _WHY_NOT in os.environ or config.option.help or config.option.version:
        return None
    try:
        return run_inside([sys.executable, "-P", "-m", "pytest", *config.invocation_params.args])
    except MissingDependency as error:
        os.environ[_WHY_NOT] = str(error)  # workers of a distributed run need it too
        return None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One worker more than there are processors: tests wait for browsers, servers and timeouts."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(specs: Sequence[Any]) -> None:
    """Start each worker in namespaces of its own, as every testbed has the same addresses and replaces /etc/hosts."""
    if in_namespace():
        for spec in specs:
            spec.python = shlex.join([sys.executable, "-P", isolated_python.__file__])


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "testbed" in getattr(item, "fixturenames", ()):
            item.add_marker("testbed")
        if _is_slow(item):
            item.add_marker("slow")
    _sort_files(items)
    if in_namespace() or os.environ.get("ORIGINSET_REQUIRE_TESTBED"):
        return
    skip = pytest.mark.skip(reason=os.environ.get(_WHY_NOT, "not in a network namespace"))
    for item in items:
        if item.get_closest_marker("testbed"):
            item.add_marker(skip)


def _is_slow(item: pytest.Item) -> bool:
    """Whether it needs a browser, the testbed, real files or a study, draws its cases, or goes on for long."""
    drawn = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
    marked = any(item.get_closest_marker(name) for name in _SLOW_MARKERS)
    return drawn or marked or not _SLOW_FIXTURES.isdisjoint(getattr(item, "fixturenames", ()))


def _sort_files(items: list[pytest.Item]) -> None:
    """Put files with ``alone`` tests first, then those with browsers, then slow ones.

    The session's testbed stays up from its first use on, and whoever needs the same addresses has to be done by then.
    Workers of a parallel run take whole files in this order, so that short files are left to fill the end.
    """
    order = {marker: rank for rank, marker in enumerate(("alone", "browser", "testbed", "slow"))}
    ranks: dict[Path, int] = {}
    for item in items:
        rank = min((order[name] for name in order if item.get_closest_marker(name)), default=len(order))
        ranks[item.path] = min(rank, ranks.get(item.path, rank))
    items.sort(key=lambda item: ranks[item.path])


@pytest.fixture(scope="session", autouse=True)
def _own_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What commands note for their user is noted in a folder of the run's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture
def memory_folder() -> Iterator[Path]:
    """An empty folder in memory, where there is one: for thousands of small studies, whose fsyncs are of no use."""
    memory = Path("/dev/shm")  # noqa: S108 - Linux's
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        yield Path(folder)


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
