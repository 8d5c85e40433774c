"""HTTP/1.1 on one of the testbed's connections."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import h11

from originset.crawler.testbed.servers.responses import (
    CONNECTION_DROPPED,
    ENDLESS_PAUSE_S,
    Answers,
    Arrival,
    joined_fields,
)
from originset.crawler.testbed.servers.websocket_server import is_upgrade, serve_websocket


async def serve_http1(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, arrival: Arrival, answers: Answers
) -> None:
    """Answer requests one after the other until either side closes or they make a WebSocket of the connection."""
    connection = h11.Connection(h11.SERVER)
    try:
        while True:
            request = await _next_request(connection, reader)
            if request is None:
                return
            headers = joined_fields(request.headers)
            target = request.target.decode("latin-1")
            upgrade = is_upgrade(request) and answers.is_websocket(headers.get("host", ""), target)
            now = replace(arrival, protocol="websocket") if upgrade else arrival
            answer = await answers.answer(now, request.method.decode("latin-1"), target, headers)
            if answer.status == 101:
                await serve_websocket(reader, writer, request, arrival, answers)
                return
            if answer.status == CONNECTION_DROPPED:
                writer.transport.abort()
                return
            response = h11.Response(status_code=answer.status, headers=answer.headers)
            while answer.endless:
                writer.write((connection.send(response) or b"") if connection.our_state is h11.SEND_RESPONSE else b"")
                writer.write(connection.send(h11.Data(data=answer.body)) or b"")
                await writer.drain()
                await asyncio.sleep(ENDLESS_PAUSE_S)
            for event in (response, h11.Data(data=answer.body), h11.EndOfMessage()):
                writer.write(connection.send(event) or b"")
            await writer.drain()
            if connection.our_state is not h11.DONE:
                return
            connection.start_next_cycle()
    except h11.ProtocolError:
        return  # not HTTP/1.1: nothing that we could answer


async def _next_request(connection: h11.Connection, reader: asyncio.StreamReader) -> h11.Request | None:
    """The next request, its body read and dropped; None where the client has closed."""
    request: h11.Request | None = None
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            connection.receive_data(await reader.read(65_536))
        elif isinstance(event, h11.Request):
            request = event
        elif isinstance(event, h11.EndOfMessage):
            return request
        elif event is h11.PAUSED or isinstance(event, h11.ConnectionClosed):
            return None
