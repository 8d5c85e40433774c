"""Which servers can send ORIGIN frames, since when, by what source, and what helps with those that cannot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from originset.data.errors import UsageError

BY_ADDRESS = (
    "what helps there: give the hosts a common address and a certificate that covers them, and answer 421 for hosts "
    "that it does not serve; Chromium and Firefox then coalesce by address (RFC 9113 section 9.1.1)"
)


@dataclass(frozen=True, slots=True)
class Capability:
    """One server: whether it can send ORIGIN frames over HTTP/2 (RFC 8336), as far as ``source`` shows."""

    title: str
    sends: Literal["yes", "no", "unknown"]
    source: str
    since: str | None = None
    instead: str = BY_ADDRESS


CAPABILITIES: dict[str, Capability] = {
    "node": Capability("Node.js http2", "yes", "nodejs/node#22956", since="10.12.0"),
    "h2o": Capability("h2o", "yes", "h2o/h2o#1199", since="2.3.0-beta2"),
    "list": Capability("a plain list of origins", "yes", "RFC 8336 section 2.1"),
    "raw": Capability("the frame's bytes, for HTTP/2", "yes", "RFC 8336 section 2.1"),
    "raw-h3": Capability("the payload's bytes, for HTTP/3", "yes", "RFC 9412 section 2"),
    "apache": Capability("Apache httpd (mod_http2)", "no", "icing/mod_h2#96, open since 2016"),
    "caddy": Capability("Caddy", "no", "Caddy serves with Go's net/http; golang/go#55121, closed"),
    "envoy": Capability("Envoy", "unknown", "no issue, pull request or documented option mentions it"),
    "go": Capability("Go net/http", "no", "golang/go#55121, closed; Go 1.26 http2 knows frame types 0x0 to 0x9"),
    "haproxy": Capability("HAProxy", "no", "enum h2_ft in its h2.h has frame types 0x0 to 0x9, others are ignored"),
    "hyper": Capability("hyper (Rust h2)", "no", "hyperium/h2#632, open since 2022"),
    "hypercorn": Capability("Hypercorn", "no", "Python h2 4.4 has no call for it"),
    "jetty": Capability("Jetty", "no", "Jetty 12.1 FrameType has no ORIGIN"),
    "litespeed": Capability(
        "LiteSpeed and OpenLiteSpeed",
        "unknown",
        "OpenLiteSpeed's src/spdy/h2protocol.h has frame types 0x0 to 0x9; LiteSpeed's source is not public",
    ),
    "netty": Capability("Netty", "no", "Netty 4.2 Http2FrameTypes has 0x0 to 0x9"),
    "nghttpx": Capability("nghttpx and nghttpd", "no", "nghttp2/nghttp2#1428; only libnghttp2 can, since nghttp2#1177"),
    "nginx": Capability("nginx", "no", "src/http/v2/ngx_http_v2.h knows frame types 0x0 to 0x9"),
    "tomcat": Capability("Apache Tomcat", "no", "Tomcat 11 FrameType has no ORIGIN"),
    "trafficserver": Capability("Apache Traffic Server", "no", "Http2FrameType in proxy/http2/HTTP2.h has 0x0 to 0x9"),
    "undertow": Capability("Undertow", "no", "Undertow 2.4 Http2Channel knows frame types 0x0 to 0x9"),
}

#: Libraries of HTTP/3, by name: whether a server made with one can send ORIGIN frames (RFC 9412), since which version,
#: and by what source of which day.
HTTP3_LIBRARIES: dict[str, tuple[str, str]] = {
    "nghttp3 (with ngtcp2)": (
        "yes, since 1.11.0: `nghttp3_settings.origin_list`",
        "ngtcp2/nghttp3#365, merged 2025-06-03; ngtcp2's example server: ngtcp2/ngtcp2#1663",
    ),
    "aioquic": ("no", "1.7.2 has no call for it"),
    "neqo": ("no", "mozilla/neqo#3103, 2025-11-03"),
    "quiche": (
        "no",
        "h3/frame.rs has no type 0xc, and the API sends no frames of other types (cloudflare/quiche#1715, 2024-01-19)",
    ),
    "xquic": ("no", "alibaba/xquic#831, open since 2026-07-09"),
}


def require_sender(name: str) -> None:
    """Refuse a server that cannot send ORIGIN frames, or is not known to.

    Raises:
        UsageError: with the source and what helps there instead.
    """
    capability = CAPABILITIES[name]
    if capability.sends == "no":
        raise UsageError(f"{capability.title} cannot send ORIGIN frames ({capability.source})", capability.instead)
    if capability.sends == "unknown":
        raise UsageError(
            f"{capability.title} is not known to send ORIGIN frames ({capability.source})", capability.instead
        )
