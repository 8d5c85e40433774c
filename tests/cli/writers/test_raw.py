"""Bytes that an independent parser takes for one ORIGIN frame with the planned origins."""

import hyperframe.frame

from originset.cli.writers import raw
from originset.cli.writers.origin_set import choose


def entries(payload: bytes) -> list[str]:
    found = []
    while payload:
        size = int.from_bytes(payload[:2], "big")
        found.append(payload[2 : 2 + size].decode("ascii"))
        payload = payload[2 + size :]
    return found


def test_hostile_plans_give_one_frame_with_their_origins(hostile_plans) -> None:
    for plan, origins in hostile_plans:
        chosen, _ = choose(plan, None)
        written = raw.frame(chosen)
        frame, length = hyperframe.frame.Frame.parse_frame_header(memoryview(written[:9]))
        assert (frame.type, frame.stream_id, frame.flag_byte, length) == (12, 0, 0, len(written) - 9)
        assert written[9:] == raw.payload(chosen)
        assert entries(written[9:]) == origins
