"""Lookups that WebPageTest tells of, from payloads as HTTP Archive documents them."""

import json
from typing import Any

from originset.analysis.har.tables import HarBatch


def lookup(host: str, info: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "startedDateTime": "2024-07-12T12:44:30.448119",
        "request": {"url": f"https://{host}/"},
        "response": {"status": 200},
        "timings": {"blocked": 172, "dns": 182},
        "_dns_info": info,
    }


def rows(*entries: dict[str, Any]) -> list[tuple[Any, ...]]:
    batch = HarBatch()
    text = json.dumps({"log": {"creator": {"name": "WebPagetest"}, "entries": entries}}).encode()
    batch.add(text, "x.har", "0" * 64)
    found = batch.tables()["dns_queries"]
    return found.select("lookup_id", "host", "rtype", "status", "answers", "cname_chain", "source", "asked_ms").rows()


def test_answers_aliases_and_types():
    info = {
        "transactions_needed": [{"dns_query_type": "A"}, {"dns_query_type": "HTTPS"}],
        "results": {
            "aliases": ["a.test"],
            "canonical_names": ["A.cdn.test", "a.test"],
            "ip_endpoints": [
                {"endpoint_address": "192.0.2.1", "endpoint_port": 0},
                {"endpoint_address": "2001:DB8::1"},
                {"endpoint_address": "none"},
            ],
        },
    }
    assert rows(lookup("a.test", info), lookup("a.test", info), lookup("b.test", None)) == [
        (0, "a.test", "A", "NOERROR", ["192.0.2.1"], ["a.cdn.test"], "browser", 172.0),
        (0, "a.test", "HTTPS", None, None, ["a.cdn.test"], "browser", 172.0),
        (0, "a.test", "AAAA", "NOERROR", ["2001:db8::1"], ["a.cdn.test"], "browser", 172.0),
    ]


def test_what_is_not_known_stays_unknown():
    assert rows(lookup("a.test", {})) == []
    assert rows(lookup("192.0.2.7", {"transactions_needed": [{"dns_query_type": "A"}]})) == []
    assert rows(lookup("a.test", {"transactions_needed": [{"dns_query_type": "A"}]})) == [
        (0, "a.test", "A", None, None, None, "browser", 172.0)
    ]
