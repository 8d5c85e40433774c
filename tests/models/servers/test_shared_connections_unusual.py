"""What is unusual, or not understood, is never called safe or separate where a server may do otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab_lint import lab_folder, linted

from originset.crawler.testbed.server_lab.situation_text import situations
from originset.data.errors import UsageError
from originset.models.servers.configuration_files import ConfigurationFolder
from originset.models.servers.host_list import read_host_list
from originset.models.servers.shared_connections import shared_connections

SITUATIONS = {one.name: one.configuration for one in situations()}
WWW, STATIC = "www.lab.test", "static.lab.test"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return lab_folder(tmp_path_factory.mktemp("lab") / "files")


def verdict(server: str, text: str, folder: Path, opened_for: str = WWW, requested: str = STATIC) -> str:
    _, found = linted(server, text, folder)
    (one,) = [one for one in found if (one.opened_for, one.requested) == (opened_for, requested)]
    return one.verdict


def test_envoy_compares_whether_a_client_certificate_is_required(folder) -> None:
    one = SITUATIONS["envoy-client-certificate"]
    validation = "validation_context: {trusted_ca: {filename: client-ca.pem}}"
    asked = one.replace(f"            {validation}\n", "").replace(
        "alpn_protocols", f"{validation}\n            alpn_protocols"
    )
    assert asked.count(validation) == 2
    assert verdict("envoy", asked, folder) == "client certificate bypassed"


HAPROXY = """\
frontend all
    mode http
    bind :443 ssl crt all.pem alpn h2,http/1.1
    acl is_static hdr(host) -i static.lab.test
    acl below path_beg /
    {rule}
    default_backend www
backend www
backend static
"""


@pytest.mark.parametrize("condition", [
    "if { hdr_end(host) -i static.lab.test }", "if is_static below", "unless { hdr(host) www.lab.test }",
])  # fmt: skip
def test_a_haproxy_rule_that_is_not_understood_leaves_it_open_who_answers(condition: str, folder) -> None:
    rules = f"use_backend www if {{ ssl_fc_sni -i www.lab.test }}\n    use_backend static {condition}"
    assert verdict("haproxy", HAPROXY.format(rule=rules), folder) == "unknown"
    # The same rule alone, or before the other one, finds the same request on any connection.
    assert verdict("haproxy", HAPROXY.format(rule=f"use_backend static {condition}"), folder) == "safe"


ENVOY_TWO_CHAINS = SITUATIONS["envoy-two-chains-any-domain"]
CADDY_BYPASS = (
    "{\n\tservers {\n\t\tstrict_sni_host insecure_off\n\t}\n}\n%s {\n\ttls %s all.pem\n\trespond one\n}\n"
    "%s {\n\ttls %s all.pem {\n\t\tclient_auth {\n\t\t\tmode require_and_verify\n\t\t}\n\t}\n\trespond two\n}\n"
)
APACHE = """\
Listen 443
Protocols h2 http/1.1
SSLVHostSNIPolicy insecure
<VirtualHost *:443>
    {first}
    SSLEngine on
    SSLCertificateFile {certificate}
</VirtualHost>
<VirtualHost *:443>
    {second}
    SSLEngine on
    SSLCertificateFile all.pem
    SSLVerifyClient require
</VirtualHost>
"""


@pytest.mark.parametrize(("server", "text", "expected"), [
    ("envoy", ENVOY_TWO_CHAINS.replace(f"filter_chain_match: {{server_names: [{WWW}]}}", "name: any"), "wrong site"),
    ("caddy", CADDY_BYPASS % (":443", "all.pem", STATIC, "all.pem"), "client certificate bypassed"),
    ("apache", APACHE.format(first="", certificate="all.pem", second=f"ServerName {STATIC}"), "refused"),
])  # fmt: skip
def test_a_site_for_any_host_is_for_those_of_its_certificate(server: str, text: str, expected: str, folder) -> None:
    assert verdict(server, text, folder) == expected
    absent, _ = linted(server, text.replace("all.pem", "absent.pem"), folder)
    assert absent.not_understood


@pytest.mark.parametrize("file", ["absent.pem", "authority"])
def test_a_certificate_of_haproxy_that_cannot_be_read_is_not_understood(file: str, folder) -> None:
    found, verdicts = linted("haproxy", HAPROXY.format(rule="").replace("all.pem", f"www.pem crt {file}"), folder)
    assert [one.text for one in found.not_understood] == [f"crt {file} is no certificate that can be read"]
    assert "safe" not in {one.verdict for one in verdicts}


@pytest.mark.parametrize(("server", "text", "pattern", "expected"), [
    ("caddy", CADDY_BYPASS % (WWW, "all.pem", "*.lab.test", "wildcard.pem"), "*.lab.test",
     "client certificate bypassed"),
    ("apache", APACHE.format(first=f"ServerName {WWW}", certificate="all.pem", second="ServerAlias static.*"),
     "static.*", "refused"),
    ("apache", APACHE.format(first=f"ServerName {WWW}", certificate="all.pem", second="ServerAlias *"), "*",
     "refused"),
    ("apache", APACHE.format(first=f"ServerName {WWW}", certificate="www.pem", second="ServerAlias *"), "*",
     "separate"),
    ("apache", APACHE.format(first=f"ServerName {WWW}", certificate="wildcard.pem", second="ServerAlias s*.lab.test"),
     "s*.lab.test", "refused"),
])  # fmt: skip
def test_a_certificate_for_a_host_of_a_pattern(server: str, text: str, pattern: str, expected: str, folder) -> None:
    found, _ = linted(server, text, folder)
    verdicts = {one.requested: one.verdict for one in shared_connections(found) if one.opened_for == WWW}
    assert verdicts[pattern] == expected


def test_a_host_whose_handshakes_nginx_refuses_is_not_safe(folder) -> None:
    one = SITUATIONS["nginx-one-certificate"]
    refused = one.replace(f"server_name {STATIC};", f"server_name {STATIC}; ssl_reject_handshake on;")
    assert refused != one
    assert verdict("nginx", refused, folder) == "unknown"


@pytest.mark.parametrize("more", ["crl-file revoked.pem", "ca-verify-file other-ca.pem"])
def test_haproxy_compares_all_that_decides_on_client_certificates(more: str, folder) -> None:
    asked = "verify required ca-file client-ca.pem"
    (folder / "list.txt").write_text(f"all.pem [{asked}] {WWW}\nall.pem [{asked} {more}] {STATIC}\n")
    text = HAPROXY.format(rule="use_backend static if is_static").replace("crt all.pem", "crt-list list.txt")
    assert verdict("haproxy", text, folder) == "client certificate bypassed"


def test_any_of_several_certificates_of_haproxy_may_be_presented(folder) -> None:
    text = HAPROXY.format(rule="use_backend static if { ssl_fc_sni static.lab.test }")
    assert verdict("haproxy", text.replace("crt all.pem", "crt www.pem crt all.pem"), folder) == "wrong site"


@pytest.mark.parametrize("more", [
    "bind :443 ssl crt static.pem", "default_backend elsewhere\n    bind :8443 ssl crt other.pem",
])  # fmt: skip
def test_a_haproxy_frontend_beside_another_or_without_its_backend(more: str, folder) -> None:
    found, verdicts = linted("haproxy", HAPROXY.format(rule="") + f"frontend b\n    mode http\n    {more}\n", folder)
    assert len(found.not_understood) == 1
    assert {one.verdict for one in verdicts} <= {"unknown", "wrong site"}


@pytest.mark.parametrize("line", [
    "http-request allow if { path_beg / }", "http-request set-var(txn.host) str(www.lab.test)",
    "http-after-response set-status 200",
])  # fmt: skip
def test_another_line_of_haproxy_undoes_the_421(line: str, folder) -> None:
    one = SITUATIONS["haproxy-misdirected"]
    before = "http-request return status 421"
    assert verdict("haproxy", one, folder) == "421"
    found, _ = linted("haproxy", one.replace(before, f"{line}\n    {before}"), folder)
    assert found.not_understood


@pytest.mark.parametrize(("name", "old", "new"), [
    ("nginx-misdirected", "server_name www", "error_page 421 =200 /x; server_name www"),
    ("nginx-misdirected", "http {", "http { error_page 404 421 =200 /x;"),
    ("apache-strict", "Protocols", "ErrorDocument 421 https://www.lab.test/x\nProtocols"),
    ("apache-client-certificate", "    DocumentRoot www", "    DocumentRoot www\n    ErrorDocument 421 /x"),
    ("nginx-client-certificate", "server_name www", "error_page 421 =200 /x; server_name www"),
    ("caddy-strict-sni", "\trespond static", "\thandle_errors {\n\t\trespond static\n\t}"),
])  # fmt: skip
def test_a_421_that_becomes_another_answer(name: str, old: str, new: str, folder) -> None:
    server = name.partition("-")[0]
    assert old in SITUATIONS[name]
    assert verdict(server, SITUATIONS[name].replace(old, new), folder) == "unknown"


def test_caddy_serves_http3_whatever_alpn_says(folder) -> None:
    text = SITUATIONS["caddy-one-certificate"].replace(
        "tls all.pem all.pem", "tls all.pem all.pem {\n\t\talpn http/1.1\n\t}"
    )
    assert verdict("caddy", text, folder) == "safe"


def test_nginx_with_the_directive_ssl_is_not_understood(folder) -> None:
    found, _ = linted("nginx", SITUATIONS["nginx-one-certificate"].replace("http {", "http { ssl on;"), folder)
    assert found.not_understood


@pytest.mark.parametrize(("first", "second", "certificate", "expected"), [
    ("192.0.2.1", "192.0.2.1", "all.cert", "wrong site"),
    ("192.0.2.1", "192.0.2.1", "wildcard2026", "wrong site"),
    ("192.0.2.1", "::ffff:192.0.2.1", "a.test b.test", "wrong site"),
    ("10.0.0.1", "10.0.0.2", "a.test b.test", "unknown"),
    ("fe80::1", "fe80::2", "a.test b.test", "unknown"),
    ("::", "192.0.2.1", "a.test b.test", "unknown"),
    ("192.0.2.1", "192.0.2.2", "a.test b.test", "separate"),
])  # fmt: skip
def test_addresses_and_certificates_of_a_list(
    first: str, second: str, certificate: str, expected: str, tmp_path
) -> None:
    path = tmp_path / "hosts.csv"
    rows = [f"{host}.test,{address},{certificate},{host}" for host, address in (("a", first), ("b", second))]
    path.write_text("\n".join(["host,address,certificate,upstream", *rows]))
    found = shared_connections(read_host_list(path, ConfigurationFolder(tmp_path)))
    assert {one.verdict for one in found} == {expected}


@pytest.mark.promise("inputs-are-bounded")
def test_more_listeners_than_can_be_compared(tmp_path: Path) -> None:
    rows = [f"h{host}.test,192.0.2.{address},*.test,u" for host in range(100) for address in range(21)]
    path = tmp_path / "hosts.csv"
    path.write_text("\n".join(["host,address,certificate,upstream", *rows]))
    configuration = read_host_list(path, ConfigurationFolder(tmp_path))
    with pytest.raises(UsageError, match="the 100 hosts have too many listeners"):
        next(shared_connections(configuration))


def test_hosts_of_the_same_listeners_are_told_apart(tmp_path: Path) -> None:
    """Listeners are compared once for all hosts that have them, and what is said is about each pair."""
    path = tmp_path / "hosts.csv"
    names = {"a": "a.test b.test", "b": "b.test"}
    rows = [
        *(f"{host}.test,192.0.2.{address},{names[host]},{host}" for address in (1, 2) for host in names),
        "c.test,192.0.2.3,c.test,c",
    ]
    path.write_text("\n".join(["host,address,certificate,upstream", *rows]))
    found = shared_connections(read_host_list(path, ConfigurationFolder(tmp_path)))
    verdicts = {(one.opened_for.partition(".")[0], one.requested.partition(".")[0]): one.verdict for one in found}
    assert verdicts == {
        ("a", "b"): "wrong site",
        ("b", "a"): "separate",
        **dict.fromkeys([("a", "c"), ("b", "c"), ("c", "a"), ("c", "b")], "separate"),
    }
