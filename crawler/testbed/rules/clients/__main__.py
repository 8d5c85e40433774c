"""Observe the HTTP clients in the testbed, print what differs from what is stored, and store it.

    python -m originset.crawler.testbed.rules.clients [CLIENT...] [--loads N] [--out FILE]

Without CLIENTs all that clients.toml lists; one whose programs are not installed is left out, and said to be.
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from originset.crawler.testbed.namespace import run_inside
from originset.crawler.testbed.rules import rule_catalogue
from originset.crawler.testbed.rules.clients.client_observations import (
    ClientObservations,
    client_rules,
    encoded_observations,
    merged_observations,
    observe_client,
    stored_observations,
)
from originset.crawler.testbed.rules.clients.http_clients import HttpClient, http_clients, install_client
from originset.crawler.testbed.rules.versions.browser_packages import default_cache
from originset.crawler.testbed.testbed import Testbed
from originset.data.errors import OriginsetError, UsageError
from originset.data.files.atomic_files import replacing

_MODULE = "originset.crawler.testbed.rules.clients"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog=f"python -m {_MODULE}", description="Observe HTTP clients.")
    parser.add_argument("clients", nargs="*", metavar="CLIENT", help="titles in clients.toml (default: all)")
    parser.add_argument("--loads", type=int, default=5, metavar="N", help="loads of each rule (default: 5)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="where observed.json is written (default: nowhere)")
    # How this module starts itself again, in namespaces, for one client.
    parser.add_argument("--inner", type=Path, metavar="FILE", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    try:
        clients = _chosen(given.clients)
        if given.inner is not None:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            given.inner.write_bytes(msgspec.json.encode(_observe(clients[0], given.loads)))
            return 0
        for client in clients:
            if _is_installable(client):
                _store(_observe_in_namespaces(client, given.loads), given.out)
    except OriginsetError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


def _store(seen: ClientObservations, out: Path | None) -> None:
    """Say what differs from what was stored, and store it before the next client is observed."""
    before = stored_observations(out)
    for line in _differences(before, [seen]):
        sys.stdout.write(f"{line}\n")
    if out is not None:
        with replacing(out) as beside:
            beside.write_bytes(encoded_observations(tuple(merged_observations(before, [seen]))))


def _chosen(titles: Sequence[str]) -> list[HttpClient]:
    known = {one.title: one for one in http_clients()}
    if unknown := sorted(set(titles).difference(known)):
        raise UsageError(f"there is no client {unknown[0]}", f"there are {', '.join(known)}")
    return [known[title] for title in titles or known]


def _is_installable(client: HttpClient) -> bool:
    if client.missing_programs:
        sys.stderr.write(f"{client.title} is left out: it needs {' and '.join(client.missing_programs)}\n")
    return not client.missing_programs


def _observe_in_namespaces(client: HttpClient, loads: int) -> ClientObservations:
    """Install it here, where the registries are reached; observe it there, where only the testbed is."""
    install_client(client, _cache_folder())
    with tempfile.TemporaryDirectory(prefix="clients-") as folder:
        to = Path(folder, "seen.json")
        command = [sys.executable, "-m", _MODULE, client.title, "--loads", str(loads), "--inner", str(to)]
        if (code := run_inside(command, {**os.environ, "TMPDIR": folder})) != 0:
            raise UsageError(f"{client.title} could not be observed (code {code})", "see above")
        return msgspec.json.decode(to.read_bytes(), type=ClientObservations)


def _observe(client: HttpClient, loads: int) -> ClientObservations:
    today = dt.datetime.now(dt.UTC).date().isoformat()
    rules = client_rules()
    with tempfile.TemporaryDirectory(prefix="originset-clients-") as folder:
        scenario = rule_catalogue.combined_scenario(rules)
        with Testbed(scenario, Path(folder, "testbed")) as testbed:
            installed = install_client(client, _cache_folder())
            return observe_client(installed, testbed, rules, Path(folder), loads=loads, observed_on=today)


def _cache_folder() -> Path:
    return default_cache().parent / "clients"


def _differences(before: Sequence[ClientObservations], seen: Sequence[ClientObservations]) -> list[str]:
    stored = {(one.client, rule): ways for one in before for rule, ways in one.outcomes.items()}
    return [
        f"{one.client} {one.version}, {rule}: {_ways(ways)}; stored: {_ways(stored.get((one.client, rule), {}))}"
        for one in seen
        for rule, ways in one.outcomes.items()
        if set(ways) != set(stored.get((one.client, rule), {}))
    ]


def _ways(ways: dict[str, int]) -> str:
    return ", ".join(f"{way} in {count}" for way, count in ways.items()) or "nothing"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
