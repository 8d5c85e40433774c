"""What is unusual, or not understood, is never called safe or separate where a server may do otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab_lint import lab_folder, linted

from originset.crawler.testbed.server_lab.situation_text import situations

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
