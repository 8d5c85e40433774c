"""Who is answered by ``serve``: a browser on this machine whose user was given the URL with the token."""

from __future__ import annotations

import secrets

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# `same-origin` and not `no-referrer`, with which browsers send `Origin: null` with a form (Fetch, section 3.2).
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}


class Guard:
    """An application that is reached below ``/TOKEN/`` alone, under one name, and by forms of its own pages.

    The token is a part of the path because a cookie of 127.0.0.1 is sent to every port, those of other users' servers
    among them (RFC 6265, section 8.5). A page elsewhere does not know it, and the checks of ``Host`` (DNS rebinding)
    and ``Origin`` (forms of other sites) hold for one that does. ``authority``: what ``Host`` has to be, such as
    ``127.0.0.1:8000``.
    """

    def __init__(self, application: ASGIApp, authority: str, token: str) -> None:
        self._application = application
        self._authority = authority
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, with headers that keep the page from being read, framed or sniffed."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        below = {**scope, "path": f"/{scope['path'][1:].partition('/')[2]}"}
        await (self._refusal(scope) or self._application)(below, receive, send_with_headers)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if headers.getlist("host") != [self._authority]:
            return PlainTextResponse("This server has another name.", 421)
        first, slash, _ = scope["path"][1:].partition("/")
        if not slash or not secrets.compare_digest(first.encode(), self._token):
            return PlainTextResponse("There is nothing here. The URL that originset serve printed has a token.", 404)
        if scope["method"] not in ("GET", "HEAD") and headers.getlist("origin") != [f"http://{self._authority}"]:
            return PlainTextResponse("This form is not of a page of this server.", 403)
        return None
