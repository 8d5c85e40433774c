"""What a worker of a cluster does: the visits of a batch, one after the other, for as long as they are wanted.

Orders and answers are msgpack of declared types: what a page said reaches nobody as a pickle.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import cache, lru_cache
from pathlib import Path

import msgspec
from distributed import get_worker
from distributed.core import Status

import originset
from originset.crawler.browsers.scratch import sweep
from originset.crawler.cluster.security import require_own_folder
from originset.crawler.crawl.browser_worker import Browsers, BrowserWorker
from originset.crawler.crawl.coordinator import VisitResult
from originset.crawler.crawl.local_workers import require_limits, visit_result
from originset.crawler.crawl.network_check import NetworkCheck, Place
from originset.crawler.crawl.politeness import Politeness
from originset.crawler.machine import give_memory_back, shortage
from originset.crawler.settings import CrawlSettings
from originset.data.captures.capture_place import CaptureStore, open_place
from originset.data.errors import OriginsetError
from originset.data.ledger.crawl_ledger import LedgerRow

# A batch that takes longer ends early: so much is lost at most with a worker, and a visit more.
BATCH_S = 30.0
# And one that holds more bytes of captures.
_LARGEST_ANSWER = 16 << 20
_POLL_S = 0.25


class Order(msgspec.Struct, kw_only=True):
    """Visits to make. ``name`` is of this batch alone; ``captures`` the place to leave them, if not in the answer."""

    name: str
    settings: CrawlSettings
    seed: int
    rows: list[LedgerRow]
    captures: str | None = None


class Answer(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The visits that were made, in the order of the rows, as many as there are; None where robots.txt forbids one.

    ``refused`` says why this worker makes no more.
    """

    made: list[VisitResult | None] = []
    refused: str | None = None


def packed_order(order: Order) -> bytes:
    """An order as it is sent: its version first, so that another one knows it for none of its own."""
    return msgspec.msgpack.encode((originset.__version__, msgspec.msgpack.encode(order)))


def make_batch(order: bytes) -> bytes:
    """Make an order's visits; an :class:`Answer`. Runs in a thread of a Dask worker."""
    version, rest = msgspec.msgpack.decode(order, type=tuple[str, bytes])
    if version == originset.__version__:
        answer = _answer(msgspec.msgpack.decode(rest, type=Order), _task_is_wanted())
    else:
        answer = Answer(refused=f"it has originset {originset.__version__}, the crawl {version}")
    return msgspec.msgpack.encode(answer)


def _task_is_wanted() -> Callable[[], bool]:
    """Whether anybody still waits for the task that this thread runs.

    A task stops being wanted when the crawl gives it to another worker, ends, or vanishes: the scheduler then forgets
    the task and says so. A worker that loses its scheduler closes.
    """
    worker = get_worker()
    key = worker.get_current_task()

    def wanted() -> bool:
        task = worker.state.tasks.get(key)
        running = worker.status in {Status.running, Status.paused}
        return running and task is not None and task.state in {"executing", "long-running"}

    return wanted


def _answer(order: Order, wanted: Callable[[], bool]) -> Answer:
    answer = Answer()
    settings = order.settings
    try:
        require_own_folder(Path(get_worker().local_directory))
        require_limits(settings.visit)
        store = None if order.captures is None else open_place(order.captures)
        _give_memory_back_once()
        sweep()
        answer.refused = shortage(Path(tempfile.gettempdir()), settings.least_disk, settings.least_memory)
        if answer.refused is None:
            answer.made.extend(_visit_results(order, store, wanted))
    except (OriginsetError, OSError) as error:
        answer.refused = str(error) or type(error).__name__
    return answer


_give_memory_back_once = cache(give_memory_back)


@lru_cache(maxsize=1)
def _network_check(known_good: tuple[Place, ...], allow_private: bool) -> NetworkCheck:
    """What this worker knows of its network, by all batches of a crawl."""
    return NetworkCheck(known_good, allow_private=allow_private)


def _visit_results(
    order: Order, store: CaptureStore | None, wanted: Callable[[], bool]
) -> Iterator[VisitResult | None]:
    settings = order.settings
    browsers = Browsers(settings.visit)
    slot = BrowserWorker(settings, order.seed, Politeness(settings), browsers.start, lambda: not wanted())
    network = _network_check(settings.known_good, settings.visit.allow_private)
    began, size = time.monotonic(), 0
    with _ending(browsers, wanted), closing(slot):
        for row in order.rows:
            made = visit_result(slot, row, network)
            if not wanted():  # nor was the visit whole, if that came about in it
                return
            if made is not None and made.capture is not None:
                size += len(made.capture)
                if store is not None:
                    made.staged, made.capture = store.stage(order.name, made.visit.visit_id, made.capture), None
            yield made
            if made is not None and made.offline:  # neither would the next ones reach their sites
                return
            if time.monotonic() - began >= BATCH_S or size >= _LARGEST_ANSWER:
                return


@contextmanager
def _ending(browsers: Browsers, wanted: Callable[[], bool]) -> Iterator[None]:
    """End the browsers as soon as what they do is not wanted any more."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(_POLL_S):
            if not wanted():
                browsers.kill()

    thread = threading.Thread(target=watch, name="watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
