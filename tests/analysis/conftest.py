"""What the tests of whole imports have in common: they are slow."""

from pathlib import Path

import pytest


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark whole imports as slow; readers of a HAR's fields are functions."""
    if item.path.parent == Path(__file__).parent:
        item.add_marker("slow")
