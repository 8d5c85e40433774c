"""A field whose value is of another kind than the field's counts as absent, and costs nothing else of its file."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from handmade_hars import entry, har_of
from mutated_hars import bases
from polars.testing import assert_frame_equal

from originset.analysis.har.tables import HarBatch

_HARS = Path(__file__).resolve().parents[2] / "fixtures" / "hars"
_RECORDERS = sorted(folder.name for folder in _HARS.iterdir() if folder.is_dir())
_WEBPAGETEST = har_of(
    entry(
        "https://a.test/",
        _socket=7,
        _request_type="document",
        _protocol="h2",
        _dns_info={"results": {"canonical_names": ["b.test"], "ip_endpoints": [{"endpoint_address": "192.0.2.1"}]}},
    ),
    creator="WebPagetest",
    pages=[{"id": "page_1", "_URL": "https://a.test/", "_browser_name": "Chrome", "pageTimings": {"onLoad": 5}}],
)
Place = tuple[str | int, ...]


@pytest.mark.parametrize("recorder", [*_RECORDERS, "webpagetest"])
def test_a_value_of_another_kind_is_as_if_it_were_not_there(recorder):
    texts = [json.dumps(_WEBPAGETEST).encode()] if recorder == "webpagetest" else bases(_HARS / recorder)
    har = json.loads(texts[0])
    har["log"]["entries"] = har["log"]["entries"][:2]
    places = list(_fields(har["log"], ("log",)))
    assert len(places) > 20
    odd, without = HarBatch(), HarBatch()
    for place in places:
        found, expected = copy.deepcopy(har), copy.deepcopy(har)
        _parent(found, place)[place[-1]] = [1]
        del _parent(expected, place)[place[-1]]
        name = "/".join(map(str, place))
        odd.add(json.dumps(found).encode(), name, "0" * 64)
        without.add(json.dumps(expected).encode(), name, "0" * 64)
    of_odd, of_without = odd.tables(), without.tables()
    for table, rows in of_without.items():
        assert_frame_equal(of_odd[table], rows)


def _fields(value: Any, place: Place) -> Iterator[Place]:
    """Where objects of a HAR have a field, but for the lists of its entries and pages."""
    children = value.items() if isinstance(value, dict) else enumerate(value)
    for name, child in children:
        if isinstance(value, dict) and name not in {"entries", "pages"}:
            yield (*place, name)
        if isinstance(child, dict) or (isinstance(child, list) and any(isinstance(part, dict) for part in child)):
            yield from _fields(child, (*place, name))


def _parent(har: dict[str, Any], place: Place) -> Any:
    value: Any = har
    for name in place[:-1]:
        value = value[name]
    return value
