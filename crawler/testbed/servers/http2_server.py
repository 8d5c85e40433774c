"""HTTP/2 on one of the testbed's connections, with ORIGIN frames if the host sends them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions

from originset.crawler.probe import origin_frame
from originset.crawler.testbed.announced_origins import OriginAnnouncement
from originset.crawler.testbed.servers.responses import (
    CONNECTION_DROPPED,
    ENDLESS_PAUSE_S,
    Answer,
    Answers,
    Arrival,
    joined_fields,
)


async def serve_http2(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    arrival: Arrival,
    answers: Answers,
    promise: OriginAnnouncement,
) -> None:
    """Answer requests, each as soon as it can be, until the client closes.

    ORIGIN frames go out right after our SETTINGS unless they are to be late, so that a client knows the set before any
    answer.
    """
    connection = _Http2(writer, arrival, answers)
    connection.open(promise)
    try:
        while data := await reader.read(65_536):
            connection.receive(data)
            await writer.drain()
    finally:
        connection.cancel()


class _Http2:
    def __init__(self, writer: asyncio.StreamWriter, arrival: Arrival, answers: Answers) -> None:
        self._h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding=None))
        self._writer = writer
        self._arrival = arrival
        self._answers = answers
        self._window_opened = asyncio.Event()
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._late: asyncio.TimerHandle | None = None

    def open(self, promise: OriginAnnouncement) -> None:
        self._h2.initiate_connection()
        frames = b"".join(map(origin_frame.frame, promise.payloads))
        if promise.delay_s:
            self._late = asyncio.get_running_loop().call_later(promise.delay_s, self._writer.write, frames)
            frames = b""
        self._writer.write(self._h2.data_to_send() + frames)

    def cancel(self) -> None:
        if self._late is not None:
            self._late.cancel()
        for task in self._tasks.values():
            task.cancel()

    def receive(self, data: bytes) -> None:
        try:
            events = self._h2.receive_data(data)
        except h2.exceptions.ProtocolError:
            self._writer.write(self._h2.data_to_send())  # h2 has put a GOAWAY there
            self._writer.close()
            return
        for event in events:
            if isinstance(event, h2.events.RequestReceived):
                self._start(event.stream_id, event.headers)
            elif isinstance(event, h2.events.DataReceived) and event.flow_controlled_length:
                self._h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, h2.events.WindowUpdated | h2.events.RemoteSettingsChanged):
                self._window_opened.set()
            elif isinstance(event, h2.events.StreamReset) and (running := self._tasks.get(event.stream_id)):
                running.cancel()
        self._writer.write(self._h2.data_to_send())

    def _start(self, stream: int, fields: Iterable[tuple[bytes, bytes]]) -> None:
        task = asyncio.create_task(self._respond(stream, joined_fields(fields)))
        self._tasks[stream] = task
        task.add_done_callback(lambda _: self._tasks.pop(stream, None))

    async def _respond(self, stream: int, headers: dict[str, str]) -> None:
        answer = await self._answers.answer(
            self._arrival,
            headers.get(":method", ""),
            headers.get(":path", ""),
            headers,
        )
        if answer.status == CONNECTION_DROPPED:
            self._writer.transport.abort()
            return
        try:
            await self._send(stream, answer)
        except h2.exceptions.ProtocolError:
            return  # the stream or the connection was closed while we answered

    async def _send(self, stream: int, answer: Answer) -> None:
        self._h2.send_headers(stream, [(":status", str(answer.status)), *answer.headers], end_stream=not answer.body)
        await self._send_body(stream, answer.body, last=not answer.endless)
        while answer.endless:
            await asyncio.sleep(ENDLESS_PAUSE_S)
            await self._send_body(stream, answer.body, last=False)

    async def _send_body(self, stream: int, rest: bytes, *, last: bool) -> None:
        while rest:
            room = min(self._h2.local_flow_control_window(stream), self._h2.max_outbound_frame_size)
            if room <= 0:
                self._window_opened.clear()
                self._writer.write(self._h2.data_to_send())
                await self._window_opened.wait()
                continue
            part, rest = rest[:room], rest[room:]
            self._h2.send_data(stream, part, end_stream=last and not rest)
        self._writer.write(self._h2.data_to_send())
