"""Which failures of a page may pass by themselves, and what each is called."""

import pytest

from originset.crawler.failures import error_kind, may_pass, port_is_closed


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("net::ERR_NAME_NOT_RESOLVED", "dns"),
        ("net::ERR_DNS_TIMED_OUT", "dns"),
        ("net::ERR_CONNECTION_REFUSED", "connect"),
        ("net::ERR_CONNECTION_TIMED_OUT", "connect"),
        ("net::ERR_ADDRESS_UNREACHABLE", "connect"),
        ("net::ERR_NETWORK_CHANGED", "connect"),
        ("net::ERR_CERT_DATE_INVALID", "tls"),
        ("net::ERR_SSL_PROTOCOL_ERROR", "tls"),
        ("net::ERR_TIMED_OUT", "timeout"),
        ("net::ERR_EMPTY_RESPONSE", "empty"),
        ("net::ERR_TOO_MANY_REDIRECTS", "redirect_loop"),
        ("net::ERR_HTTP2_PROTOCOL_ERROR", "http"),
        ("net::ERR_INVALID_HTTP_RESPONSE", "http"),
        ("net::ERR_UNSAFE_PORT", "blocked"),
        ("net::ERR_BLOCKED_BY_CLIENT", "blocked"),
        ("net::ERR_NETWORK_ACCESS_DENIED", "private"),
        ("NS_ERROR_SOCKET_ADDRESS_NOT_SUPPORTED", "private"),
        ("net::ERR_ABORTED", "aborted"),
        ("net::ERR_OUT_OF_MEMORY", "other"),
        ("", "other"),
    ],
)
def test_kinds(code: str, kind: str) -> None:
    assert error_kind(code) == kind


def test_only_what_may_pass_is_tried_again() -> None:
    assert {kind for kind in ("timeout", "crash", "hang", "connect", "dns", "tls", "http", None) if may_pass(kind)} == {
        "timeout",
        "crash",
        "hang",
        "connect",
    }
    codes = ["HTTP 404", "HTTP 403", "HTTP 429", "HTTP 503", "net::ERR_NAME_NOT_RESOLVED", "net::ERR_DNS_TIMED_OUT"]
    assert [code for code in codes if may_pass("http", code)] == ["HTTP 429", "HTTP 503", "net::ERR_DNS_TIMED_OUT"]
    assert may_pass("empty", "net::ERR_EMPTY_RESPONSE")
    assert not may_pass("empty", "net::ERR_ABORTED"), "204 says that there is nothing"
    assert port_is_closed("connect")
    assert not port_is_closed("private"), "nor is what was refused asked for by http, or once more"
    assert not may_pass("private")
    assert not port_is_closed("tls"), "somebody answers for https: http would be another page"
    assert not port_is_closed(None)
