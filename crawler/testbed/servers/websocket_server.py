"""WebSockets (RFC 6455) on the testbed's HTTP/1.1 connections: every message is logged and sent back."""

from __future__ import annotations

import asyncio
import time

import h11
import wsproto
import wsproto.events
from wsproto.connection import ConnectionState
from wsproto.utilities import ProtocolError

from originset.crawler.testbed.server_logs import WebSocketMessage
from originset.crawler.testbed.servers.responses import Answers, Arrival


def is_upgrade(request: h11.Request) -> bool:
    """Whether a request asks for its connection to become a WebSocket."""
    headers = {name: value.lower() for name, value in request.headers}
    return headers.get(b"upgrade") == b"websocket" and b"upgrade" in headers.get(b"connection", b"")


async def serve_websocket(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    request: h11.Request,
    arrival: Arrival,
    answers: Answers,
) -> None:
    """Accept a request that asked for a WebSocket and send its messages back, until either side closes."""
    connection = wsproto.WSConnection(wsproto.ConnectionType.SERVER)
    connection.initiate_upgrade_connection(list(request.headers), request.target)
    try:
        while True:
            for event in connection.events():
                if isinstance(event, wsproto.events.Request):
                    reply: wsproto.events.Event = wsproto.events.AcceptConnection()
                elif isinstance(event, wsproto.events.Message):
                    length = len(event.data)
                    answers.log.write(WebSocketMessage(time=time.time(), connection=arrival.connection, length=length))
                    reply = type(event)(data=event.data, message_finished=event.message_finished)
                elif isinstance(event, wsproto.events.CloseConnection | wsproto.events.Ping):
                    reply = event.response()
                else:
                    continue
                writer.write(connection.send(reply))
            await writer.drain()
            if connection.state is ConnectionState.CLOSED:
                return  # RFC 6455 section 7.1.1: the server is to close the connection first
            data = await reader.read(65_536)
            if not data:
                return
            connection.receive_data(data)
    except ProtocolError:
        return  # not a WebSocket's: nothing that we could answer
