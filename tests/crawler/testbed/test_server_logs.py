"""Logs of the testbed's servers, read while they are written."""

from __future__ import annotations

from pathlib import Path

from originset.crawler.testbed.server_logs import ServerLog, WebSocketMessage, log_path, read_records


def test_a_record_that_is_being_written_is_not_there_yet(tmp_path: Path) -> None:
    log = ServerLog(tmp_path)
    messages = [WebSocketMessage(time=float(number), connection=number, length=9) for number in range(2)]
    for message in messages:
        log.write(message)
    path = log_path(tmp_path, WebSocketMessage)
    whole = path.read_bytes()
    for cut in range(len(whole) + 1):
        path.write_bytes(whole[:cut])
        assert read_records(tmp_path, WebSocketMessage) == messages[: whole[:cut].count(b"\n")]
