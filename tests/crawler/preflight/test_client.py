"""ORIGIN frames found in a connection's bytes, however these arrive."""

from hypothesis import given
from hypothesis import strategies as st

from originset.crawler import origin_frame
from originset.crawler.preflight.client import OriginFrames

SETTINGS = bytes.fromhex("000006040000000000000100001000")


@given(
    payloads=st.lists(st.binary(max_size=40), max_size=4),
    cuts=st.lists(st.integers(1, 30), min_size=1, max_size=50),
)
def test_frames_are_found_however_the_bytes_are_cut(payloads: list[bytes], cuts: list[int]) -> None:
    data = SETTINGS + b"".join(SETTINGS + origin_frame.frame(payload) for payload in payloads) + SETTINGS
    frames = OriginFrames()
    while data:
        size = cuts[len(data) % len(cuts)]
        frames.feed(data[:size])
        data = data[size:]
    assert frames.payloads == payloads
    assert frames.longest == max(map(len, payloads), default=0)


def test_frames_of_other_streams_and_with_flags_are_ignored() -> None:
    frame = bytearray(origin_frame.frame(b"\0\x01x"))
    frame[8] = 1
    frames = OriginFrames()
    frames.feed(bytes(frame))
    frame[8], frame[4] = 0, 1
    frames.feed(bytes(frame))
    assert frames.payloads == []
    frame[4] = 0x10  # only the first four flags are reserved (RFC 8336 section 2.2)
    frames.feed(bytes(frame))
    assert frames.payloads == [b"\0\x01x"]
