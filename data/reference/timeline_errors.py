"""How far off the causal timeline was where the testbed tried it: promised savings against measured ones."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources

_FILE = "timeline_errors.toml"


@dataclass(frozen=True, slots=True)
class TimelineError:
    """Errors of one browser at one access network: what was promised of the load event minus what was measured, in ms.

    ``p10``, ``p50`` and ``p90`` are quantiles over ``pages`` pages; negative: more was saved than promised. ``loads``:
    of all pages, as they are and with one server for each network. ``profile``: cable or lte. ``load_average``: of the
    machine, the median.
    """

    browser: str
    version: str
    profile: str
    pages: int
    loads: int
    load_average: float
    p10: float
    p50: float
    p90: float

    @property
    def largest(self) -> float:
        """The larger of p10 and p90, without its sign: four of five pages were off by less."""
        return max(abs(self.p10), abs(self.p90))


@cache
def timeline_errors() -> tuple[TimelineError, ...]:
    """All that were observed; timeline_errors.toml says when and by which command."""
    text = resources.files("originset.data.reference").joinpath(_FILE).read_text(encoding="utf-8")
    return tuple(
        TimelineError(
            browser=entry["browser"],
            version=entry["version"],
            profile=entry["profile"],
            pages=entry["pages"],
            loads=entry["loads"],
            load_average=entry["load_average"],
            p10=entry["error_ms"][0],
            p50=entry["error_ms"][1],
            p90=entry["error_ms"][2],
        )
        for entry in tomllib.loads(text)["error"]
    )


def errors_of(browser: str | None) -> tuple[TimelineError, ...]:
    """Those of a browser as recordings name it, such as chromium-headless-shell; of any other, those of Chromium."""
    name = (browser or "").partition("-")[0]
    found = tuple(one for one in timeline_errors() if one.browser == name)
    return found or tuple(one for one in timeline_errors() if one.browser == "chromium")
