"""The entries of a scenario's TOML file, with their types; the testbed's scenarios/*.toml explain every key.

What is not said has its default, and is not written. :mod:`originset.crawler.testbed.scenario_file` checks the values.
"""

from __future__ import annotations

import re
from typing import Literal, get_args

import msgspec

Protocol = Literal["h2", "http/1.1"]
Http3 = Literal["forced", "advertised"]
Implementation = Literal["python", "node"]
Rough = Literal["hangs", "crashes", "silent", "endless", "drops"]
Credentials = Literal["include", "same-origin", "omit"]
Kind = Literal[
    "page",
    "style",
    "script",
    "image",
    "font",
    "fetch",
    "iframe",
    "xhr",
    "worker",
    "websocket",
    "preconnect",
    "dns_prefetch",
    "prefetch",
    "preload",
    "link",
    "inline",
]
KINDS: tuple[Kind, ...] = get_args(Kind)[1:]  # what a page can load

#: Which resources can load which: a style sheet loads fonts and images, a script all that a page's script can.
CHILDREN: dict[Kind, tuple[Kind, ...]] = {
    "page": KINDS,
    "iframe": KINDS,
    "style": ("font", "image"),
    "script": ("script", "image", "fetch", "xhr"),
    "worker": ("image", "fetch"),
}

HOST_NAME = re.compile(r"(?=.{3,253}$)(?!-)[a-z0-9-]{1,63}(?<!-)(\.(?!-)[a-z0-9-]{1,63}(?<!-))+")
DNS_ADDRESS = "192.0.2.53"  # RFC 5737: no host of a scenario can want it
LONGEST_BODY = 1 << 28  # bodies are made in memory


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The base of all tables of the file."""


class CertificateEntry(Entry, frozen=True):
    names: list[str]
    expired: bool = False


class HttpsRecordEntry(Entry, frozen=True):
    alpn: list[str]
    port: int | None = None


class HostEntry(Entry, frozen=True):
    addresses: list[str]
    asn: int | None = None
    certificate: str | None = None
    protocol: Protocol = "h2"
    http3: Http3 | None = None
    https_record: HttpsRecordEntry | None = None
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
    alt_svc: str | None = None
    hsts: bool = False
    cookies: list[str] = []
    rough: Rough | None = None


class ResourceEntry(Entry, frozen=True):
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
    size: int | None = msgspec.field(name="bytes", default=None)
    wait_ms: int = 0
    credentials: Credentials | None = None
    crossorigin: bool | None = None
    after_ms: int | None = None
    status: int | None = None
    hangs: bool | None = None
    cached: bool | None = None
    loads: list[ResourceEntry] = []


class SiteEntry(Entry, frozen=True):
    opens: str | None = None
    lands_on: str | None = None
    size: int | None = msgspec.field(name="bytes", default=None)
    wait_ms: int = 0
    loads: list[ResourceEntry] | None = None


class ScenarioEntries(Entry, frozen=True, kw_only=True):
    """A whole file."""

    title: str = ""
    dns: str = DNS_ADDRESS
    missing: list[str] = []
    certificate: dict[str, CertificateEntry] = {}
    host: dict[str, HostEntry]
    site: dict[str, SiteEntry] = {}
