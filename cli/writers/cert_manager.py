"""cert-manager: a patch of the Certificate resource, or the whole resource, as YAML."""

from __future__ import annotations

import json

from originset.cli.writers.name_list import Certificate, NameList

_USE = """\
# A merge patch replaces the list, so every name that the certificate should hold is here; cert-manager issues anew as
# soon as names differ. Try it with --dry-run=server:
#
#   kubectl patch certificate NAME --namespace NAMESPACE --type merge --patch-file FILE
"""
_PARTS = """\
# One document for each certificate: give each its own file and resource.
"""


def render(chosen: NameList) -> str:
    """The patch's text, ASCII; every name is a double-quoted scalar, so data whatever it holds."""
    remarks = "".join(f"# {line}\n" for line in chosen.remarks())
    parts = _PARTS if len(chosen.certificates) > 1 else ""
    return f"{remarks}#\n{_USE}{parts}" + "---\n".join(_patch(certificate) for certificate in chosen.certificates)


def render_resource(chosen: NameList, name: str, issuer: str, issuer_kind: str) -> str:
    """The whole Certificate (cert-manager.io/v1) of each certificate, ASCII.

    ``name``: the resource's and its secret's, as Kubernetes has names (RFC 1123). ``issuer_kind``: Issuer or
    ClusterIssuer.
    """
    remarks = "".join(f"# {line}\n" for line in chosen.remarks())
    head = [
        "apiVersion: cert-manager.io/v1",
        "kind: Certificate",
        "metadata:",
        f"  name: {json.dumps(name)}",
        "spec:",
        f"  secretName: {json.dumps(name)}",
        "  issuerRef:",
        f"    name: {json.dumps(issuer)}",
        f"    kind: {json.dumps(issuer_kind)}",
    ]
    return remarks + "---\n".join(
        "\n".join([*head, *_names(certificate)]) + "\n" for certificate in chosen.certificates
    )


def _patch(certificate: Certificate) -> str:
    return "\n".join(["spec:", *_names(certificate)]) + "\n"


def _names(certificate: Certificate) -> list[str]:
    lines = []
    if certificate.names:
        lines += ["  dnsNames:", *(f"    - {json.dumps(name)}" for name in certificate.names)]
    if certificate.addresses:
        lines += ["  ipAddresses:", *(f"    - {json.dumps(address)}" for address in certificate.addresses)]
    return lines
