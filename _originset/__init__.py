"""Measure, model and explain HTTP connection coalescing; the parts are the sub-packages of this name."""

import os
from importlib.metadata import version

__version__ = version("originset")

# Before polars is loaded: its allocator offers unused memory to the system after half a second by itself, and what goes
# through a study part by part would then get it anew for each part, which costs a fifth of its time. After two seconds
# it really is given back: what is only offered counts as ours until somebody else needs it.
os.environ.setdefault("_RJEM_MALLOC_CONF", "dirty_decay_ms:2000,muzzy_decay_ms:0,narenas:1")
