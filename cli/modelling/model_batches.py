"""Batches of the models side by side: in processes of this machine, or on a Dask cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from originset.analysis.processes import ProcessEnded, run_in_processes
from originset.cli.common.files import FILE
from originset.cli.modelling.model_cluster import on_workers
from originset.cli.modelling.model_progress import CountedBatches
from originset.data.captures.capture_place import BUCKET
from originset.data.errors import MissingDependency, UsageError
from originset.models.runner.runner import Run, run_batch


def batch_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for where batches run: the arguments of :func:`batches_run`."""
    options = (
        click.option(
            "--jobs",
            type=click.IntRange(1),
            default=os.cpu_count() or 1,
            show_default="cores",
            help="Number of processes.",
        ),
        click.option(
            "--cluster",
            metavar="ADDRESS",
            help="Run the models on the workers of this Dask scheduler, tls://HOST:PORT, which see the study at its "
            "path.",
        ),
        click.option(
            "--staging",
            metavar="PLACE",
            help="With --cluster: exchange files with workers that do not see the study through s3://BUCKET/PREFIX.",
        ),
        click.option(
            "--tls-ca-file", type=FILE, help="The cluster's CA certificate.  [default: from Dask's configuration]"
        ),
        click.option(
            "--tls-cert",
            type=FILE,
            help="The client certificate for the cluster.  [default: from Dask's configuration]",
        ),
        click.option(
            "--tls-key", type=FILE, help="The client certificate's private key.  [default: from Dask's configuration]"
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


@contextmanager
def batches_run(
    *,
    jobs: int,
    cluster: str | None,
    staging: str | None,
    tls_ca_file: Path | None,
    tls_cert: Path | None,
    tls_key: Path | None,
) -> Iterator[CountedBatches]:
    """The function that runs batches where the options say: in processes or on a cluster.

    Raises:
        UsageError: the options contradict each other, or the cluster cannot be trusted.
        ClusterError: no scheduler answers.
        MissingDependency: Dask is not installed.
    """
    tls = [None if file is None else str(file) for file in (tls_ca_file, tls_cert, tls_key)]
    if cluster is None:
        if any(tls) or staging is not None:
            what = "certificates are" if any(tls) else "--staging is"
            raise UsageError(f"{what} for a cluster", "name one with --cluster")
        yield side_by_side(jobs)
        return
    if staging is not None and BUCKET.fullmatch(staging) is None:
        raise UsageError(f"{staging!r} is no place to stage files", "name one such as s3://BUCKET/PREFIX")
    try:
        from originset.crawler.cluster.dask_client import client_of  # noqa: PLC0415 - of an optional extra
        from originset.crawler.settings import Cluster  # noqa: PLC0415 - with what only a crawl needs
    except ImportError:
        raise MissingDependency("the package distributed", "pip install 'originset[cluster]'") from None
    with client_of(Cluster(cluster, *tls)) as client:
        if staging is None:
            yield on_workers(client, cluster)
            return
        try:
            from originset.cli.modelling.model_staging import staged  # noqa: PLC0415 - of an optional extra
        except ImportError:
            raise MissingDependency("the package obstore", "pip install 'originset[cluster]'") from None
        with staged(client, cluster, staging) as run_batches:
            yield run_batches


def side_by_side(jobs: int) -> CountedBatches:
    """Run batches in ``jobs`` processes; one batch, or one job, in this process."""

    def run_batches(calls: Sequence[tuple[Run, int, int]], done: Callable[[], None] = lambda: None, /) -> None:
        if min(jobs, len(calls)) <= 1:
            for call in calls:
                run_batch(*call)
                done()
            return
        for result, number in run_in_processes(min(jobs, len(calls)), run_batch, calls):
            if isinstance(result, ProcessEnded):
                problem = f"the process of batch {number + 1} of {len(calls)} ended twice, perhaps as memory ran out"
                raise UsageError(problem, "run it again, with fewer --jobs")
            done()

    return run_batches
