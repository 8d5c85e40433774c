"""Batches of the models on the workers of a Dask cluster that see the study at its path."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import originset
from originset.cli.modelling.model_progress import CountedBatches
from originset.data.errors import ClusterError
from originset.models.runner.runner import Run, run_batch


def on_workers(client: Any, address: str) -> CountedBatches:  # noqa: ANN401 - a Client
    """Run batches on the workers of a cluster that share the study's folder.

    Raises:
        ClusterError: as :func:`require_workers` and :func:`run_on_workers`.
    """

    def run_batches(calls: Sequence[tuple[Run, int, int]], done: Callable[[], None] = lambda: None, /) -> None:
        if not calls:
            return
        folder = calls[0][0].folder
        token = secrets.token_hex(8)
        folder.mkdir(exist_ok=True)
        marker = folder / "shared"
        marker.write_text(token)
        otherwise = f"it does not see {folder}: all machines need the study at the same path, or --staging"
        require_workers(client, address, token, otherwise=otherwise, marker=_marker_in_file, place=str(marker))
        marker.unlink()
        run_on_workers(client, address, run_batch, calls, done)

    return run_batches


def run_on_workers(
    client: Any,  # noqa: ANN401 - a Client
    address: str,
    function: Callable[..., None],
    calls: Sequence[Any],
    done: Callable[[], None],
) -> None:
    """Call a function with each of these arguments on a worker; Dask moves the calls of a lost worker to others.

    ``done`` is called after each, by any thread.

    Raises:
        ClusterError: several workers were lost with one batch.
    """
    from distributed import KilledWorker  # noqa: PLC0415 - of an optional extra

    futures = [client.submit(function, *call, pure=False) for call in calls]
    for future in futures:
        future.add_done_callback(lambda _future: done())
    try:
        client.gather(futures)
    except KilledWorker as error:
        raise ClusterError(address, f"several workers were lost with one batch ({error})") from error
    finally:
        client.cancel(futures)


def require_workers(
    client: Any,  # noqa: ANN401 - a Client
    address: str,
    token: str,
    *,
    otherwise: str,
    marker: Callable[[str], tuple[str, str | None]],
    place: str,
) -> None:
    """Ask all workers for their version and for the text at a place, which has to be ``token``.

    Raises:
        ClusterError: there is no worker, or one has another version, or another text, for which ``otherwise`` is said.
    """
    # A worker that was lost meanwhile answers with an error.
    answers = client.run(marker, place, on_error="return")
    answers = {worker: answer for worker, answer in answers.items() if not isinstance(answer, OSError)}
    if not answers:
        raise ClusterError(address, "it has no workers")
    for worker, answer in answers.items():
        if isinstance(answer, BaseException):
            raise ClusterError(worker, f"it cannot run models: {answer}")
        version, text = answer
        if version != originset.__version__:
            raise ClusterError(worker, f"it has originset {version}, this machine {originset.__version__}")
        if text != token:
            raise ClusterError(worker, otherwise)


def _marker_in_file(place: str) -> tuple[str, str | None]:
    """The program's version on this worker, and the text of the marker file."""
    try:
        return originset.__version__, Path(place).read_text()
    except OSError:
        return originset.__version__, None
