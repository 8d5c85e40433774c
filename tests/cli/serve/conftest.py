"""The pages of ``serve``, of the example study, once for a file's tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from served_pages import Served, served

from originset.data.studies.study import Study


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark all as slow: they start a server, most with a study."""
    if item.path.parent == Path(__file__).parent:
        item.add_marker("slow")


@pytest.fixture(scope="module")
def pages(modelled_example: Study, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("uploads"), modelled_example) as running:
        yield running
