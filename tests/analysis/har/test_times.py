"""Time stamps: the moment that a text means, whatever its recorder's habits."""

from datetime import UTC, datetime, timedelta, timezone

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from originset.analysis.har.times import EARLIEST, LATEST, parse_timestamp, parse_timestamps

_MOMENTS = st.datetimes(min_value=datetime(1990, 1, 2), max_value=datetime(2199, 12, 30))  # noqa: DTZ001 - zones are added
_OFFSETS = st.integers(-14 * 60, 14 * 60)


@given(_MOMENTS, _OFFSETS, st.booleans(), st.sampled_from("T "))
def test_a_time_stamp_is_read_as_the_moment_it_means(moment, minutes, colon, separator):
    zone = timezone(timedelta(minutes=minutes))
    text = moment.replace(tzinfo=zone).isoformat(separator, "microseconds")
    if not colon:
        text = text[:-3] + text[-2:]
    expected = moment.replace(tzinfo=zone).astimezone(UTC)
    assert parse_timestamp(text) == expected
    assert parse_timestamps(pl.Series([text])).to_list() == [expected.replace(tzinfo=None)]


@given(st.one_of(st.text(max_size=40), st.from_regex(r"[0-9T:.,Z+-]{4,40}")))
def test_any_text_is_a_moment_in_range_or_none_and_columns_agree_that_it_is_none(text):
    moment = parse_timestamp(text)
    assert moment is None or EARLIEST <= moment < LATEST
    column = parse_timestamps(pl.Series([text], dtype=pl.String))[0]
    if moment is not None:
        assert column == moment.replace(tzinfo=None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2016-05-29T05:24:16.140-08:00", "2016-05-29T13:24:16.140"),
        ("2016-05-29T05:24:16.140+0530", "2016-05-28T23:54:16.140"),
        ("2021-11-23T17:34:45.081234567Z", "2021-11-23T17:34:45.081234"),
        ("2021-11-23T17:34:45", "2021-11-23T17:34:45"),
        ("1637688885081", "2021-11-23T17:34:45.081"),
        ("1969-12-31T23:59:59.999Z", None),
        ("2024-02-30T00:00:00Z", None),
        ("2024-02-28T00:00:00+99:00", None),
        ("+03:002021-11-23T17:34:45.08", None),
        ("", None),
    ],
)
def test_time_stamps_of_recorders(text, expected):
    moment = None if expected is None else datetime.fromisoformat(expected)
    assert parse_timestamps(pl.Series([text, None])).to_list() == [moment, None]
