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

_HARS = Path(__file__).resolve().parents[3] / "fixtures" / "hars"
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


_NUMBERS = [
    *(("timings", name) for name in ("blocked", "dns", "connect", "ssl", "send", "wait", "receive")),
    *(("response", name) for name in ("status", "headersSize", "bodySize", "_transferSize")),
    *(("_securityDetails", name) for name in ("validFrom", "validTo")),
    *(("pageTimings", name) for name in ("onLoad", "onContentLoad")),
]
# As texts of JSON: not all can be made of Python's numbers.
_NO_NUMBERS = ["1e400", "-1e400", "Infinity", "-Infinity", "NaN", '"NaN"', '"inf"', "1e300", "-1e300", "1" + "0" * 5000]


@pytest.mark.parametrize("recorder", ["chrome-har", "WebPagetest", "originset", "other"])
def test_no_number_that_is_not_finite_or_beyond_all_measure_is_read(recorder):
    details = {"subjectName": "a.test", "issuer": "b", "validFrom": 1, "validTo": 2, "sanList": ["a.test"]}
    given = entry("https://a.test/", connection="1", _socket=1, _securityDetails=details)
    har = har_of(given, creator=recorder, pages=[{"id": "page_1", "startedDateTime": given["startedDateTime"]}])
    odd, without = HarBatch(), HarBatch()
    for part, name in _NUMBERS:
        place = copy.deepcopy(har)
        (log,) = place.values()
        holder = log["pages"][0] if part == "pageTimings" else log["entries"][0]
        holder.setdefault(part, {}).pop(name, None)
        for value in _NO_NUMBERS:
            source = f"{part}.{name}={value[:20]}"
            without.add(json.dumps(place).encode(), source, "0" * 64)
            holder[part][name] = "HERE"
            odd.add(json.dumps(place).replace('"HERE"', value).encode(), source, "0" * 64)
            del holder[part][name]
    of_odd, of_without = odd.tables(), without.tables()
    for table, rows in of_without.items():
        assert_frame_equal(of_odd[table], rows)
