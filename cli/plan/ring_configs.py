"""ORIGIN configurations for the certificates of a rollout: a file each, in a folder for each ring."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl

from originset.cli.common.files import write_text
from originset.cli.common.output import note
from originset.cli.common.ring_options import named_changes, require_empty, write_new
from originset.cli.writers.origin_set import OriginSet, ring_origin_set
from originset.data.errors import UsageError
from originset.data.quantity import quantity
from originset.models.plans.inventory.ring_changes import RingChange
from originset.queries.csv_text import csv_text

_INDEX = pl.Schema(
    {
        "ring": pl.Int64(),
        "group": pl.String(),
        "certificate": pl.String(),
        "file": pl.String(),
        "origins": pl.Int64(),
        "problem": pl.String(),
    }
)


def write_ring_configs(
    rings: dict[int, list[RingChange]], render: Callable[[OriginSet], str | bytes], ending: str, out: Path
) -> None:
    """Write a configuration for each certificate of the experiment group, and an index of all certificates.

    Raises:
        UsageError: ``out`` is not empty or cannot be written.
    """
    require_empty(out)
    index = pl.DataFrame(
        [row for number, changes in rings.items() for row in _ring(out / f"ring-{number}", changes, render, ending)],
        schema=_INDEX,
        orient="row",
    )
    write_text(out / "index.csv", csv_text(index))
    written = index.filter(pl.col("file").is_not_null())
    note(f"{quantity(written.height, 'file')} in {quantity(len(rings), 'ring')}; {out / 'index.csv'} lists them")
    without = index.filter(pl.col("file").is_null(), group="experiment").height
    if without:
        note(f"{quantity(without, 'certificate')} without a file: see the column problem there")


def _ring(
    folder: Path, changes: list[RingChange], render: Callable[[OriginSet], str | bytes], ending: str
) -> Iterator[dict[str, Any]]:
    for name, one in named_changes(folder, changes):
        row = {"ring": one.ring, "group": one.change.group, "certificate": one.change.certificate}
        if one.change.group == "control":
            yield {**row, "problem": "of the control group, which announces nothing new"}
            continue
        try:
            chosen, refused = ring_origin_set(one)
        except UsageError as error:
            yield {**row, "problem": error.problem}
            continue
        content = render(chosen)
        path = folder / f"{name}.{ending}"
        write_new(path, content if isinstance(content, bytes) else content.encode())
        yield {
            **row,
            "file": f"{folder.name}/{path.name}",
            "origins": len(chosen.origins),
            "problem": "; ".join(refused) or None,
        }
