"""Whom a crawl trusts with a cluster: whoever is in one runs what it is sent, and is believed what it answers.

Dask knows nobody by itself: who reaches a scheduler has every machine of its cluster, and every user of a machine
reaches its loopback. So everybody has to show a certificate of the cluster's own authority, in both directions.
"""

from __future__ import annotations

import os
import stat
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
        UsageError: the address cannot be one, is reached without TLS, or a file is missing.
    """
    require_trusted(cluster.address)
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


def require_own_folder(folder: Path) -> None:
    """Refuse a folder of a worker's in whose place another user of the machine can put another.

    By default Dask's are in one of a known name below /tmp, which belongs to whoever made it first. The user's own
    group is taken for one that nobody else is in, as Debian makes them.

    Raises:
        UsageError: it can be, or it is another user's.
    """
    trusted = {os.geteuid(), Path("/").stat().st_uid}
    own_groups = {os.getegid(), Path("/").stat().st_gid}
    whole = folder.resolve()
    for place in (whole, *whole.parents):
        status = place.stat()
        others = status.st_mode & stat.S_IWOTH
        members = status.st_mode & stat.S_IWGRP and status.st_gid not in own_groups
        if ((others or members) and not status.st_mode & stat.S_ISVTX) or status.st_uid not in trusted:
            raise UsageError(
                f"Dask's scratch folder is in {place}, which other users of the machine can change",
                "start dask worker with --local-directory and a folder of your own",
            )


def require_trusted(address: str) -> None:
    """Refuse the address of a cluster's member that is not reached by TLS.

    Raises:
        UsageError: it is not, or is no address.
    """
    parts = urlsplit(address)
    try:
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if parts.scheme not in {"tcp", "tls"} or not host or port is None:
        raise UsageError(f"{address!r} is no address of a scheduler", "name one such as tls://crawl.example:8786")
    if parts.scheme == "tcp":
        raise UsageError(
            f"{address} is without TLS, and whoever reaches a Dask cluster runs code on all of it: on loopback, every "
            "user of the machine",
            "use tls:// with certificates of the cluster's own",
        )
