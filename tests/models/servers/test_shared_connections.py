"""The linter's verdicts are what real servers did with the same configurations."""

from __future__ import annotations

import pytest
from lab_lint import READERS, contradiction, lab_folder, linted, linted_text

from originset.crawler.testbed.server_lab.situation_text import situations
from originset.models.servers.configuration_files import ConfigurationFolder
from originset.models.servers.host_list import read_host_list
from originset.models.servers.listeners import Answer, Configuration, Endpoint, Handshake, Place
from originset.models.servers.shared_connections import PlannedSets, shared_connections

SITUATIONS = {one.name: one for one in situations() if linted_text(one)[0] in READERS}
# What is handed on to the server behind, which may go by it.
HANDS_ON_SERVER_NAME = {"haproxy-varnish-by-server-name", "nginx-proxy-by-server-name"}
VERDICTS = {
    "apache-client-certificate": "421",
    "apache-client-certificate-insecure": "refused",
    "apache-one-certificate": "safe",
    "apache-strict-error-document": "unknown",
    "apache-two-certificates-insecure": "safe",
    "caddy-client-certificate-insecure": "client certificate bypassed",
    "caddy-one-certificate": "safe",
    "caddy-snippet": "safe",
    "caddy-strict-sni": "421",
    "envoy-client-certificate": "client certificate bypassed",
    "envoy-http3-one-chain": "safe",
    "envoy-http3-two-chains": "404",
    "envoy-misdirected": "421",
    "envoy-one-chain": "safe",
    "envoy-two-chains": "404",
    "envoy-two-chains-any-domain": "wrong site",
    "haproxy-by-server-name": "wrong site",
    "haproxy-client-certificate": "client certificate bypassed",
    "haproxy-first-label": "safe",
    "haproxy-misdirected": "421",
    "haproxy-one-certificate": "safe",
    "haproxy-own-address": "unknown",
    "haproxy-tls-passthrough": "wrong site",
    "haproxy-varnish": "safe",
    "haproxy-varnish-by-server-name": "unknown",
    "nghttpx-by-host": "safe",
    "nghttpx-by-server-name": "wrong site",
    "nginx-client-certificate": "421",
    "nginx-misdirected": "421",
    "nginx-misdirected-error-page": "unknown",
    "nginx-one-certificate": "safe",
    "nginx-proxy-by-server-name": "unknown",
    "nginx-two-addresses": "separate",
    "node-by-server-name": "wrong site",
    "trafficserver-client-certificate-insecure": "client certificate bypassed",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return lab_folder(tmp_path_factory.mktemp("lab") / "files")


@pytest.mark.parametrize("name", SITUATIONS)
def test_every_verdict_is_what_the_server_did(name: str, folder) -> None:
    situation = SITUATIONS[name]
    found, verdicts = linted(*linted_text(situation), folder)
    assert bool(found.not_understood) == (name in HANDS_ON_SERVER_NAME)
    assert [text for one in verdicts if (text := contradiction(one, situation))] == []


@pytest.mark.parametrize("name", VERDICTS)
def test_static_on_a_connection_for_www(name: str, folder) -> None:
    _, verdicts = linted(*linted_text(SITUATIONS[name]), folder)
    (found,) = [one for one in verdicts if one.opened_for.startswith("www") and one.requested.startswith("static")]
    assert found.verdict == VERDICTS[name]


@pytest.mark.parametrize("server", sorted(READERS.keys() - {"list"}))
def test_a_certificate_apart_makes_every_pair_separate(server: str, folder) -> None:
    """The change that is proposed wherever a server cannot answer 421."""
    one = next(each for each in SITUATIONS.values() if each.server == server and "all.pem" in each.configuration)
    _, verdicts = linted(server, one.configuration.replace("all.pem", "www.pem"), folder)
    assert {each.verdict for each in verdicts if each.requested.startswith("static")} == {"separate"}


@pytest.mark.promise("lint-stays-inside")
@pytest.mark.parametrize(
    ("server", "line"),
    [
        ("nginx", "http { include /etc/passwd; }"),
        ("nginx", "http { include ../outside.conf; }"),
        ("nginx", "http { lua_shared_dict x 1m; }"),
        ("nginx", "http { map $ssl_server_name $site { default 1; } }"),
        ("nginx", "http { server { listen 443 ssl; server_name ~^www; } }"),
        ("nginx", "stream { server { listen 8443; } }"),
        ("apache", "Include ../*.conf"),
        ("apache", "UnheardOf on"),
        ("apache", "RewriteCond %{SSL:SSL_TLS_SNI} www"),
        ("haproxy", "    unheard-of on"),
        ("haproxy", "    use_backend static if { ssl_fc_sni_end lab.test }"),
        ("haproxy", "    http-request lua.service"),
        ("haproxy", "frontend x\n    use_backend %[ssl_fc_sni]"),
        ("haproxy", "frontend x\n    use_backend %[ssl_fc_sni,lower] if { hdr(host) www.lab.test }"),
        ("haproxy", 'frontend x\n    use_backend "$SITE"'),
        ("haproxy", "global\n    crt-base certificates"),
        ("apache", "<IfModule mod_x.c>\nSSLVHostSNIPolicy insecure\n</IfModule>"),
        ("caddy", "import ../outside"),
        ("caddy", "(snippet) {\n\timport x\n}\na.lab.test {\n\timport snippet\n}"),
        ("caddy", "(snippet) {\n\theader x {args[0]}\n}\na.lab.test {\n\timport snippet\n}"),
        ("caddy", "(snippet) {\n\theader x y\n}\na.lab.test {\n\timport snippet {tls_client_subject}\n}"),
        ("caddy", "(snippet) {\n\theader x {http.request.tls.server_name}\n}\na.lab.test {\n\timport snippet\n}"),
        ("apache", "SetEnvIf OID(2.5.4.3) www x=1"),
        ("apache", "Header set x ${APACHE_X}"),
        ("apache", "<IfDefine X>\nSSLVHostSNIPolicy insecure\n</IfDefine>"),
        ("nginx", "http { server { listen 443 ssl; proxy_set_header x $ssl_protocol; } }"),
        ("nginx", 'http { server { listen 443 ssl; more_set_headers "x: $ssl_server_name"; } }'),
        ("caddy", "a.lab.test {\n\tunheard-of\n}"),
        ("caddy", "a.lab.test {\n\theader x {http.request.tls.server_name}\n}"),
        ("envoy", "dynamic_resources: {}"),
    ],
)
def test_nothing_is_safe_beside_what_is_not_understood(server: str, line: str, folder) -> None:
    one = SITUATIONS[f"{server}-one-{'chain' if server == 'envoy' else 'certificate'}"]
    (folder.parent / "outside.conf").write_text("")
    found, verdicts = linted(server, one.configuration + line + "\n", folder)
    assert found.not_understood
    assert str(found.not_understood[0].place).startswith("linted.conf:")
    assert {each.verdict for each in verdicts}.isdisjoint({"safe", "separate"})


OWN_ADDRESS = """\
frontend all
    mode http
    bind :443 ssl crt all.pem alpn h2
    use_backend www if { hdr(host) www.lab.test }
    default_backend static
frontend own
    mode http
    bind 192.0.2.1:443 ssl crt wildcard.pem alpn h2
    use_backend www if { FETCH www.lab.test }
    default_backend static
backend www
backend static
"""


@pytest.mark.parametrize(("fetch", "expected"), [("hdr(host)", "safe"), ("ssl_fc_sni", "unknown")])
def test_a_host_at_all_addresses_and_at_its_own(fetch: str, expected: str, folder) -> None:
    """At its own address another rule may decide, and DNS may lead the other host there, too."""
    _, found = linted("haproxy", OWN_ADDRESS.replace("FETCH", fetch), folder)
    pair = {"www.lab.test", "static.lab.test"}
    assert {one.verdict for one in found if {one.opened_for, one.requested} == pair} == {expected}


def test_a_host_that_is_another_site_at_its_own_address(folder) -> None:
    text = SITUATIONS["haproxy-own-address"].configuration
    line = "    use_backend static if { ssl_fc_sni static.lab.test }\n"
    assert line in text
    _, found = linted("haproxy", text.replace(line, ""), folder)
    pairs = {(one.opened_for[:3], one.requested[:3]): one.verdict for one in found}
    assert pairs["www", "sta"] == "unknown"


@pytest.mark.parametrize(("upstream", "expected"), [("one", "safe"), ("two", "wrong site")])
def test_an_announced_host_is_requested_wherever_it_is(upstream: str, expected: str, tmp_path) -> None:
    (tmp_path / "hosts.csv").write_text(
        f"host,address,certificate,upstream\na.test,192.0.2.1,a.test,one\nb.test,192.0.2.2,b.test,{upstream}\n"
    )
    hosts = read_host_list(tmp_path / "hosts.csv", ConfigurationFolder(tmp_path))
    plan = PlannedSets({"a.test": {"b.test"}}, frozenset({"b.test"}), frozenset({"a.test"}))
    assert [one.verdict for one in shared_connections(hosts)] == ["separate", "separate"]
    assert [one.verdict for one in shared_connections(hosts, plan)] == [expected, "separate"]


def test_a_listener_is_asked_once_for_its_hosts() -> None:
    asked = []

    class Asked:
        endpoint = Endpoint(None, 443)

        @property
        def hosts(self):
            asked.append("hosts")
            return {name: Place("a", 1) for name in ("a.test", "b.test", "c.test")}

        def handshake(self, server_name: str) -> Handshake:
            asked.append(server_name)
            return Handshake(None)

        def answer(self, server_name: str, host: str) -> Answer:
            return Answer(site="one")

    assert len(list(shared_connections(Configuration([Asked()], [])))) == 6
    assert sorted(asked) == ["a.test", "b.test", "c.test", "hosts"]
