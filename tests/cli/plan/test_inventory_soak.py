"""The inventory of a CDN, from its files to a file for each certificate of every ring, against brute force.

1,000 certificates; 40,000 with ``ORIGINSET_SOAK=full``.
"""

import csv
import json
import os
import random
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from peak_memory import peak_kib_of

FULL = os.environ.get("ORIGINSET_SOAK") == "full"
CERTIFICATES = 40_000 if FULL else 1_000
PAIRS = 10 * CERTIFICATES
LIBRARIES, ADDITIONS, MOST_NAMES = 40, 4, 6
SAMPLED = 20
# What Python, polars and DuckDB take by themselves is a third of it.
MOST_KIB = 1 << 20

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]

Row = dict[str, Any]


def drawn() -> tuple[list[Row], list[tuple[str, str, int]]]:
    """Certificates, of which half are an RSA and an ECDSA one for the same names, and traffic."""
    rng = random.Random(8336)  # noqa: S311 - names, not secrets
    rows: list[Row] = []
    for n in range(LIBRARIES):
        usual = {"key_holder": "cdn", "owner": "cdn", "shared": "true", "ca": "le", "opt_out": "", "caa": ""}
        own = {"opt_out": rng.choice(["", "", "true"]), "caa": rng.choice(["", "le", "le other", ";"])}
        rows.append(usual | own | {"certificate": f"lib{n}", "names": [f"lib{n}.cdn.test"]})
    while len(rows) < CERTIFICATES:
        n = len(rows)
        names = [f"s{n}.test", f"*.s{n}.test", *(f"o{n}-{k}.test" for k in range(rng.randrange(4)))]
        row = {
            "certificate": f"c{n}", "names": names, "key_holder": rng.choice(["cdn", "cdn", "cdn", "customer"]),
            "owner": f"owner{n // 7}", "shared": "", "ca": "le", "opt_out": rng.choice(["", "", "", "true"]), "caa": "",
        }  # fmt: skip
        rows.append(row)
        if rng.random() < 1 / 3 and len(rows) < CERTIFICATES:  # a third more: half of all are of such a pair
            already = [f"lib{rng.randrange(LIBRARIES)}.cdn.test"] if rng.random() < 0.5 else []
            rows.append(row | {"certificate": f"c{n}-ecdsa", "names": names + already})
    sites = [row["names"][0] for row in rows[LIBRARIES:]]
    pairs = []
    for _ in range(PAIRS):
        site = rng.choice(sites)
        host = rng.choice(
            [f"lib{rng.randrange(LIBRARIES)}.cdn.test", rng.choice(sites), f"www.{site}", "elsewhere.test"]
        )
        pairs.append((rng.choice([site, f"www.{site}", "nobody.test"]), host, rng.randrange(100)))
    return rows, pairs


class BruteForce:
    """The plan by the rules as they are written, one pair after the other."""

    def __init__(self, rows: list[Row]) -> None:
        self.rows = rows
        self.holders = defaultdict(list)
        for n, row in enumerate(rows):
            for name in row["names"]:
                self.holders[name].append(n)
        self.unit = list(range(len(rows)))
        self.members = {n: [n] for n in self.unit}

    def serving(self, host: str) -> list[int]:
        return self.holders.get(host) or self.holders.get(f"*.{host.partition('.')[2]}") or []

    def is_covered(self, n: int, host: str) -> bool:
        names = self.rows[n]["names"]
        return host in names or f"*.{host.partition('.')[2]}" in names

    def join(self, sites: set[str]) -> None:
        """Certificates that cover a site together are one unit."""
        for site in sites:
            first, *others = sorted({self.unit[n] for n in self.serving(site)}) or [0]
            for other in others:
                for n in self.members[other]:
                    self.unit[n] = first
                self.members[first] += self.members.pop(other)

    def is_allowed(self, asking: list[Row], of_host: list[Row]) -> bool:
        owners = {row["owner"] for row in asking}
        shared = [row for row in of_host if row["shared"] == "true"]
        if not shared and (len(owners) > 1 or {row["owner"] for row in of_host} != owners):
            return False
        serves = shared or of_host
        return (
            all(row["key_holder"] == "cdn" and row["opt_out"] != "true" for row in asking)
            and all(row["opt_out"] != "true" for row in serves)
            and all(not row["caa"] or row["ca"] in row["caa"].split() for row in serves)
        )

    def additions(self, pairs: list[tuple[str, str, int]]) -> set[tuple[str, tuple[str, ...], str, int, int]]:
        """unit, certificates, name, rank, connections_saved."""
        rows = self.rows
        self.join({site for site, *_ in pairs})
        saved: dict[tuple[int, str], int] = defaultdict(int)
        for site, host, connections in pairs:
            of_site, of_host = self.serving(site), self.serving(host)
            if not of_site or not of_host or all(self.is_covered(n, host) for n in of_site):
                continue
            number = self.unit[of_site[0]]
            if self.is_allowed([rows[n] for n in self.members[number]], [rows[n] for n in of_host]):
                saved[number, host] += connections
        by_unit = defaultdict(list)
        for (number, host), connections in saved.items():
            if connections:
                by_unit[number].append((-connections, host))
        found = set()
        for number, hosts in by_unit.items():
            members = sorted(self.members[number])
            room = min(ADDITIONS, max(0, MOST_NAMES - max(len(rows[n]["names"]) for n in members)))
            for rank, (connections, host) in enumerate(sorted(hosts)[:room], 1):
                lacking = tuple(rows[n]["certificate"] for n in members if not self.is_covered(n, host))
                found.add((rows[number]["certificate"], lacking, host, rank, -connections))
        return found


def index_of(folder: Path) -> list[Row]:
    with (folder / "index.csv").open() as file:
        return list(csv.DictReader(file))


def test_an_inventory_from_its_files_to_the_files_of_every_ring(tmp_path: Path) -> None:
    rows, pairs = drawn()
    inventory, traffic, plan, rings = (tmp_path / name for name in ("certificates.csv", "traffic.csv", "plan", "rings"))
    with inventory.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(row | {"names": " ".join(row["names"])} for row in rows)
    with traffic.open("w", newline="") as file:
        csv.writer(file).writerows([("site", "host", "connections"), *pairs])
    peaks = []

    def originset(*arguments: object) -> None:
        peaks.append(peak_kib_of([str(one) for one in arguments], tmp_path))

    limits = ("--max-additions", ADDITIONS, "--max-names", MOST_NAMES)
    to = ("--out", plan, "--rollout", rings, "--control-domain", "x.test")
    originset("plan", "inventory", inventory, "--pairs", traffic, *limits, *to)
    fields = ("unit", "certificates", "name", "rank", "connections_saved")
    additions = json.loads(plan.read_text())["additions"]
    made = {tuple(tuple(v) if isinstance(v, list) else v for v in map(one.get, fields)) for one in additions}
    assert len(made) == len(additions) > CERTIFICATES / 10
    assert made == BruteForce(rows).additions(pairs)

    both = ("--inventory", inventory)
    originset("plan", "requests", rings, *both, "--for", "csr", "--out", tmp_path / "csr")
    originset("plan", "requests", rings, *both, "--for", "cert-manager", "--issuer", "le", "--out", tmp_path / "k8s")
    originset("plan", "config", "--server", "node", "--rollout", rings, *both, "--out", tmp_path / "node")
    changes = [(ring["ring"], one) for ring in json.loads(rings.read_text())["rings"] for one in ring["certificates"]]
    by_name = {row["certificate"]: row["names"] for row in rows}
    for kind, ending in (("csr", "csr"), ("k8s", "yaml"), ("node", "mjs")):
        index = index_of(tmp_path / kind)
        assert [(row["ring"], row["certificate"]) for row in index] == [
            (str(n), one["certificate"]) for n, one in changes
        ]
        files = {row["file"] for row in index if row["file"]}
        assert files == {str(path.relative_to(tmp_path / kind)) for path in (tmp_path / kind).rglob(f"*.{ending}")}
    index = index_of(tmp_path / "csr")
    for row, (_, change) in random.Random(1).sample(list(zip(index, changes, strict=True)), SAMPLED):  # noqa: S311
        request = ["openssl", "req", "-in", tmp_path / "csr" / row["file"], "-verify", "-noout", "-text"]
        done = subprocess.run(request, capture_output=True, text=True, check=True)
        assert "verify OK" in done.stdout + done.stderr
        names = {word.strip(",").removeprefix("DNS:") for word in done.stdout.split() if word.startswith("DNS:")}
        assert names == {*by_name[row["certificate"]], *change["names"]}
    assert max(peaks) < MOST_KIB
