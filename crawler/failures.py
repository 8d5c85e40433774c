"""What kind of failure a visit's error code is.

Kinds: dns, connect, tls (its code names the certificate's fault), timeout, http (its code has the status), challenge,
empty, redirect_loop, blocked (by the browser), private (refused: an address that is not public), download, aborted,
crash, hang, memory (the browser took too much), oversized (the page asked for more than is recorded, or made its
browser send a message that is too long), robots (not asked), other.
"""

from __future__ import annotations

import re
from typing import Literal

ErrorKind = Literal[
    "dns", "connect", "tls", "timeout", "http", "challenge", "empty", "redirect_loop", "blocked", "private", "download",
    "aborted", "crash", "hang", "memory", "oversized", "robots", "other",
]  # fmt: skip

# The first rule that matches decides. Names: net/base/net_error_list.h.
_RULES: tuple[tuple[ErrorKind, str], ...] = (
    ("dns", r"NAME_NOT_RESOLVED|NAME_RESOLUTION_FAILED|DNS_.*|ICANN_NAME_COLLISION|HOST_RESOLVER_.*"),
    ("private", r"NETWORK_ACCESS_DENIED"),  # what filtering_process.py makes of it; nothing else does on Linux
    ("redirect_loop", r"TOO_MANY_REDIRECTS"),
    ("empty", r"EMPTY_RESPONSE"),
    ("tls", r"CERT_.*|SSL_.*|BAD_SSL_.*|ECH_.*|TLS13_.*|CERTIFICATE_.*|QUIC_CERT_.*|CT_.*"),
    (
        "connect",
        (
            r"CONNECTION_.*|ADDRESS_.*|INTERNET_DISCONNECTED|NETWORK_(?:CHANGED|IO_SUSPENDED)|SOCKET_.*"
            r"|PROXY_.*|TUNNEL_.*|SOCKS_.*|NO_SUPPORTED_PROXIES"
        ),
    ),
    ("timeout", r"TIMED_OUT"),
    (
        "blocked",
        r"BLOCKED_.*|UNSAFE_.*|DISALLOWED_URL_SCHEME|UNKNOWN_URL_SCHEME|INVALID_URL|.*_BLOCKED|ACCESS_DENIED|CLEARTEXT_.*",
    ),
    (
        "http",
        (
            r"INVALID_(?:RESPONSE|HTTP_RESPONSE|CHUNKED_ENCODING|REDIRECT)|HTTP2_.*|HTTP_.*|QUIC_.*|RESPONSE_.*|CONTENT_.*"
            r"|INCOMPLETE_.*|METHOD_NOT_SUPPORTED|UNEXPECTED"
        ),
    ),
    ("aborted", r"ABORTED"),
)
# Firefox's names: xpcom/base/ErrorList.py, and those of NSS.
_FIREFOX_RULES: tuple[tuple[ErrorKind, str], ...] = (
    ("dns", r"NS_ERROR_UNKNOWN_HOST|NS_ERROR_DNS_LOOKUP_.*"),
    ("private", r"NS_ERROR_SOCKET_ADDRESS_NOT_SUPPORTED"),  # as above
    ("redirect_loop", r"NS_ERROR_REDIRECT_LOOP"),
    ("tls", r"SEC_ERROR_.*|SSL_ERROR_.*|MOZILLA_PKIX_ERROR_.*"),
    ("timeout", r"NS_ERROR_NET_TIMEOUT.*"),
    ("empty", r"NS_ERROR_NET_(?:EMPTY_RESPONSE|INTERRUPT|RESET)"),
    ("connect", r"NS_ERROR_(?:CONNECTION_REFUSED|OFFLINE|PROXY_.*|PORT_ACCESS_NOT_ALLOWED)"),
    ("blocked", r"NS_ERROR_(?:BLOCKED_.*|UNKNOWN_PROTOCOL|MALFORMED_URI)"),
    ("http", r"NS_ERROR_(?:NET_HTTP2_.*|NET_PARTIAL_TRANSFER|CORRUPTED_CONTENT|INVALID_CONTENT_ENCODING)"),
    ("aborted", r"NS_BINDING_.*|NS_ERROR_ABORT"),
)
_COMPILED = (
    *((kind, re.compile(rf"net::ERR_(?:{pattern})")) for kind, pattern in _RULES),
    *((kind, re.compile(pattern)) for kind, pattern in _FIREFOX_RULES),
)

# What another attempt may not meet again.
PASSING = frozenset({"timeout", "crash", "hang", "connect"})

# RFC 9110 section 15.6, RFC 6585 section 4: not now; a resolver that did not answer; a connection that ended (a page
# that is empty on purpose has another code).
_PASSING_CODES = frozenset(
    {"HTTP 429", "HTTP 502", "HTTP 503", "HTTP 504", "net::ERR_DNS_TIMED_OUT", "net::ERR_EMPTY_RESPONSE"}
)


def error_kind(code: str) -> ErrorKind:
    """The kind of a code such as ``net::ERR_NAME_NOT_RESOLVED`` or Firefox's ``NS_ERROR_UNKNOWN_HOST``."""
    return next((kind for kind, pattern in _COMPILED if pattern.fullmatch(code)), "other")


def may_pass(kind: str | None, code: str | None = None) -> bool:
    """Whether a failure of this kind and code is worth another attempt."""
    return kind in PASSING or code in _PASSING_CODES


def port_is_closed(kind: str | None) -> bool:
    """Whether nothing could be reached at the address, so that its http:// form may still answer."""
    return kind == "connect"
