"""HARs cut at every byte: what is kept is what was whole."""

import json

from hypothesis import given
from hypothesis import strategies as st

from originset.analysis.har.decoding.truncated import whole_entries
from originset.analysis.har.tables import decode_whole_entries

ENTRIES = [{"request": {"url": f'https://{n}.test/\\"}}]'}, "x": [1, {"entries": [{}]}]} for n in range(3)]
TEXT = json.dumps({"log": {"pages": [{"id": "entries"}], "entries": ENTRIES, "comment": "]}"}}).encode()


def test_every_cut():
    begin = TEXT.index(json.dumps(ENTRIES[0]).encode())
    ends = [TEXT.index(json.dumps(entry).encode()) + len(json.dumps(entry)) for entry in ENTRIES]
    for cut in range(len(TEXT)):
        found = whole_entries(TEXT[:cut])
        expected = [end for end in ends if end <= cut]
        if not expected:
            assert found is None
            continue
        assert found is not None
        whole, end = found
        assert end == expected[-1]
        log = json.loads(whole)["log"]
        assert log["entries"] == ENTRIES[: len(expected)]
        assert log["pages"] == [{"id": "entries"}]
    assert begin < ends[0]


def test_entries_elsewhere_are_not_the_logs():
    assert whole_entries(b'{"log": {"x": {"entries": [{"a": 1}, {"b"') is None
    assert whole_entries(b'{"entries": [{"a": 1}, {"b"') is None
    assert whole_entries(b'{"log": {"entries": {"a": {"b": 1}, "c"') is None


def test_brackets_without_end():
    assert whole_entries(b"[" * 100_000) is None


@given(st.binary(max_size=200))
def test_anything(text):
    whole_entries(text)


def test_a_number_that_is_too_large_does_not_hide_that_a_file_was_cut_off():
    text = b'{"log": {"entries": [{"timings": {"wait": 1e400}}, {"timings": {"wait": 2}}, {"timings": {"wa'
    log, lost = decode_whole_entries(text, "x.har")
    assert [entry.timings.wait for entry in log.entries] == [None, 2]
    assert lost is not None
    assert lost.reason == "truncated"
