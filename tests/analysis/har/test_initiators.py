"""What asked for an entry, as CDP's Network.Initiator tells it."""

import json
from typing import Any

import pytest

from originset.analysis.har.decoding.har_decoder import decode
from originset.analysis.har.decoding.structs import Initiator
from originset.analysis.har.initiators import initiator_url


def frames(*urls: str | None) -> dict[str, Any]:
    return {"callFrames": [{"functionName": "url", "scriptId": "1", "url": url, "lineNumber": 1} for url in urls]}


CASES = [
    ({"type": "other"}, None),
    ({"type": "parser", "url": "https://a.test/", "lineNumber": 3}, "https://a.test/"),
    ({"type": "script", "stack": frames("https://a.test/1.js", "https://a.test/2.js")}, "https://a.test/1.js"),
    (
        {"type": "script", "stack": frames("", None, "https://a.test/3.js", "https://a.test/4.js")},
        "https://a.test/3.js",
    ),
    ({"type": "script", "stack": frames(*["", "", "", "https://a.test/4.js"], *["x"] * 50)}, "https://a.test/4.js"),
    ({"type": "script", "stack": {**frames(""), "parent": frames("https://a.test/p.js")}}, "https://a.test/p.js"),
    ({"type": "script", "stack": {"parent": {"parent": frames("https://a.test/g.js")}}}, "https://a.test/g.js"),
    ({"type": "script", "stack": {**frames(), "parent": None}}, None),
    ({"type": "script", "stack": None}, None),
]


@pytest.mark.parametrize("odd", [{}, {"_priority": 1, "serverIPAddress": 5}], ids=["as it should be", "leniently"])
@pytest.mark.parametrize(("told", "expected"), CASES)
def test_the_innermost_script_that_has_an_address_asked(told, expected, odd):
    har = {"log": {"entries": [{"_initiator": told, **odd}]}}
    initiator = decode(json.dumps(har).encode(), "x.har").entries[0].initiator
    assert isinstance(initiator, Initiator)
    assert initiator_url(initiator) == expected
