"""Which origins a live server promises: open an HTTP/2 connection and read its ORIGIN frames (RFC 8336)."""

from __future__ import annotations

import contextlib
import socket
import ssl

import h2.config
import h2.connection
import h2.events
import h2.exceptions
from hyperframe.frame import ExtensionFrame

from originset.crawler import origin_frame
from originset.data.errors import ProbeError


def read_origin_set(
    address: str,
    port: int,
    server_name: str,
    context: ssl.SSLContext | None = None,
    timeout_s: float = 10.0,
) -> list[str] | None:
    """The origins of the ORIGIN frames that a server sends before its answer to a ping, or None if it sends none.

    The server at ``address`` is asked for ``server_name``. ``context`` says whom to trust (default: the system's
    authorities). A server that sends the frame with its SETTINGS, as all known ones do, sends it before that answer.

    Raises ``ProbeError`` where there is no connection, no trust, or no HTTP/2.
    """
    context = context or ssl.create_default_context()
    context.set_alpn_protocols(["h2"])
    try:
        with (
            socket.create_connection((address, port), timeout_s) as plain,
            context.wrap_socket(plain, server_hostname=server_name) as tls,
        ):
            if tls.selected_alpn_protocol() != "h2":
                raise ProbeError(server_name, address, port, "does not speak HTTP/2")
            return _read(tls)
    except (OSError, h2.exceptions.ProtocolError) as error:
        raise ProbeError(server_name, address, port, str(error) or type(error).__name__) from error


def _read(tls: ssl.SSLSocket) -> list[str] | None:
    connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
    connection.initiate_connection()
    connection.ping(b"originse")
    tls.sendall(connection.data_to_send())
    origins: list[str] | None = None
    while True:
        data = tls.recv(65_536)
        if not data:
            raise ConnectionResetError("closed the connection before it answered")
        for event in connection.receive_data(data):
            if isinstance(event, h2.events.UnknownFrameReceived) and isinstance(event.frame, ExtensionFrame):
                if _is_origin_frame(event.frame):
                    origins = [*(origins or []), *origin_frame.decode(event.frame.body)]
            elif isinstance(event, h2.events.PingAckReceived):
                connection.close_connection()
                with contextlib.suppress(OSError):
                    tls.sendall(connection.data_to_send())
                return origins
        tls.sendall(connection.data_to_send())


def _is_origin_frame(frame: ExtensionFrame) -> bool:
    """RFC 8336 section 2.2: on another stream, or with one of the first four flags, it is to be ignored."""
    return frame.type == origin_frame.TYPE and frame.stream_id == 0 and not frame.flag_byte & 0x0F
