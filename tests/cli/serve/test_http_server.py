"""The server's log holds faults and fills no disk; connections whose clients do nothing end."""

from __future__ import annotations

import logging
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from served_pages import BOUNDARY, TOKEN, Served, served

from originset.cli.serve import application, http_server


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Served]:
    """A server that waits for nobody."""
    monkeypatch.setattr(http_server, "_SECONDS_OF_CLIENTS", 0.5)
    monkeypatch.setattr(application, "_SECONDS_TO_ARRIVE", 0.5)
    with served(tmp_path) as running:
        yield running


def connected(running: Served) -> socket.socket:
    host, _, port = running.authority.partition(":")
    return socket.create_connection((host, int(port)), timeout=60)


def is_ended(client: socket.socket) -> bool:
    """Whether the server ends the connection, within the client's patience."""
    try:
        while client.recv(1 << 16):
            pass
    except ConnectionError:
        pass
    return True


def test_a_fault_is_logged_without_controls(
    pages: Served, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> str:
        raise ValueError("\x1b[2J\u202e")

    monkeypatch.setattr(application, "explain_files", fail)
    monkeypatch.setattr(logging.getLogger("uvicorn").handlers[0], "stream", sys.stderr)
    assert pages.upload(("page.har", b"{}")).status == 500
    assert pages.ask(f"/{TOKEN}/").status == 200
    said = capsys.readouterr().err
    assert "ValueError: \\x1b[2J\\u202e" in said
    assert "\x1b" not in said


@pytest.mark.promise("serve-has-deadlines")
def test_whoever_has_no_token_fills_no_log(
    pages: Served, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(logging.getLogger("uvicorn").handlers[0], "stream", sys.stderr)
    monkeypatch.setattr(http_server, "_MOST_FAULTS", 3)
    head = f"POST / HTTP/1.1\r\nHost: {pages.authority}\r\n".encode()
    bodies = (b"Transfer-Encoding: chunked\r\n\r\nno length\r\n", b"Upgrade: websocket\r\nConnection: upgrade\r\n\r\n")
    for request in (b"\r\x00no request\r\n\r\n", *(head + body for body in bodies)):
        for _ in range(4):
            with connected(pages) as client:
                client.sendall(request)
                client.shutdown(socket.SHUT_WR)
                assert is_ended(client)
    said = capsys.readouterr().err
    assert "Invalid HTTP request" not in said
    assert "upgrade" not in said
    assert said.count("Traceback") <= 3 * 2, "a fault has its cause before it"
    assert pages.ask(f"/{TOKEN}/").status == 200


@pytest.mark.promise("serve-has-deadlines")
@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET / HTTP/1.1\r\nHost:",
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET",
        b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n",
    ],
)
def test_a_client_that_says_no_more(hurried: Served, sent: bytes) -> None:
    with connected(hurried) as client:
        client.sendall(sent)
        assert is_ended(client)


@pytest.mark.promise("serve-has-deadlines")
def test_an_upload_that_does_not_arrive(hurried: Served) -> None:
    head = f"POST /{TOKEN}/explain HTTP/1.1\r\nHost: {hurried.authority}\r\nOrigin: http://{hurried.authority}\r\n"
    kind = f"Content-Type: multipart/form-data; boundary={BOUNDARY}\r\nContent-Length: 99\r\n\r\n"
    with connected(hurried) as client:
        client.sendall((head + kind).encode())
        assert b"did not arrive within" in client.makefile("rb").read()
    assert list(hurried.folder.iterdir()) == []


@pytest.mark.promise("serve-has-deadlines")
def test_more_connections_than_any_browser_has(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(http_server, "_MOST_CONNECTIONS", 2)
    with served(tmp_path) as running, ExitStack() as clients:
        held = [clients.enter_context(connected(running)) for _ in range(4)]
        for client in held:
            client.sendall(b"GET")  # each is there before the next
        with connected(running) as client:
            assert is_ended(client), "beyond the bound"
        held[0].sendall(b" / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert held[0].recv(12) == b"HTTP/1.1 503"
