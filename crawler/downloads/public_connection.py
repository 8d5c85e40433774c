"""HTTP for what strangers' names and redirects lead to: public addresses alone, within bounds of time and bytes."""

from __future__ import annotations

import errno
import http.client
import io
import socket
import time
import urllib.request
from functools import partial
from typing import IO, Any

from originset.data.reference.special_purpose import is_public

# Of one answer, with its header. Whoever wants more of a body, or less, reads so much of it.
_MOST_BYTES = 1 << 20


def connect_to_public(
    place: tuple[str, int], timeout: float, *, ends: float = float("inf"), allow_private: bool = False
) -> socket.socket:
    """A connection to the first public address of a host, at a port, that takes it; no other is tried.

    ``timeout``: seconds for each address; ``ends``: when to give up all of them, of ``time.monotonic``.
    ``allow_private``: addresses that are not public are tried too.

    Raises:
        OSError: none does, or the host has none.
    """
    problem = OSError(errno.EACCES, "not a public address")
    _seconds_left(ends, timeout)
    for family, kind, protocol, _, address in socket.getaddrinfo(*place, type=socket.SOCK_STREAM):
        if not (allow_private or is_public(str(address[0]))):
            continue
        connection = socket.socket(family, kind, protocol)
        try:
            connection.settimeout(_seconds_left(ends, timeout))
            connection.connect(address)
            connection.settimeout(_seconds_left(ends, timeout))  # for the handshake that may follow
        except OSError as error:
            connection.close()
            problem = error
        else:
            return connection
    raise problem


def url_opener(*, allow_private: bool, seconds: float) -> urllib.request.OpenerDirector:
    """What opens http and https URLs for so many seconds from now, redirects and the reading of the answer included.

    Lookups come on top: the system's resolver has limits of its own, and no lookup begins after the time is up.
    Redirects to other schemes are not followed: each would need a handler that knows what is public.
    ``allow_private``: addresses that are not public are contacted too.
    """
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.UnknownHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        ClosingRedirectHandler(),
        urllib.request.HTTPErrorProcessor(),
        _Handler(time.monotonic() + seconds, allow_private=allow_private),
    ):
        opener.add_handler(handler)
    return opener


class ClosingRedirectHandler(urllib.request.HTTPRedirectHandler):
    """Follows redirects as urllib does, which leaves the answer open where one leads to what is no URL."""

    def http_error_302(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: http.client.HTTPMessage
    ) -> object:
        """Raises ``ValueError`` where the redirect leads to no URL."""
        try:
            return super().http_error_302(req, fp, code, msg, headers)
        except ValueError:
            fp.close()
            raise

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302


class _Handler(urllib.request.HTTPHandler, urllib.request.HTTPSHandler):
    def __init__(self, ends: float, *, allow_private: bool) -> None:
        super().__init__()
        self._bounds: dict[str, Any] = {"ends": ends, "allow_private": allow_private}

    def http_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(partial(_Http, **self._bounds), request)

    def https_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(partial(_Https, **self._bounds), request)


class _Http(http.client.HTTPConnection):
    def __init__(self, host: str, *, ends: float, allow_private: bool, **named: Any) -> None:  # noqa: ANN401 - the base's
        super().__init__(host, **named)
        _limit(self, ends, allow_private=allow_private)


class _Https(http.client.HTTPSConnection):
    def __init__(self, host: str, *, ends: float, allow_private: bool, **named: Any) -> None:  # noqa: ANN401 - the base's
        super().__init__(host, **named)
        _limit(self, ends, allow_private=allow_private)


def _limit(connection: http.client.HTTPConnection, ends: float, *, allow_private: bool) -> None:
    def connect(place: tuple[str, int], timeout: float, _source: object) -> socket.socket:
        return connect_to_public(place, timeout, ends=ends, allow_private=allow_private)

    # With these it connects, also where it then asks a proxy for a tunnel, and reads answers. The first is private to
    # http.client, which has no public way to connect otherwise.
    vars(connection).update(_create_connection=connect, response_class=partial(_Response, ends))


class _Response(http.client.HTTPResponse):
    def __init__(self, ends: float, connection: socket.socket, *rest: Any, **named: Any) -> None:  # noqa: ANN401 - the base's
        super().__init__(connection, *rest, **named)
        self.fp = io.BufferedReader(_BoundedReader(self.fp.detach(), connection, ends))


class _BoundedReader(io.RawIOBase):
    """What comes over a connection until its time or its bytes are used up, which is an ``OSError``."""

    def __init__(self, reader: io.RawIOBase, connection: socket.socket, ends: float) -> None:
        self._reader = reader
        self._connection = connection
        self._step_s = connection.gettimeout()
        self._ends = ends
        self._rest = _MOST_BYTES

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:  # noqa: ANN401 - the base's
        if self._rest <= 0:
            raise OSError(errno.EFBIG, f"an answer of more than {_MOST_BYTES} bytes")
        self._connection.settimeout(_seconds_left(self._ends, self._step_s or float("inf")))
        count: int | None = self._reader.readinto(buffer)
        self._rest -= count or 0
        return count

    def close(self) -> None:
        self._reader.close()
        super().close()


def _seconds_left(ends: float, most: float) -> float:
    if (left := ends - time.monotonic()) <= 0:
        raise TimeoutError("no time is left")
    return min(left, most)
