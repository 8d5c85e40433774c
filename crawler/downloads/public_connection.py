"""HTTP for what strangers' names and redirects lead to: it connects to public addresses alone."""

from __future__ import annotations

import errno
import http.client
import socket
import urllib.request

from originset.data.reference.special_purpose import is_public


def connect_to_public(place: tuple[str, int], timeout: float | None) -> socket.socket:
    """A connection to the first public address of a host, at a port, that takes it; no other is tried.

    Raises:
        OSError: none does, or the host has none.
    """
    problem = OSError(errno.EACCES, "not a public address")
    for family, kind, protocol, _, address in socket.getaddrinfo(*place, type=socket.SOCK_STREAM):
        if not is_public(str(address[0])):
            continue
        connection = socket.socket(family, kind, protocol)
        try:
            connection.settimeout(timeout)
            connection.connect(address)
        except OSError as error:
            connection.close()
            problem = error
        else:
            return connection
    raise problem


class _PublicHttp(http.client.HTTPConnection):
    def connect(self) -> None:
        self.sock = connect_to_public((self.host, self.port), self.timeout)


class _PublicHttps(http.client.HTTPSConnection, _PublicHttp):
    """HTTPS connects as the class after it does, and then shakes hands."""


class _Handler(urllib.request.HTTPHandler, urllib.request.HTTPSHandler):
    def http_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_PublicHttp, request)

    def https_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_PublicHttps, request)


def url_opener(*, allow_private: bool) -> urllib.request.OpenerDirector:
    """What opens URLs, redirects included; to addresses that are not public only with ``allow_private``."""
    return urllib.request.build_opener(*([] if allow_private else [_Handler()]))
