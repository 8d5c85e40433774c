"""The tables of a scenario's TOML text as they are written, before anything is checked but types and keys."""

from __future__ import annotations

from typing import Literal

import msgspec

from originset.crawler.testbed.scenario import Credentials, Http3, Implementation, Protocol, Rough

DNS_ADDRESS = "192.0.2.53"  # RFC 5737: no host of a scenario can want it


class Raw(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The base of what stands in the file."""


class RawCertificate(Raw, frozen=True):
    names: list[str]
    expired: bool = False


class RawHttpsRecord(Raw, frozen=True):
    alpn: list[str]
    port: int | None = None


class RawHost(Raw, frozen=True):
    addresses: list[str]
    asn: int | None = None
    certificate: str | None = None
    protocol: Protocol = "h2"
    origin_set: list[str] | None = None
    origin_verbatim: list[str] = []
    origin_added: list[str] = []
    origin_delay_ms: int = 0
    implementation: Implementation = "python"
    alias: str | None = None
    own_connection: bool = False
    redirect: str | None = None
    delay_ms: int = 0
    refuses: bool = False
    unknown: bool = False
    external: bool = False
    http3: Http3 | None = None
    https_record: RawHttpsRecord | None = None
    alt_svc: str | None = None
    hsts: bool = False
    cookies: list[str] = []
    rough: Rough | None = None


class RawResource(Raw, frozen=True):
    style: str | None = None
    script: str | None = None
    image: str | None = None
    font: str | None = None
    fetch: str | None = None
    iframe: str | None = None
    xhr: str | None = None
    worker: str | None = None
    websocket: str | None = None
    preconnect: str | None = None
    dns_prefetch: str | None = None
    prefetch: str | None = None
    preload: str | None = None
    link: str | None = None
    inline: Literal["data:", "blob:"] | None = None
    hinted: Literal["style", "script", "image", "font"] | None = msgspec.field(name="as", default=None)
    crossorigin: bool | None = None
    credentials: Credentials | None = None
    after_ms: int | None = None
    status: int | None = None
    hangs: bool | None = None
    cached: bool | None = None
    size: int | None = msgspec.field(name="bytes", default=None)
    wait_ms: int = 0
    loads: list[RawResource] = []


class RawSite(Raw, frozen=True):
    opens: str | None = None
    lands_on: str | None = None
    size: int = msgspec.field(name="bytes", default=0)
    wait_ms: int = 0
    loads: list[RawResource] | None = None


class RawScenario(Raw, frozen=True):
    host: dict[str, object]
    certificate: dict[str, object] = {}
    site: dict[str, object] = {}
    missing: list[str] = []
    title: str = ""
    dns: str = DNS_ADDRESS
