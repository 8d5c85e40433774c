"""Resources of Kubernetes' Gateway API: hosts of one listener share all, those of two nothing that can be relied on."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

import pytest
from lab_lint import lab_folder

from originset.data.errors import InputError
from originset.models.servers.configuration_files import ConfigurationFolder
from originset.models.servers.gateway_resources import read_gateway
from originset.models.servers.shared_connections import shared_connections

GATEWAY = """\
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: web}
spec:
  gatewayClassName: any
  listeners:
  - {name: http, port: 80, protocol: HTTP}
"""
LISTENER = """\
  - name: NAME
    hostname: "HOSTNAME"
    port: 443
    protocol: HTTPS
    tls: {certificateRefs: [{name: SECRET}]}
    allowedRoutes: {namespaces: {from: All}}
"""
ROUTE = """\
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: NAME, namespace: apps}
spec:
  parentRefs: [{name: edge, namespace: web}]
  hostnames: [NAME.lab.test]
  rules: [{backendRefs: [{name: NAME, port: 80}]}]
"""
CERTIFICATE = """\
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: NAME, namespace: web}
spec:
  secretName: NAME
  dnsNames: [DNS_NAMES]
  issuerRef: {name: le}
"""
ROUTES = ROUTE.replace("NAME", "www") + ROUTE.replace("NAME", "static")


def listener(hostname: str, secret: str) -> str:
    return LISTENER.replace("HOSTNAME", hostname).replace("NAME", hostname.strip("*.")).replace("SECRET", secret)


def certificate(name: str, *names: str) -> str:
    return CERTIFICATE.replace("DNS_NAMES", ", ".join(map(repr, names))).replace("NAME", name)


ONE = GATEWAY + listener("*.lab.test", "all") + ROUTES + certificate("all", "*.lab.test")
TWO = GATEWAY + listener("www.lab.test", "all") + listener("static.lab.test", "all") + ROUTES
BOTH = certificate("all", "www.lab.test", "static.lab.test")


def verdicts(text: str, folder: Path) -> dict[str, str]:
    """By the host that the connection is opened for, of www and static."""
    (folder / "gateway.yaml").write_text(text)
    found = shared_connections(read_gateway(folder / "gateway.yaml", ConfigurationFolder(folder)))
    pair = {"www.lab.test", "static.lab.test"}
    return {one.opened_for.partition(".")[0]: one.verdict for one in found if {one.opened_for, one.requested} == pair}


def test_hosts_of_one_listener_share_its_connections(tmp_path) -> None:
    assert verdicts(ONE, tmp_path) == {"www": "safe", "static": "safe"}


def test_hosts_of_two_listeners_depend_on_the_implementation(tmp_path) -> None:
    assert verdicts(TWO + BOTH, tmp_path) == {"www": "unknown", "static": "unknown"}
    assert verdicts(TWO, tmp_path) == {"www": "unknown", "static": "unknown"}  # whose certificate is not there


def test_a_certificate_apart_keeps_two_listeners_apart(tmp_path) -> None:
    apart = TWO.replace("{name: all}", "{name: www}", 1) + BOTH + certificate("www", "www.lab.test")
    assert verdicts(apart, tmp_path) == {"www": "separate", "static": "unknown"}


def test_a_secrets_certificate_is_read(tmp_path) -> None:
    folder = lab_folder(tmp_path / "lab")
    of_www, of_all = (b64encode((folder / name).read_bytes()).decode() for name in ("www.pem", "all.pem"))
    secret = "---\nkind: Secret\nmetadata: {name: all, namespace: web}\ndata: {tls.crt: CONTENT}\n"
    assert verdicts(TWO + secret.replace("CONTENT", of_www), folder) == {"www": "separate", "static": "unknown"}
    assert verdicts(TWO + secret.replace("CONTENT", of_all), folder) == {"www": "unknown", "static": "unknown"}


def test_what_kubectl_lists(tmp_path) -> None:
    items = "".join(
        "- " + document.strip().replace("\n", "\n  ") + "\n" for document in ONE.replace("---\n", "\0").split("\0")
    )
    text = "apiVersion: v1\nkind: List\nitems:\n" + items.replace(
        "spec:\n", "status: {addresses: [{value: 192.0.2.1}]}\n  spec:\n", 1
    )
    assert verdicts(text, tmp_path) == {"www": "safe", "static": "safe"}


OTHER_GATEWAY = ONE.replace("name: edge", "name: other").partition("---")[0]


@pytest.mark.parametrize("text", [
    ONE.replace("from: All}}", "from: All}}\n    x: y"),
    ONE.replace("[{name: all}]", "[{name: all}], options: {example.com/x: y}"),
    ONE.replace("[{backendRefs", "[{filters: [{type: ExtensionRef}], backendRefs"),
    ONE.replace("gatewayClassName: any", "gatewayClassName: any\n  x: y"),
    f"{ONE}---\nkind: EnvoyFilter\nmetadata: {{name: x}}\n",
    f"{ONE}---\nkind: TLSRoute\nmetadata: {{name: x}}\n",
    f"{ONE}---\n{OTHER_GATEWAY}",
    ONE.replace("Secret", "x").replace("protocol: HTTPS", "protocol: TLS"),
])  # fmt: skip
def test_nothing_is_safe_beside_what_an_implementation_decides(text: str, tmp_path) -> None:
    assert text != ONE
    assert set(verdicts(text, tmp_path).values()) == {"unknown"}


def test_two_gateways_at_one_address_may_share_connections(tmp_path) -> None:
    address = "gatewayClassName: any\n  addresses: [{value: 192.0.2.1}]"
    text = GATEWAY.replace("gatewayClassName: any", address)
    first, second = (
        text + listener("www.lab.test", "all"),
        text.replace("edge", "other") + listener("static.lab.test", "all"),
    )
    routes = ROUTE.replace("NAME", "www") + ROUTE.replace("NAME", "static").replace("edge", "other")
    both = f"{first}---\n{second}{routes}{BOTH}"
    assert set(verdicts(both, tmp_path).values()) == {"unknown"}
    assert set(verdicts(both.replace("192.0.2.1", "192.0.2.2", 1), tmp_path).values()) == {"separate"}


@pytest.mark.parametrize(
    "text", ["a: [", "[]", "a: &a [x]\nb: *a", "kind: Gateway\nspec: []", "kind: List\nitems: [1]"]
)
def test_what_is_no_resource_is_refused(text: str, tmp_path) -> None:
    (tmp_path / "gateway.yaml").write_text(text)
    with pytest.raises(InputError):
        read_gateway(tmp_path / "gateway.yaml", ConfigurationFolder(tmp_path))
