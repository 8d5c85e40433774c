"""What ``lab run`` and ``lab shell`` share: the scenario, where its files go, and its latency."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click

from originset.crawler.testbed.latency import PROFILES, LatencyProfile
from originset.crawler.testbed.many_sites import BUILT_IN


@dataclass(frozen=True, slots=True)
class LabOptions:
    """``out``: the lab's folder, None for a temporary one; ``latency``: round-trip times."""

    out: Path | None
    latency: LatencyProfile


class _Scenario(click.ParamType[str]):
    """The name of a scenario that comes with originset, or a file."""

    name = "SCENARIO"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in BUILT_IN and not Path(value).is_file():
            self.fail(f"{value!r} is no file, and none of {', '.join(BUILT_IN)}", param, ctx)
        return value


SCENARIO = _Scenario()

_OPTIONS = (
    click.option(
        "--out",
        type=click.Path(file_okay=False, path_type=Path),
        metavar="DIRECTORY",
        help="Keep certificates and servers' logs in this folder.  [default: a temporary folder]",
    ),
    click.option(
        "--latency",
        type=click.Choice(PROFILES),
        default="none",
        show_default=True,
        help="Round-trip times of this kind of access network.",
    ),
)


def lab_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add these options, which reach the command as ``lab``."""

    @wraps(function)
    def with_lab(
        *given: Any,  # noqa: ANN401 - the command's own
        out: Path | None,
        latency: LatencyProfile,
        **options: Any,  # noqa: ANN401 - the command's own
    ) -> None:
        function(*given, lab=LabOptions(out, latency), **options)

    decorated: Callable[..., Any] = with_lab
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated
