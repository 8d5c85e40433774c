"""What the tests of benchmarks' data have in common: they are slow."""

import pytest


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark all as slow: generated studies are large."""
    item.add_marker("slow")
