"""The shape of a HAR, as far as originset reads it. :mod:`originset.analysis.har.decoding.har_decoder` decodes into it.

Only the fields named here are ever decoded; the parser skips bodies, cookies, headers and post data, which so
never reach a table. Every field has a default: no recorder writes all of them. Source: HAR 1.2, and the fields that
start with ``_`` as the recorders in :mod:`originset.analysis.har.recorders` write them.
"""

from __future__ import annotations

import msgspec

from originset.analysis.har.decoding.bounds import count_part
from originset.analysis.har.decoding.numbers import Milliseconds, Number, Place, Quantity


class HarStruct(msgspec.Struct, kw_only=True, gc=False, omit_defaults=True):
    """The base of all structs, which are never part of a reference cycle: the garbage collector does not track them."""


class CountedStruct(HarStruct):
    """An object that a file can have any number of. Decoding counts them, and stops if there are too many."""

    def __post_init__(self) -> None:
        count_part()


class Frame(HarStruct):
    url: str | None = None


class Frames(HarStruct, array_like=True):
    """The innermost four frames. The first nearly always has a URL; the parser skips the rest quickly."""

    first: Frame | None = None
    second: Frame | None = None
    third: Frame | None = None
    fourth: Frame | None = None


class Stack(HarStruct):
    frames: Frames | None = msgspec.field(name="callFrames", default=None)
    parent: Stack | None = None


class Initiator(HarStruct):
    """CDP's Network.Initiator, as DevTools and chrome-har-capturer write it."""

    url: str | None = None
    stack: Stack | None = None


class SecurityDetails(HarStruct):
    """CDP's Network.SecurityDetails; times in seconds since 1970."""

    protocol: str | None = None
    subject: str | None = msgspec.field(name="subjectName", default=None)
    issuer: str | None = None
    names: list[str] | None = msgspec.field(name="sanList", default=None)
    valid_from: Quantity | None = msgspec.field(name="validFrom", default=None)
    valid_to: Quantity | None = msgspec.field(name="validTo", default=None)


class Request(HarStruct):
    url: str | None = None
    method: str | None = None
    http_version: str | None = msgspec.field(name="httpVersion", default=None)


class Content(HarStruct):
    mime_type: str | None = msgspec.field(name="mimeType", default=None)


class Response(HarStruct):
    status: Quantity | None = None
    http_version: str | None = msgspec.field(name="httpVersion", default=None)
    content: Content | None = None
    redirect_url: str | None = msgspec.field(name="redirectURL", default=None)
    headers_size: Quantity | None = msgspec.field(name="headersSize", default=None)
    body_size: Quantity | None = msgspec.field(name="bodySize", default=None)
    transfer_size: Quantity | None = msgspec.field(name="_transferSize", default=None)
    error: str | None = msgspec.field(name="_error", default=None)
    # Playwright
    failure: str | None = msgspec.field(name="_failureText", default=None)
    service_worker: bool | None = msgspec.field(name="_fetchedViaServiceWorker", default=None)


class Timings(HarStruct):
    """The phases of an entry in milliseconds; -1 for a phase that it does not have."""

    blocked: Milliseconds | None = None
    dns: Milliseconds | None = None
    connect: Milliseconds | None = None
    ssl: Milliseconds | None = None
    send: Milliseconds | None = None
    wait: Milliseconds | None = None
    receive: Milliseconds | None = None


class CacheState(HarStruct):
    pass


class Cache(HarStruct):
    before: CacheState | None = msgspec.field(name="beforeRequest", default=None)


class DnsEndpoint(HarStruct):
    address: str | None = msgspec.field(name="endpoint_address", default=None)


class DnsResults(HarStruct):
    names: list[str] | None = msgspec.field(name="canonical_names", default=None)
    endpoints: list[DnsEndpoint] | None = msgspec.field(name="ip_endpoints", default=None)


class DnsTransaction(HarStruct):
    rtype: str | None = msgspec.field(name="dns_query_type", default=None)


class DnsInfo(HarStruct):
    """The lookup of an entry's host, which WebPageTest takes from Chrome's NetLog."""

    transactions: list[DnsTransaction] | None = msgspec.field(name="transactions_needed", default=None)
    results: DnsResults | None = None


class Entry(CountedStruct):
    page: str | None = msgspec.field(name="pageref", default=None)
    started: str | None = msgspec.field(name="startedDateTime", default=None)
    request: Request = msgspec.field(default_factory=Request)
    response: Response = msgspec.field(default_factory=Response)
    timings: Timings = msgspec.field(default_factory=Timings)
    cache: Cache | None = None
    server_ip: str | None = msgspec.field(name="serverIPAddress", default=None)
    connection: str | Number | None = None
    initiator: str | Initiator | None = msgspec.field(name="_initiator", default=None)
    initiator_index: Place | None = msgspec.field(name="_initiatorIndex", default=None)
    resource_type: str | None = msgspec.field(name="_resourceType", default=None)
    security: SecurityDetails | None = msgspec.field(name="_securityDetails", default=None)
    error: str | None = msgspec.field(name="_error", default=None)
    frame_url: str | None = msgspec.field(name="_frameUrl", default=None)
    transfer_size: Quantity | None = msgspec.field(name="_transferSize", default=None)
    from_cache: str | bool | None = msgspec.field(name="_fromCache", default=None)
    # chrome-har-capturer
    from_disk_cache: bool | None = msgspec.field(name="_fromDiskCache", default=None)
    # DevTools since 2023: `connection` is the port there, and this is the id.
    connection_id: str | Number | None = msgspec.field(name="_connectionId", default=None)
    # originset
    credentials: str | None = msgspec.field(name="_credentials", default=None)
    # Safari
    fetch_type: str | None = msgspec.field(name="_fetchType", default=None)
    # WebPageTest
    socket: Number | str | None = msgspec.field(name="_socket", default=None)
    ip_addr: str | None = msgspec.field(name="_ip_addr", default=None)
    protocol: str | None = msgspec.field(name="_protocol", default=None)
    request_type: str | None = msgspec.field(name="_request_type", default=None)
    certificates: list[str] | None = msgspec.field(name="_certificates", default=None)
    tls_version: str | None = msgspec.field(name="_tls_version", default=None)
    tls_resumed: str | bool | None = msgspec.field(name="_tls_resumed", default=None)
    dns_info: DnsInfo | None = msgspec.field(name="_dns_info", default=None)
    # From the page's start; 0 or -1 if there was none. Texts before 2020.
    load_start: Milliseconds | str | None = msgspec.field(name="_load_start", default=None)
    connect_start: Milliseconds | str | None = msgspec.field(name="_connect_start", default=None)
    connect_end: Milliseconds | str | None = msgspec.field(name="_connect_end", default=None)
    ssl_end: Milliseconds | str | None = msgspec.field(name="_ssl_end", default=None)


class PageTimings(HarStruct):
    on_load: Milliseconds | None = msgspec.field(name="onLoad", default=None)
    on_content_load: Milliseconds | None = msgspec.field(name="onContentLoad", default=None)


class Page(CountedStruct):
    id: str | None = None
    started: str | None = msgspec.field(name="startedDateTime", default=None)
    title: str | None = None
    timings: PageTimings = msgspec.field(name="pageTimings", default_factory=PageTimings)
    # chrome-har and WebPageTest
    url: str | None = msgspec.field(name="_url", default=None)
    address: str | None = msgspec.field(name="_URL", default=None)
    browser: str | None = msgspec.field(name="_browser_name", default=None)
    browser_version: str | None = msgspec.field(name="_browser_version", default=None)


class Program(HarStruct):
    name: str | None = None
    version: str | None = None
    comment: str | None = None


class Log(HarStruct):
    entries: list[Entry]
    pages: list[Page] | None = None
    creator: Program | None = None
    browser: Program | None = None
    extension: msgspec.Raw | None = msgspec.field(name="_originset", default=None)


class Har(HarStruct):
    log: Log
