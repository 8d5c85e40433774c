"""DevTools' events of a page load, as far as a HAR needs them; unknown fields are passed over.

Names and meanings: the Chrome DevTools Protocol, domains Network and Page. Times are its monotonic seconds.
"""

from __future__ import annotations

from typing import Any

import msgspec


class DevToolsStruct(msgspec.Struct, rename="camel", gc=False):
    """The base of all structs here. DevTools spells its fields in camel case."""


class ResourceTiming(DevToolsStruct):
    """Network.ResourceTiming: ``request_time`` in s, the others in ms from it, -1 where a phase did not happen."""

    request_time: float
    dns_start: float = -1
    dns_end: float = -1
    connect_start: float = -1
    connect_end: float = -1
    ssl_start: float = -1
    ssl_end: float = -1
    send_start: float = -1
    send_end: float = -1
    receive_headers_end: float = -1


class Response(DevToolsStruct):
    """Network.Response."""

    url: str = ""
    status: int = 0
    status_text: str = ""
    headers: dict[str, str] = {}
    mime_type: str = ""
    connection_id: float = 0
    connection_reused: bool = False
    remote_ip_address: str | None = msgspec.field(name="remoteIPAddress", default=None)
    remote_port: int | None = None
    from_disk_cache: bool = False
    from_service_worker: bool = False
    from_prefetch_cache: bool = False
    encoded_data_length: float = 0
    timing: ResourceTiming | None = None
    protocol: str | None = None
    security_details: dict[str, Any] | None = None


class Request(DevToolsStruct):
    """Network.Request."""

    url: str
    method: str = ""
    headers: dict[str, str] = {}
    initial_priority: str | None = None


class Initiator(DevToolsStruct):
    """Network.Initiator."""

    type: str = "other"
    url: str | None = None
    request_id: str | None = None
    stack: dict[str, Any] | None = None


class RequestWillBeSent(DevToolsStruct):
    """Network.requestWillBeSent."""

    request_id: str
    request: Request
    timestamp: float
    wall_time: float = 0
    loader_id: str = ""
    document_url: str = msgspec.field(name="documentURL", default="")
    initiator: Initiator = msgspec.field(default_factory=Initiator)
    redirect_response: Response | None = None
    type: str | None = None
    frame_id: str | None = None


class ResponseReceived(DevToolsStruct):
    """Network.responseReceived."""

    request_id: str
    timestamp: float
    response: Response
    type: str | None = None


class LoadingFinished(DevToolsStruct):
    """Network.loadingFinished."""

    request_id: str
    timestamp: float
    encoded_data_length: float = 0


class LoadingFailed(DevToolsStruct):
    """Network.loadingFailed."""

    request_id: str
    timestamp: float
    error_text: str = ""
    canceled: bool = False
    blocked_reason: str | None = None
    type: str | None = None


class RequestServedFromCache(DevToolsStruct):
    """Network.requestServedFromCache."""

    request_id: str


class WebSocketCreated(DevToolsStruct):
    """Network.webSocketCreated."""

    request_id: str
    url: str
    initiator: Initiator = msgspec.field(default_factory=Initiator)


class WebSocketHandshake(DevToolsStruct):
    """Network.webSocketWillSendHandshakeRequest and Network.webSocketHandshakeResponseReceived."""

    request_id: str
    timestamp: float
    wall_time: float = 0
    request: dict[str, Any] = {}
    response: dict[str, Any] = {}


class WebSocketFrameError(DevToolsStruct):
    """Network.webSocketFrameError."""

    request_id: str
    timestamp: float
    error_message: str = ""


class LifecycleEvent(DevToolsStruct):
    """Page.lifecycleEvent."""

    frame_id: str
    loader_id: str
    name: str
    timestamp: float


class FrameAttached(DevToolsStruct):
    """Page.frameAttached."""

    frame_id: str
    parent_frame_id: str
