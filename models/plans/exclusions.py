"""Names that a plan is neither to announce nor to add."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl


@dataclass(frozen=True, slots=True)
class Exclusions:
    """``hosts``: these alone. ``domains``: these and all below them. Lower case, without a dot at the end."""

    hosts: frozenset[str] = frozenset()
    domains: frozenset[str] = frozenset()

    def rows(self) -> pl.DataFrame:
        """A row each: name, with_subdomains."""
        names = [(name, False) for name in sorted(self.hosts)] + [(name, True) for name in sorted(self.domains)]
        return pl.DataFrame(names, schema={"name": pl.String, "with_subdomains": pl.Boolean}, orient="row")

    def __contains__(self, host: str) -> bool:
        """Whether a host is excluded."""
        labels = host.split(".")
        return host in self.hosts or any(".".join(labels[start:]) in self.domains for start in range(len(labels)))
