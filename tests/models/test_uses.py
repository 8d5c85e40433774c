"""Requests of pages and their uses: however their rows lie, and whatever of them never reached a server."""

from collections import Counter

import polars as pl
from example_study import request_row, tables_of
from hypothesis import given
from hypothesis import strategies as st

from originset.models.parts import parts
from originset.models.uses import MISDIRECTED, pages, visit_runs

ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "visit_id": st.sampled_from(["first", "second-with-a-long-id", "second-with-a-long-one", "third"]),
            "host": st.sampled_from([None, "", "a.test", "a-long-host-name.test", "another-long-one.test"]),
            "port": st.sampled_from([None, 0, 443, 8443]),
            "scheme": st.sampled_from(["https", "http", "wss", "data"]),
            "status": st.sampled_from([None, 200, MISDIRECTED]),
            "from_cache": st.sampled_from([None, False, True]),
            "connection_id": st.sampled_from([None, 0, 1, -1, 2**40]),
            "connection_source": st.sampled_from([None, "inferred", "netlog"]),
            "server_ip": st.sampled_from([None, "", "192.0.2.1", "2001:db8::a:long:address"]),
            "started_ms": st.sampled_from([None, 0.0, 5.0, 10.0]),
        }
    ),
    min_size=1,
    max_size=30,
)


def requests_of(rows):
    return [
        request_row(row["visit_id"], number, row["host"], row["server_ip"], row["connection_id"]) | row
        for number, row in enumerate(rows)
    ]


def reached(row):
    return (
        row["scheme"] in {"https", "http", "wss"}
        and not row["from_cache"]
        and (row["status"] is not None or row["connection_id"] is not None)
    )


def seen(found):
    """Each page's requests in their order, and of each use its first, how many it has and how many were refused."""
    visits = found.visits.to_list()
    requests = found.requests.select("page", "request_id").rows()
    rows = [(visits[page], request_id) for page, request_id in requests]
    of_uses = found.uses.select("first", "request_id", "requests", "refused").rows()
    uses = sorted((rows[first], *others) for first, *others in of_uses)
    # Numbers may differ; what they join must not.
    joined = [
        sorted(Counter(zip(numbers.tolist(), [place[0] for place in places], strict=True)).values())
        for numbers, places in (
            (found.connection, rows),
            (found.use, rows),
            (found.origin, [rows[first] for first in found.uses["first"]]),
        )
    ]
    return sorted(visits), sorted(rows, key=lambda row: row[0]), uses, joined


def by_hand(rows):
    some = [row for row in rows if reached(row)]
    key = ("visit_id", "connection_id", "scheme", "host", "port", "server_ip")
    uses = {}
    for row in some:
        certain = row["connection_source"] != "inferred"
        uses.setdefault((*(row[name] for name in key), certain), []).append(row)
    return sorted(
        (min(row["request_id"] for row in each), len(each), sum(row["status"] == MISDIRECTED for row in each))
        for each in uses.values()
    )


@given(rows=ROWS, split=st.integers(0, 30))
def test_uses_are_what_tells_requests_apart(rows, split) -> None:
    """By hand, with visits of which it is known how many rows they have, and with rows in two pieces and any order."""
    rows = requests_of(rows)
    visits = [{"visit_id": visit} for visit in dict.fromkeys(row["visit_id"] for row in rows)]
    tables = tables_of({"visits": visits, "requests": rows})
    found = pages(tables)
    uses = found.uses.select("request_id", "requests", "refused").rows()
    assert sorted(uses) == by_hand(rows)
    assert found.requests.height == sum(map(reached, rows))
    # In pieces, as from row groups: then equal texts lie in several places.
    whole = tables["requests"].collect()
    pieces = pl.concat([whole[:split], whole[split:]], rechunk=False).lazy()
    assert seen(pages({**tables, "requests": pieces})) == seen(found)
    together = sorted(rows, key=lambda row: row["visit_id"])
    for part in parts(tables_of({"visits": visits, "requests": together})):
        assert "request_runs" in part
        assert seen(pages(part)) == seen(found)


IDS = st.sampled_from([None, "a", "a-long-visit-id-1", "a-long-visit-id-2"])


@given(ids=st.lists(IDS, max_size=12), split=st.integers(0, 12))
def test_runs_of_visits_in_pieces(ids, split) -> None:
    texts = pl.Series(ids, dtype=pl.String)
    run, first = visit_runs(pl.concat([texts[:split], texts[split:]], rechunk=False))
    starts = [row for row in range(len(ids)) if row == 0 or ids[row] != ids[row - 1]]
    assert first.tolist() == starts
    assert run.tolist() == [sum(start <= row for start in starts) - 1 for row in range(len(ids))]
