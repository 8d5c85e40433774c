"""A plain list, one origin a line, for servers and scripts of one's own."""

from __future__ import annotations

from originset.cli.writers.origin_set import OriginSet


def render(chosen: OriginSet) -> str:
    """The origins, sorted, a line each, and nothing else."""
    return "".join(f"{origin}\n" for origin in chosen.origins)
