"""Visits made by the workers of a Dask cluster. The ledger stays here: Dask carries orders and answers, nothing else.

Each slot of each worker has a thread here that takes visits from the schedule, orders them from that worker alone, and
records what is answered. So Dask neither queues visits nor gives them to others. A worker that is not heard of loses
the lease on its visits, which go to other workers; what it answers later has no reader, and it is told to stop.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import math
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
from distributed import CancelledError, Future, KilledWorker
from distributed.client import ClosedClientError

from originset.crawler.cluster.cluster_worker import BATCH_S, Answer, Order, make_batch, packed_order
from originset.crawler.cluster.dask_client import CONNECT_S, client_of
from originset.crawler.cluster.security import require_trusted
from originset.crawler.crawl.coordinator import Coordinator, Run, VisitResult
from originset.crawler.settings import Cluster
from originset.data.captures.capture_store import staged_key
from originset.data.errors import ClusterError, StudyError
from originset.data.ledger.crawl_ledger import LedgerRow
from originset.data.studies.identity import crawl_visit_id

RESOURCE = "chrome"

_POLL_S = 1.0
_TICK_S = 0.25
# Workers are heard of once a second, or once in several where there are hundreds.
SILENCE_S = 20.0
# Without any worker that can be used, or without the scheduler, for so long the crawl ends.
_NOBODY_S = 120.0
_MAX_BATCH = 20
# How long a worker without a network gets no visits.
_OFFLINE_S = 20.0
# Beside the time for a page: a browser's start, robots.txt, the resolver, storage.
_AROUND_A_VISIT_S = 300.0


@contextmanager
def connected(cluster: Cluster) -> Iterator[Run]:
    """What runs a crawl on a cluster, while the connection lasts.

    Raises:
        ClusterError: no scheduler answers.
        UsageError: the cluster is not to be trusted.
    """
    with client_of(cluster) as client:
        yield _ClusterWorkers(client, cluster.address).run


@dataclass(eq=False)
class _Worker:
    """A worker as the scheduler tells of it: ``seen`` when, by its clock; ``heard`` when that last changed, by ours."""

    address: str
    seen: float = 0.0
    heard: float = 0.0
    refused: str | None = None
    slots: list[_RemoteSlot] = field(default_factory=list)


class _ClusterWorkers:
    """The workers of a cluster, and a thread for each slot that they have."""

    def __init__(self, client: Any, address: str) -> None:  # noqa: ANN401 - a Client, which has hardly an annotation
        self.client = client
        self._address = address
        self._workers: dict[tuple[str, str], _Worker] = {}
        self._threads: list[threading.Thread] = []
        self._looked = time.monotonic()

    @property
    def slots(self) -> int:
        """How many slots work now."""
        return sum(len(worker.slots) for worker in list(self._workers.values()))

    def run(self, coordinator: Coordinator) -> None:
        """Make what is left to the end, or until told to stop, or until nobody is there to make it."""
        reached = occupied = time.monotonic()
        try:
            while not (coordinator.finished or coordinator.ended()):
                now = time.monotonic()
                if self._update_workers(coordinator):
                    reached = now
                if self.slots:
                    occupied = now
                self._require_workers(coordinator, now - reached, now - occupied)
                coordinator.check_machine()
                while time.monotonic() - now < _POLL_S and not (coordinator.finished or coordinator.ended()):
                    time.sleep(_TICK_S)
        except Exception as error:  # noqa: BLE001 - raised again by who asked for the crawl, once the threads have ended
            coordinator.error = error
        for thread in self._threads:
            thread.join()

    def _update_workers(self, coordinator: Coordinator) -> bool:
        """Ask the scheduler who is there: lose those who are not, put those to work who are. Whether it answered."""
        if self.client.status != "running":
            return False
        try:
            identity: dict[str, Any] = self.client.sync(self.client.scheduler.identity, callback_timeout=CONNECT_S)
        except (OSError, TimeoutError):
            return False
        self._require_trusted(identity)
        now = time.monotonic()
        # While the scheduler did not answer, or we did not ask, nobody could be heard.
        unheard_s = max(0.0, now - self._looked - 2 * _POLL_S)
        self._looked = now
        # A worker that was started again may have the address of its predecessor, but no folder of it.
        there = {(address, str(facts["local_directory"])): facts for address, facts in identity["workers"].items()}
        for key in self._workers.keys() - there.keys():
            self._close(self._workers.pop(key))
        for key, facts in there.items():
            worker = self._workers.setdefault(key, _Worker(key[0], heard=now))
            worker.heard += unheard_s
            if worker.seen != facts["last_seen"]:
                worker.seen, worker.heard = facts["last_seen"], now
            worker.slots = [slot for slot in worker.slots if slot.thread.is_alive()]
            if now - worker.heard > SILENCE_S:
                self._close(worker)
            elif worker.refused is None and facts["status"] == "running":
                slots = min(int(facts["resources"].get(RESOURCE, 0)), int(facts["nthreads"]))
                for _ in range(slots - len(worker.slots)):
                    slot = _RemoteSlot(self, coordinator, worker)
                    worker.slots.append(slot)
                    self._threads.append(slot.thread)
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        return True

    def _require_trusted(self, identity: dict[str, Any]) -> None:
        # A scheduler that we reach by TLS may listen, and have workers, without it as well.
        for address in (str(identity["address"]), *map(str, identity["workers"])):
            require_trusted(address)

    def _close(self, worker: _Worker) -> None:
        for slot in worker.slots:
            slot.closed = True

    def _require_workers(self, coordinator: Coordinator, unreached_s: float, idle_s: float) -> None:
        """Raises ``ClusterError`` where nobody will make the rest."""
        if unreached_s > _NOBODY_S or self.client.status == "closed":
            raise ClusterError(self._address, "the scheduler does not answer any more")
        workers = list(self._workers.values())
        refused = [f"{worker.address}: {worker.refused}" for worker in workers if worker.refused is not None]
        coordinator.left_out = sorted({*coordinator.left_out, *refused})
        if refused and len(refused) == len(workers) and not self.slots:
            raise ClusterError(self._address, f"no worker can make visits ({refused[0]})")
        if idle_s > _NOBODY_S:
            coordinator.shortage = f'no worker with --resources "{RESOURCE}=N" for {_NOBODY_S:.0f} s'


class _RemoteSlot:
    """One slot of a worker, and the thread that keeps it busy."""

    def __init__(self, cluster_workers: _ClusterWorkers, coordinator: Coordinator, worker: _Worker) -> None:
        self.closed = self.disconnected = False
        self._cluster_workers = cluster_workers
        self._coordinator = coordinator
        self._worker = worker
        settings = coordinator.settings
        self._rate_limited = settings.per_address is not None or settings.per_as is not None
        # Of the visit that is under way when the batch's own time is over, by https and by http.
        visit = settings.visit
        self._lease_s = BATCH_S + 2 * (visit.timeout_s + visit.grace_s) + _AROUND_A_VISIT_S
        self.thread = threading.Thread(target=coordinator.work, args=(self,), name=f"slot of {worker.address}")
        self.thread.start()

    @property
    def batch_size(self) -> int:
        """So many that a slot is rarely without work, and that all have some as the end comes near."""
        if self._rate_limited:  # the pace between two visits to a server counts from when they are taken
            return 1
        return max(
            1, min(_MAX_BATCH, math.ceil(self._coordinator.left_over / (2 * max(1, self._cluster_workers.slots))))
        )

    def visit(self, rows: list[LedgerRow]) -> Iterator[tuple[LedgerRow, VisitResult | None]]:
        """Raises ``ClusterError`` for an answer that is none to these rows."""
        name = uuid.uuid4().hex
        answer = self._ask(name, rows)
        if answer is None:
            self.closed = True
            return
        if answer.refused is not None:
            self._worker.refused = answer.refused
            self.closed = True
        for row, made in zip(rows, answer.made, strict=False):
            wanted = crawl_visit_id(row.site, row.vantage, row.round, row.page, row.repeat)
            if made is not None and made.visit.visit_id != wanted:
                raise ClusterError(self._worker.address, f"it was asked for visit {wanted} and made another")
            if made is not None and made.staged not in {None, staged_key(name, wanted)}:
                raise ClusterError(self._worker.address, f"it names a capture that is not its own: {made.staged!r}")
            yield row, made

    @property
    def machine(self) -> str:
        """The worker's address."""
        return self._worker.address

    def wait_for_network(self, ended: Callable[[], bool]) -> None:
        """Leave the worker alone for a while; whether it has a network again, its next visits tell."""
        began = time.monotonic()
        while time.monotonic() - began < _OFFLINE_S and not ended():
            time.sleep(_TICK_S)

    def refuse(self, error: StudyError) -> None:
        """Leave the worker out; others may have the browser that the round was visited with."""
        self._worker.refused = error.problem
        self.closed = True

    def close(self) -> None:
        """Nothing is left behind: a batch that was given up is not wanted by anybody, which its worker learns."""

    def _ask(self, name: str, rows: list[LedgerRow]) -> Answer | None:
        """What the worker answers to a batch of this name; None if it does not, or the crawl ended."""
        coordinator = self._coordinator
        place = None if coordinator.store is None else coordinator.store.place
        # Where our keys lie is nobody's business.
        settings = replace(coordinator.settings, cluster=None)
        order = Order(name=name, settings=settings, seed=coordinator.seed, rows=rows, captures=place)
        done = threading.Event()
        if self._given_up():
            return None
        try:
            future = self._cluster_workers.client.submit(
                make_batch,
                packed_order(order),
                key=f"originset-{name}",
                workers=[self._worker.address],
                allow_other_workers=False,
                resources={RESOURCE: 1},
                retries=0,
                pure=False,
            )
        except (ClosedClientError, OSError):
            return None
        self.disconnected = True
        try:
            future.add_done_callback(lambda _: done.set())
            deadline = time.monotonic() + self._lease_s
            while not done.wait(_TICK_S):
                if self._given_up() or time.monotonic() > deadline:
                    return None
            answer = self._answer(future, deadline)
        finally:
            future.release()
        self.disconnected = answer is None
        return answer

    def _given_up(self) -> bool:
        return self.closed or self._coordinator.ended()

    def _answer(self, future: Future[bytes], deadline: float) -> Answer | None:
        if future.status == "error":
            error = future.exception(timeout=CONNECT_S)
            return Answer(refused=f"{type(error).__name__}: {error}".splitlines()[0])
        if future.status != "finished":
            return None
        loop = self._cluster_workers.client.loop.asyncio_loop
        gathered = asyncio.run_coroutine_threadsafe(
            self._cluster_workers.client.gather(future, asynchronous=True), loop
        )
        while time.monotonic() < deadline and not self._given_up():
            try:
                return msgspec.msgpack.decode(gathered.result(_TICK_S), type=Answer)
            except concurrent.futures.TimeoutError:
                continue
            except (OSError, concurrent.futures.CancelledError, CancelledError, KilledWorker):
                return None
        gathered.cancel()
        return None
