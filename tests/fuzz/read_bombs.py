"""Reads a door's bombs of a size, each within limits of the system: ``read_bombs.py DOOR SIZE``.

One that takes more processor time or memory than its limit ends the process; its name is the last that was printed.
"""

from __future__ import annotations

import resource
import sys

from doors import door
from measured import read_or_refuse

# A door reads a megabyte within some seconds; what is quadratic, even in C, takes minutes.
_SECONDS, _SECONDS_PER_BYTE = 3, 10e-6
_MEMORY = 1 << 32


def main() -> None:
    """Read them, one after another."""
    at = door(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    for name, data in at.bombs(int(sys.argv[2])).items():
        sys.stdout.write(f"{name}\n")
        sys.stdout.flush()
        used = resource.getrusage(resource.RUSAGE_SELF)
        until = round(used.ru_utime + used.ru_stime + _SECONDS + _SECONDS_PER_BYTE * len(data))
        resource.setrlimit(resource.RLIMIT_CPU, (until, resource.RLIM_INFINITY))
        read_or_refuse(at, data)


if __name__ == "__main__":
    main()
