"""A connection to a Dask cluster whose members know each other (:mod:`originset.crawler.cluster.security`)."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from distributed import Client

from originset.crawler.cluster.security import security_of
from originset.crawler.settings import Cluster
from originset.data.errors import ClusterError

CONNECT_S = 15.0


@contextmanager
def client_of(cluster: Cluster) -> Iterator[Any]:  # a Client, which has hardly an annotation
    """A client of a cluster's scheduler, while the connection lasts.

    Raises:
        ClusterError: no scheduler answers.
        UsageError: the cluster is not to be trusted.
    """
    security = security_of(cluster)
    for name in ("distributed", "distributed.client", "distributed.comm", "tornado"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # what matters of it is said as errors of ours
    try:
        client = Client(cluster.address, security=security, timeout=CONNECT_S, set_as_default=False, name="originset")
    except (OSError, TimeoutError) as error:
        raise ClusterError(cluster.address, "no scheduler answers, or none that knows these certificates") from error
    try:
        yield client
    finally:
        client.close(timeout=CONNECT_S)
