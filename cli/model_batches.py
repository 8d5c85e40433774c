"""Batches of the models side by side: in processes of this machine, or on a Dask cluster that shares the study."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

import originset
from originset.analysis.processes import ProcessEnded, shared_out
from originset.cli.files import FILE
from originset.crawler.settings import Cluster
from originset.data.errors import ClusterError, MissingDependency, UsageError
from originset.models.runner import Run, RunBatches, one_after_another, run_batch


def batch_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options that say where batches run: the arguments of :func:`batches_run`."""
    options = (
        click.option(
            "--jobs",
            type=click.IntRange(1),
            default=os.cpu_count() or 1,
            show_default="cores",
            help="Processes at once.",
        ),
        click.option(
            "--cluster",
            metavar="ADDRESS",
            help="Have the workers of a Dask scheduler, tls://HOST:PORT, run the models on the study, at its path.",
        ),
        click.option(
            "--tls-ca-file", type=FILE, help="The cluster's own authority.  [default: of Dask's configuration]"
        ),
        click.option("--tls-cert", type=FILE, help="Our certificate of that authority.  [default: as above]"),
        click.option("--tls-key", type=FILE, help="Its private key.  [default: as above]"),
    )
    for option in reversed(options):
        command = option(command)
    return command


@contextmanager
def batches_run(
    jobs: int, cluster: str | None, tls_ca_file: Path | None, tls_cert: Path | None, tls_key: Path | None
) -> Iterator[RunBatches]:
    """What runs batches where the options say.

    Raises:
        UsageError: the options contradict each other, or the cluster is not to be trusted.
        ClusterError: no scheduler answers.
        MissingDependency: Dask is not installed.
    """
    tls = [None if file is None else str(file) for file in (tls_ca_file, tls_cert, tls_key)]
    if cluster is None:
        if any(tls):
            raise UsageError("certificates are for a cluster", "name one with --cluster")
        yield side_by_side(jobs)
        return
    try:
        from originset.crawler.cluster.client import client_of  # noqa: PLC0415 - of an optional extra
    except ImportError:
        raise MissingDependency("the package distributed", "pip install 'originset[cluster]'") from None
    with client_of(Cluster(cluster, *tls)) as client:
        yield lambda calls: _on_workers(client, cluster, calls)


def side_by_side(jobs: int) -> RunBatches:
    """Runs batches in so many processes; one batch, or one job, in this process. One that is killed costs its batch."""

    def run_batches(calls: Sequence[tuple[Run, int, int]]) -> None:
        if min(jobs, len(calls)) <= 1:
            one_after_another(calls)
            return
        for result, number in shared_out(min(jobs, len(calls)), run_batch, calls):
            if isinstance(result, ProcessEnded):
                problem = f"the process of batch {number + 1} of {len(calls)} ended twice, perhaps as memory ran out"
                raise UsageError(problem, "run it again, with fewer --jobs")

    return run_batches


def _on_workers(client: Any, address: str, calls: Sequence[tuple[Run, int, int]]) -> None:  # noqa: ANN401 - a Client
    """Run batches on the workers of a cluster; Dask gives those of a lost worker to others.

    Raises:
        ClusterError: there is no worker, one does not see the study or has another version, or several were lost with
            one batch.
    """
    from distributed import KilledWorker  # noqa: PLC0415 - of an optional extra

    if calls:
        _require_shared(client, address, calls[0][0].folder)
    futures = [client.submit(run_batch, *call, pure=False) for call in calls]
    try:
        client.gather(futures)
    except KilledWorker as error:
        raise ClusterError(address, f"several workers were lost with one batch ({error})") from error
    finally:
        client.cancel(futures)


def _require_shared(client: Any, address: str, folder: Path) -> None:  # noqa: ANN401 - a Client
    folder.mkdir(parents=True, exist_ok=True)
    token = secrets.token_hex(8)
    place = folder / "shared"
    place.write_text(token)
    # A worker that was lost meanwhile answers with an error.
    answers = client.run(_version_and_marker, str(place), on_error="return")
    answers = {worker: answer for worker, answer in answers.items() if not isinstance(answer, BaseException)}
    place.unlink()
    if not answers:
        raise ClusterError(address, "it has no workers")
    for worker, (version, text) in answers.items():
        if version != originset.__version__:
            raise ClusterError(worker, f"it has originset {version}, this machine {originset.__version__}")
        if text != token:
            raise ClusterError(worker, f"it does not see {folder}: all machines need the study at the same path")


def _version_and_marker(place: str) -> tuple[str, str | None]:
    """The version of the program here, and what is written at a place."""
    try:
        return originset.__version__, Path(place).read_text()
    except OSError:
        return originset.__version__, None
