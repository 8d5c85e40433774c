"""Whom a crawl trusts with a cluster: whoever is in one runs what it is sent, and is believed what it answers.

Dask knows nobody by itself: who reaches a scheduler has every machine of its cluster. So beyond this machine's loopback
everybody has to show a certificate of the cluster's own authority, in both directions.
"""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from distributed.security import Security

from originset.crawler.settings import Cluster
from originset.data.errors import UsageError

_FILES = ("--tls-ca-file", "--tls-cert", "--tls-key")


def security_of(cluster: Cluster) -> Any:  # noqa: ANN401 - a Security, which has no annotations
    """What a connection to a cluster's scheduler needs.

    Raises:
        UsageError: the address cannot be one, is reached without TLS beyond loopback, or a file is missing.
    """
    if not require_trusted(cluster.address):
        return Security(require_encryption=False)
    given = {"tls_ca_file": cluster.ca_file, "tls_client_cert": cluster.certificate, "tls_client_key": cluster.key}
    named = {name: file for name, file in given.items() if file is not None}
    security: Any = Security(require_encryption=True, **named)  # which has the others of Dask's configuration
    files = (security.tls_ca_file, security.tls_client_cert, security.tls_client_key)
    # Without a file for the authority, Python would trust every public one.
    if lacking := [option for option, name in zip(_FILES, files, strict=True) if name is None]:
        raise UsageError(f"{cluster.address} needs {' and '.join(lacking)}", "or the same in Dask's configuration")
    for name in files:
        if not Path(name).is_file():
            raise UsageError(f"there is no file {name}", "name PEM files of the cluster's authority")
    return security


def require_trusted(address: str) -> bool:
    """Whether an address of a cluster's member is reached by TLS; if not, it is of this machine's loopback.

    Raises:
        UsageError: it is neither, or no address.
    """
    parts = urlsplit(address)
    try:
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if parts.scheme not in {"tcp", "tls"} or not host or port is None:
        raise UsageError(f"{address!r} is no address of a scheduler", "name one such as tls://crawl.example:8786")
    if parts.scheme == "tls":
        return True
    if not _is_loopback(host):
        raise UsageError(
            f"{address} is beyond this machine without TLS, and whoever reaches a Dask cluster runs code on all of it",
            "use tls:// with certificates of the cluster's own, or keep it to 127.0.0.1 with --host",
        )
    return False


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
