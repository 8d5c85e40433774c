"""Plans for 40,000 certificates by 5 million pairs of site and host: what doubling the traffic costs, and memory.

Half of the certificates are an RSA and an ECDSA one for the same names. The traffic is synthetic: hosts by Zipf's law,
as in the paper's Table 9, a third of them shared ones.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click
import numpy as np
import polars as pl

from originset.models.plans.inventory.certificate_inventory import INVENTORY, Limits, plan_inventory

CERTIFICATES, SHARED, ELSEWHERE = 40_000, 400, 100_000
SIZES = (1_250_000, 2_500_000, 5_000_000)


def inventory() -> pl.DataFrame:
    numbers = range(CERTIFICATES)
    shared = [number < SHARED for number in numbers]
    names = [[f"lib{n}.cdn.test"] if n < SHARED else [f"s{site(n)}.test", f"*.s{site(n)}.test"] for n in numbers]
    made = pl.DataFrame({"certificate": [f"c{n}" for n in numbers], "names": names, "shared": shared})
    return made.with_columns(
        key_holder=pl.lit("cdn"),
        owner=pl.when("shared").then(pl.lit("cdn")).otherwise(pl.col("names").list.first()),
        ca=pl.lit("le"),
        opt_out=pl.lit(value=False),
        multi_cdn=pl.lit(value=False),
        caa=pl.lit(None, pl.List(pl.String)),
    ).select(INVENTORY.names())


def site(certificate: int) -> int:
    """The number in the certificate's names: of the later half, two neighbours have one."""
    return certificate - certificate % 2 if certificate >= CERTIFICATES // 2 else certificate


def write_pairs(path: Path, count: int) -> None:
    rng = np.random.default_rng(8336)
    certificate = rng.integers(SHARED, CERTIFICATES, count)
    rank = np.minimum(rng.zipf(1.3, count), ELSEWHERE)
    frame = pl.DataFrame(
        {"c": certificate, "w": rng.integers(0, 20, count), "r": rank, "connections": rng.integers(1, 500, count)}
    )
    host = (
        pl.when(pl.col("r") % 3 == 1)
        .then(pl.format("lib{}.cdn.test", pl.col("r") % SHARED))
        .otherwise(pl.format("h{}.elsewhere.test", "r"))
    )
    frame.select(pl.format("w{}.s{}.test", "w", "c").alias("site"), host.alias("host"), "connections").write_parquet(
        path
    )


def one(path: str) -> None:
    """In a process of its own: CPU seconds and peak memory of one plan."""
    certificates = inventory()
    began = time.process_time()
    made = plan_inventory(certificates, pl.scan_parquet(path), Limits())
    spent = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    click.echo(f"{spent:.3f} {peak:.0f} {made.additions.height}")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        results = []
        for size in SIZES:
            path = Path(folder) / f"{size}.parquet"
            write_pairs(path, size)
            done = subprocess.run([sys.executable, __file__, str(path)], capture_output=True, text=True, check=True)
            spent, peak, additions = done.stdout.split()
            results.append(float(spent) / size)
            click.echo(f"{size:>9,} pairs: {float(spent):6.2f} CPU s, {peak} MiB at most, {int(additions):,} additions")
        click.echo(f"cost a pair of the largest against the smallest: {results[-1] / results[0]:.2f}x")


if __name__ == "__main__":
    one(sys.argv[1]) if len(sys.argv) > 1 else main()
