"""Addresses to ASes, text included: whole columns against a loop over pyasn, over the table that is built in."""

import gzip
import ipaddress
import random
import sys
import time
from collections.abc import Callable
from importlib import resources
from typing import Any

import polars as pl
import pyasn

from originset.data.reference.snapshot import built_in_reference

COUNTS = {4: 1_000_000, 6: 200_000}


def addresses(version: int, networks: list[str]) -> list[str]:
    """IPv4 anywhere; IPv6 within the table's prefixes, as elsewhere there is nothing to look up."""
    source = random.Random(1)  # noqa: S311 - the same addresses every time
    if version == 4:
        return [str(ipaddress.IPv4Address(source.getrandbits(32))) for _ in range(COUNTS[4])]
    starts = [int(ipaddress.IPv6Address(text)) for text in networks if ":" in text]
    return [str(ipaddress.IPv6Address(source.choice(starts) + source.getrandbits(80))) for _ in range(COUNTS[6])]


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def best(work: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of the whole process (all of its threads), best of three rounds, and the result."""
    times = []
    for _ in range(3):
        started = time.process_time()
        result = work()
        times.append(time.process_time() - started)
    return min(times), result


def main() -> None:
    table = built_in_reference().ip_to_as
    with resources.as_file(resources.files("originset.data.reference").joinpath("ip_to_as.dat.gz")) as path:
        oracle = pyasn.pyasn(str(path))
        with gzip.open(path, "rt") as lines:
            networks = [line.partition("/")[0] for line in lines if line[0] != ";"]
    totals = [0.0, 0.0]
    for version in COUNTS:
        texts = addresses(version, networks)
        column = pl.Series(texts)
        columns, found = best(lambda column=column: table.origins(column))
        loop, expected = best(lambda texts=texts: [oracle.lookup(text)[0] for text in texts])
        assert found["asn"].to_list() == expected
        totals = [totals[0] + columns, totals[1] + loop]
        say(f"IPv{version}: {len(texts) / columns:,.0f} and {len(texts) / loop:,.0f} addresses a CPU second")
        say(f"IPv{version}: {len(texts):,} addresses: {loop / columns:.1f} times as fast as a loop over pyasn")
    say(f"together: {totals[1] / totals[0]:.1f} times as fast (4 or more wanted)")


if __name__ == "__main__":
    main()
