"""Payloads of HTTP Archive's tables: entries and pages."""

import msgspec
import pytest

from originset.analysis.har.decoding.har_decoder import decode_payload
from originset.analysis.har.decoding.structs import Entry, Page


def test_a_payload_is_an_entry_if_it_has_a_request():
    entry = decode_payload(b'{"request": {"url": "https://a.test/"}, "_socket": 7}')
    assert isinstance(entry, Entry)
    assert (entry.request.url, entry.socket) == ("https://a.test/", 7)
    nothing_known = decode_payload(b'{"request": null, "_socket": 7}')
    assert isinstance(nothing_known, Entry)
    assert (nothing_known.request.url, nothing_known.socket) == (None, 7)
    page = decode_payload(b'{"_URL": "https://a.test/", "id": {}, "nested": {"request": {}}}')
    assert isinstance(page, Page)
    assert (page.address, page.id) == ("https://a.test/", None)
    assert decode_payload(b'[{"request": {}}]') is None


def test_a_text_that_nobody_reads_may_be_no_utf8():
    entry = decode_payload(b'{"request": {"url": "https://a.test/", "postData": "\xff"}}')
    assert isinstance(entry, Entry)
    assert entry.request.url == "https://a.test/"


def test_a_payload_that_is_no_json_is_an_error():
    with pytest.raises(msgspec.DecodeError):
        decode_payload(b'{"request": {}')
