"""What the tests of clusters have in common: they are slow."""

import pytest


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark all as slow: a cluster is several processes."""
    item.add_marker("slow")
