"""What a crawl needs of its machine: room on the disk and in memory, and browsers that do not take it all."""

from __future__ import annotations

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


# Anybody's on the internet: nothing is sent to them.
_FAR = ((socket.AF_INET, "8.8.8.8"), (socket.AF_INET6, "2001:4860:4860::8888"))


def families() -> str | None:
    """The address families in which this machine has a way to the internet: 4, 6 or both; None if neither.

    It asks the routing table what Chromium asks it before it decides whether to look up IPv6 addresses.
    """
    reached = []
    for family, address in _FAR:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect((address, 443))
            except OSError:
                continue
        reached.append("4" if family is socket.AF_INET else "6")
    return "both" if len(reached) == 2 else reached[0] if reached else None


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
