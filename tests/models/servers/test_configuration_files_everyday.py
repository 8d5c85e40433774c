"""Configurations as distributions, certbot and manuals have them are understood whole."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab_lint import READERS, lab_folder

from originset.models.servers.configuration_files import ConfigurationFolder
from originset.models.servers.shared_connections import shared_connections

HOSTS = {"www.lab.test", "static.lab.test"}
NGINX = """\
user www-data;
pid /run/nginx.pid;
include {folder}/modules-enabled/*.conf;
events {{ worker_connections 768; }}
http {{
    include mime.types;
    map $http_upgrade $connection_upgrade {{ default upgrade; "" close; }}
    limit_req_zone $binary_remote_addr zone=one:10m rate=1r/s;
    brotli on;
    include {folder}/sites-enabled/*;
}}
"""
SITE = """\
server {
    if ($host = www.lab.test) { return 301 https://$host$request_uri; }
    listen 80;
    server_name www.lab.test;
    return 404; # managed by Certbot
}
server {
    server_name www.lab.test static.lab.test;
    location ~ \\.php$ { fastcgi_pass unix:/run/php.sock; fastcgi_param HTTPS $https if_not_empty; }
    location / {
        proxy_pass http://127.0.0.1:3000;
        proxy_set_header Upgrade $http_upgrade;
        proxy_set_header Connection $connection_upgrade;
        proxy_set_header Early-Data $ssl_early_data;
        more_set_headers "Server: x";
    }
    listen [::]:443 ssl http2 ipv6only=on; # managed by Certbot
    listen 443 ssl http2; # managed by Certbot
    ssl_certificate all.pem; # managed by Certbot
    include {letsencrypt}/options-ssl.conf; # managed by Certbot
}
"""
APACHE = """\
DefaultRuntimeDir ${APACHE_RUN_DIR}
PidFile ${APACHE_PID_FILE}
User ${APACHE_RUN_USER}
ErrorLog ${APACHE_LOG_DIR}/error.log
<IfModule mod_autoindex.c>
    IndexOptions FancyIndexing
    AddIconByType (TXT,/icons/text.gif) text/*
    IndexIgnore .??* *~
</IfModule>
AddLanguage en .en
RequestReadTimeout header=20-40,minrate=500
BrowserMatch "Mozilla/2" nokeepalive
Define ENABLE_USR_LIB_CGI_BIN
<IfDefine ENABLE_USR_LIB_CGI_BIN>
    ScriptAlias /cgi-bin/ /usr/lib/cgi-bin/
</IfDefine>
<IfModule mod_ssl.c>
<VirtualHost *:443>
    ServerName www.lab.test
    ServerAlias static.lab.test
    Protocols h2 http/1.1
    CustomLog ${APACHE_LOG_DIR}/access.log combined
    Include {letsencrypt}/options-ssl.conf
    SSLCertificateFile all.pem
</VirtualHost>
</IfModule>
"""
HAPROXY = """\
global
    chroot /var/lib/haproxy
    crt-base {folder}
defaults
    mode http
frontend https
    bind :443 ssl crt {certificates}/ alpn h2,http/1.1
    bind [::]:443 ssl crt all.pem alpn h2,http/1.1
    http-request redirect scheme https unless {{ ssl_fc }}
    acl www hdr(host) -i www.lab.test
    use_backend www if www
    use_backend %[req.hdr(host),lower,map(hosts.map,www)]
backend www
    server a 10.0.0.1:80 check
"""
CADDY = """\
{
    email a@lab.test
}
(common) {
    encode gzip
    import log
}
(log) {
    log
}
import sites/*.caddy
static.lab.test {
    import common
    tls all.pem all.pem
    respond static
}
"""
CADDY_SITE = """\
www.lab.test {
    import common
    tls all.pem all.pem
    @api path /api/*
    reverse_proxy @api 127.0.0.1:9000
}
"""


@pytest.fixture
def folder(tmp_path) -> Path:
    """A server's folder, one beside it with what certbot writes, and one with a certificate and its key."""
    folder = lab_folder(tmp_path / "server")
    for name in ("modules-enabled", "sites-enabled", "sites"):
        (folder / name).mkdir()
    for name in ("letsencrypt", "certificates"):
        (tmp_path / name).mkdir()
    (folder / "mime.types").write_text("types { text/css css; }")
    (folder / "sites-enabled" / "site").write_text(SITE.replace("{letsencrypt}", str(tmp_path / "letsencrypt")))
    (folder / "sites" / "www.caddy").write_text(CADDY_SITE)
    (tmp_path / "certificates" / "all.pem").write_bytes((folder / "all.pem").read_bytes())
    (tmp_path / "certificates" / "all.key").write_text("a key")
    return folder


def verdicts(server: str, text: str, folder: Path) -> tuple[list[str], set[str]]:
    """What was not understood, and the verdicts."""
    (folder / "linted.conf").write_text(text)
    further = [folder.parent / name for name in ("letsencrypt", "certificates")]
    found = READERS[server](folder / "linted.conf", ConfigurationFolder(folder, *further))
    pairs = list(shared_connections(found))
    assert {one.requested for one in pairs} & HOSTS == HOSTS
    return [one.text for one in found.not_understood], {
        one.verdict for one in pairs if {one.opened_for, one.requested} == HOSTS
    }


@pytest.mark.parametrize(
    ("server", "text", "options", "worse"),
    [
        ("nginx", NGINX, "ssl_session_timeout 1d;", "ssl_verify_client on;"),
        ("apache", APACHE, "SSLEngine on", "SSLEngine on\nSSLVHostSNIPolicy insecure"),
    ],
)
def test_what_certbot_includes_is_read(server: str, text: str, options: str, worse: str, folder) -> None:
    text = text.format(folder=folder) if server == "nginx" else text
    text = text.replace("{letsencrypt}", str(folder.parent / "letsencrypt"))
    path = folder.parent / "letsencrypt" / "options-ssl.conf"
    path.write_text(options)
    assert verdicts(server, text, folder) == ([], {"safe"})
    path.write_text(worse)
    assert "safe" not in verdicts(server, text, folder)[1]


def test_haproxys_folders_of_certificates(folder) -> None:
    text = HAPROXY.format(folder=folder, certificates=folder.parent / "certificates")
    assert verdicts("haproxy", text, folder) == ([], {"safe"})
    demanded = text.replace(" alpn", " ca-file client-ca.pem verify required alpn")
    assert verdicts("haproxy", demanded, folder) == ([], {"safe"})  # of both hosts
    by_name = text.replace("%[req.hdr(host),lower", "%[ssl_fc_sni,lower")
    assert "safe" not in verdicts("haproxy", by_name, folder)[1]


@pytest.mark.parametrize("is_link", [False, True])
def test_a_certificate_of_a_folder_that_cannot_be_read_may_cover_any_host(is_link: bool, folder, tmp_path) -> None:
    separate = tmp_path / "one-each"
    separate.mkdir()
    for name in ("www.pem", "static.pem"):
        (separate / name).write_bytes((folder / name).read_bytes())
    text = (
        "frontend all\n    mode http\n    bind :443 ssl crt one-each/\n"
        "    use_backend www if { ssl_fc_sni www.lab.test }\n    use_backend static if { ssl_fc_sni static.lab.test }\n"
        "backend www\n    mode http\nbackend static\n    mode http\n"
    )
    assert verdicts("haproxy", text, tmp_path) == ([], {"separate"})
    if is_link:
        (separate / "another.pem").symlink_to(folder / "all.pem")  # which is outside
    else:
        (separate / "another.pem").write_text("no certificate")
    assert verdicts("haproxy", text, tmp_path)[1] == {"wrong site"}


def test_caddys_snippets_and_imported_sites(folder) -> None:
    assert verdicts("caddy", CADDY, folder) == ([], {"safe"})
    one = CADDY.replace("    log\n}", "    tls {\n        client_auth {\n            mode require\n        }\n    }\n}")
    assert verdicts("caddy", one, folder) == ([], {"421"})
    lax = one.replace("    email", "    servers {\n        strict_sni_host insecure_off\n    }\n    email")
    at_www = lax.replace(
        "    import common\n    tls all.pem all.pem\n    respond", "    tls all.pem all.pem\n    respond"
    )
    assert verdicts("caddy", at_www, folder) == ([], {"client certificate bypassed", "safe"})
