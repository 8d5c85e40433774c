"""What a crawl needs of its machine: room on the disk and in memory, and browsers that do not take it all."""

from __future__ import annotations

import ctypes
import shutil
import socket
from collections.abc import Iterable
from pathlib import Path

import psutil


def shortage(folder: Path, least_disk: int, least_memory: int) -> str | None:
    """What runs low, in words; None if nothing does. ``least_*`` in bytes."""
    if (disk := shutil.disk_usage(folder).free) < least_disk:
        return f"only {disk >> 20} MB left on the study's disk, of {least_disk >> 20} MB that a crawl keeps free"
    if (memory := psutil.virtual_memory().available) < least_memory:
        return f"only {memory >> 20} MB of memory left, of {least_memory >> 20} MB that a crawl keeps free"
    return None


def private_memory(processes: Iterable[psutil.Process]) -> int:
    """Bytes that these processes and all below them have for themselves: what ending them would free, nearly."""
    total = 0
    for process in processes:
        try:
            family = [process, *process.children(recursive=True)]
        except psutil.Error:
            continue
        for member in family:
            try:
                memory = member.memory_info()
            except psutil.Error:
                continue
            total += max(0, memory.rss - getattr(memory, "shared", 0))
    return total


# malloc.h of the GNU C library, and the thresholds that it starts with.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_THRESHOLD = 128 << 10


def give_memory_back() -> None:
    """Have what a visit needs for a moment go back to the system, rather than stay with the thread that needed it.

    The GNU C library raises its thresholds, for good, to the largest block that was ever freed, and then keeps up to
    twice as much in the heap of every thread: a crawl's memory grew by a third that way, with nothing in it. Saying the
    thresholds once keeps them. Other C libraries do not have them.
    """
    if (mallopt := getattr(ctypes.CDLL(None), "mallopt", None)) is not None:
        mallopt(_MMAP_THRESHOLD, _THRESHOLD)
        mallopt(_TRIM_THRESHOLD, _THRESHOLD)


def own_addresses() -> frozenset[str]:
    """The addresses of this machine's interfaces, but for those of the loopback interface."""
    loopback = {name for name, facts in psutil.net_if_stats().items() if "loopback" in facts.flags.split(",")}
    return frozenset(
        address.address.partition("%")[0]
        for name, addresses in psutil.net_if_addrs().items()
        for address in addresses
        if name not in loopback and address.family in {socket.AF_INET, socket.AF_INET6}
    )
