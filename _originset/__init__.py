"""Measure, model and explain HTTP connection coalescing; the parts are the sub-packages of this name.

docs/python.md describes the names below, which keep their meaning within a major version.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import Any

__all__ = ["Explanation", "StudyReader", "StudyTables", "explain", "open_study", "plan"]
__version__ = version("originset")


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever the name stands for
    """Import the Python API when it is used, as the command line needs none of it; __init__.pyi has its types."""
    if name not in __all__:
        raise AttributeError(f"module 'originset' has no attribute {name!r}")
    return getattr(import_module("originset.python_api"), name)
