"""Measure, model and explain HTTP connection coalescing; the parts are the sub-packages of this name."""

from importlib.metadata import version

__version__ = version("originset")
