"""The causal timeline against load times in the testbed: what it promises of pages as they are, and what then comes.

Three drawn pages at one access network, one load each; all with ``ORIGINSET_SOAK=full``, in build/timelines, where a
run that was stopped goes on. How far off it is, is a result, which is printed: no test asserts a time.
"""

import os
import tomllib
from pathlib import Path

import pytest
from promised_savings import outcomes, promises, promises_in, result_text
from timed_loads import HARS, PROFILES, Part, all_parts, loads_in, make_loads, write_pages
from timed_pages import LAB, REAL, SEED, in_testbeds, lab_page, page_groups

from originset.models.parameters import Parameters

pytestmark = [
    pytest.mark.testbed, pytest.mark.browser, pytest.mark.soak, pytest.mark.alone, pytest.mark.timeout(6 * 3600)
]  # fmt: skip

FULL = os.environ.get("ORIGINSET_SOAK") == "full"
ROOT = Path(__file__).parents[3]

# Their document's network alone has several hosts, so that its connection is there before any other host is asked.
PAGES = (7, 8, 9)


def test_three_pages_load_as_promised(tmp_path: Path) -> None:
    (group,) = in_testbeds([lab_page(SEED, number) for number in PAGES], most=len(PAGES))
    assert write_pages(tmp_path, {"three": group}) == ["three"]
    for browser in ("chromium", "firefox"):
        part = Part(folder=str(tmp_path), group="three", browser=browser, profile="cable", first=0, loads=1)
        make_loads(part)
        assert part.file.exists()
    loads = loads_in(tmp_path)
    assert len(loads) == len(PAGES) * 2 * 2  # sides, browsers
    assert all(one.load_ms is not None and one.load_ms > 0 for one in loads)
    promised = promises(tmp_path / "captures" / "chromium-cable", "cable", Parameters())
    assert promised.keys() == {f"www.l{number}.test" for number in PAGES}
    found = outcomes(loads, {"cable": promised})
    assert len(found) == len(PAGES) * 2
    for one in found:
        assert one.connections == one.promise.connections, one
        assert one.promise.saved_ms >= 0
        assert one.error_ms == one.promise.saved_ms - one.measured_ms
    assert promised["www.l7.test"].connections == promised["www.l7.test"].saved_ms == 0, "a host for each network"
    result = tomllib.loads(result_text(loads, found, "test"))
    assert [(one["browser"], one["profile"], one["pages"], one["loads"]) for one in result["error"]] == [
        ("chromium", "cable", 3, 6), ("firefox", "cable", 3, 6),
    ]  # fmt: skip
    assert all(
        one["as_many_connections"] == 3 and sorted(one["error_ms"]) == one["error_ms"] for one in result["error"]
    )


@pytest.mark.skipif(not FULL, reason="make soak: hours")
def test_every_page_at_every_access_network() -> None:
    folder = ROOT / "build" / "timelines"
    hars = HARS if HARS.exists() else None
    groups = write_pages(folder, {} if (folder / "pages").exists() else page_groups(hars))
    for part in all_parts(folder, groups, 10):
        if not part.file.exists():
            make_loads(part)
    loads = loads_in(folder)
    found = outcomes(loads, promises_in(folder, Parameters()))
    print(result_text(loads, found, "make soak"))  # noqa: T201 - the result
    pages = LAB + (len(REAL) if hars else 0)
    assert len(found) >= 0.9 * pages * len(PROFILES) * 2
    agreeing = [one for one in found if one.connections == one.promise.connections]
    assert len(agreeing) >= 0.5 * len(found)
