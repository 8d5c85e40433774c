"""A rollout carried out by its commands alone: servers of the testbed, traffic of Firefox, a fault in the second ring.

3 sites up to that fault; 20 sites, and a rollout that completes, with ``ORIGINSET_SOAK=full``.
"""

import csv
import json
import os
import shlex
import socketserver
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from cryptography import x509
from healthy_testbed import healthy_testbed

from originset.cli.pages.commands_page import split_help
from originset.cli.plan.rollout.next_command import command
from originset.crawler.settings import VisitSettings
from originset.crawler.testbed import scenario_file
from originset.crawler.testbed.experiment_phase import new_connections
from originset.crawler.visits.visit_browsers import browser_for, visit
from originset.crawler.visits.visit_record import VisitRequest
from originset.data.scenario.entries import CertificateEntry, HostEntry, ResourceEntry, ScenarioEntries, SiteEntry
from originset.data.scenario.toml_text import toml_text
from originset.data.studies.identity import crawl_visit_id

FULL = os.environ.get("ORIGINSET_SOAK") == "full"
SITES = [f"www.s{number:02}.test" for number in range(20 if FULL else 3)]
LIBRARIES = [f"lib{number}.cdn.test" for number in range(4)]
LOADS = 3  # of four libraries each: 12 new connections of a site

pytestmark = [
    pytest.mark.testbed, pytest.mark.browser, pytest.mark.alone, pytest.mark.soak, pytest.mark.timeout(3600)
]  # fmt: skip

# What `rollout` calls: it hands its task to the operator, who is a thread of the test.
PROGRAM = """#!{python} -SE
import json, socket, sys
with socket.socket(socket.AF_UNIX) as asked:
    asked.connect({path!r})
    asked.sendall(json.dumps(sys.argv[1:]).encode() + b"\\n")
    sys.exit(int(asked.makefile().readline()))
"""


class Operator:
    """Who runs the servers: certificates and sets as deployed, in a testbed that each change brings up again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names = {site: [site] for site in SITES}
        self.sets: dict[str, list[str] | None] = dict.fromkeys(SITES)
        self.deployed: dict[str, list[dict[str, list[str] | None]]] = {}
        self.fault_in: int | None = None
        self.calls: list[tuple[str, int]] = []
        self._stack = ExitStack()

    @property
    def state(self) -> tuple[dict[str, list[str]], dict[str, list[str] | None]]:
        """What the servers have."""
        return dict(self.names), dict(self.sets)

    def start(self) -> None:
        """Bring the servers up with what is deployed."""
        self._stack.close()
        certificates = {f"c{n}": CertificateEntry(self.names[site]) for n, site in enumerate(SITES)}
        certificates["libraries"] = CertificateEntry(LIBRARIES)
        # An address each: Firefox would share one's connections.
        hosts = {name: HostEntry([f"104.17.2.{n}"], certificate="libraries") for n, name in enumerate(LIBRARIES, 20)}
        pages = {}
        for n, site in enumerate(SITES):
            hosts[site] = HostEntry([f"104.16.1.{10 + n}"], certificate=f"c{n}", origin_set=self.sets[site])
            pages[site] = SiteEntry(loads=[ResourceEntry(script=f"https://{name}/{site}/x.js") for name in LIBRARIES])
        entries = ScenarioEntries(title="rollout", certificate=certificates, host=hosts, site=pages)
        scenario = scenario_file.parse(toml_text(entries), "rollout.toml")
        self.testbed = self._stack.enter_context(healthy_testbed(scenario, self.folder / "testbed"))

    def stop(self) -> None:
        self._stack.close()

    def work(self, task: str, ring: int, path: Path) -> int:
        """Do a task; its exit code."""
        self.calls.append((task, ring))
        if task == "traffic":
            self.measure(path)
            return 0
        kind = self.names if task.startswith("certificates") else self.sets
        if task.endswith("-back"):
            kind.update(self.deployed.pop(f"{task.removesuffix('-back')} {ring}"))
        else:
            new = self._in_files(path)
            self.deployed[f"{task} {ring}"] = {site: kind[site] for site in new}
            kind.update(new)
            if (task, ring) == ("origins", self.fault_in):
                # An edge that was not reissued: it announces what its certificate does not cover.
                self.names.update({site: [site] for site in new})
        self.start()
        return 0

    def _in_files(self, folder: Path) -> dict[str, list[str]]:
        """The names, or the origins, of each certificate's file."""
        found = {}
        with (folder / "index.csv").open() as file:
            for row in csv.DictReader(file):
                if row["file"].endswith(".csr"):
                    request = x509.load_pem_x509_csr((folder / row["file"]).read_bytes())
                    names = request.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
                    found[row["certificate"]] = names.get_values_for_type(x509.DNSName)
                elif row["file"]:
                    found[row["certificate"]] = (folder / row["file"]).read_text().split()
        return found

    def measure(self, path: Path) -> None:
        """Load every site's page in Firefox, and write new connections by site and library."""
        shaken, asked = len(self.testbed.handshakes()), len(self.testbed.requests())
        settings = VisitSettings(browser="firefox", quiet_s=0.1, environment=self.testbed.environment)
        with browser_for(settings) as running:
            for number in range(LOADS):
                for site in SITES:
                    identity = crawl_visit_id(site, "rollout", number + 1, "", 1)
                    _, extension = visit(running, VisitRequest(identity, site, f"https://{site}/"))
                    assert extension.visit.status == "ok", extension.visit
        handshakes, requests = self.testbed.handshakes()[shaken:], self.testbed.requests()[asked:]
        rows = ["site,host,connections"]
        for library in LIBRARIES:
            opened = new_connections(handshakes, requests, library)
            rows += [f"{site},{library},{len(opened[site])}" for site in SITES]
        path.write_text("\n".join(rows) + "\n")


@contextmanager
def served(operator: Operator, folder: Path) -> Iterator[Path]:
    """The program that calls the operator."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            task, ring, path = json.loads(self.rfile.readline())
            self.wfile.write(b"%d\n" % operator.work(task, int(ring), Path(path)))

    program, path = folder / "program", folder / "operator.socket"
    program.write_text(PROGRAM.format(python=sys.executable, path=str(path)))
    program.chmod(0o700)
    with socketserver.UnixStreamServer(str(path), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            operator.start()
            yield program
        finally:
            operator.stop()
            server.shutdown()
            thread.join()


@pytest.fixture
def operator(tmp_path_factory) -> Operator:
    return Operator(tmp_path_factory.mktemp("o"))


@pytest.fixture
def rollout(run, operator: Operator, tmp_path: Path, monkeypatch) -> Iterator[list[str]]:
    """The arguments of every command of the rollout, as the example has them; planned from what Firefox needed."""
    monkeypatch.chdir(tmp_path)
    rows = ["certificate,names,key_holder,shared", *(f"{site},{site},cdn,false" for site in SITES)]
    rows.append(f"libraries,{' '.join(LIBRARIES)},cdn,true")
    Path("certificates.csv").write_text("\n".join(rows) + "\n")
    with served(operator, operator.folder) as program:
        Path("deploy").symlink_to(program)
        operator.measure(Path("traffic.csv"))
        files = ("certificates.csv", "--pairs", "traffic.csv", "--rollout", "rings.json")
        done = run("plan", "inventory", *files, "--control-domain", "x.test", "--seed", "3")
        assert done.returncode == 0, done.stderr
        words = shlex.split(split_help(command)[1])
        assert words[:4] == ["originset", "plan", "rollout", "next"]
        yield [*words[4:], "--server", "list", "--ca-file", str(operator.testbed.authority.root)]


def rings_of(run, rollout: list[str]) -> list[str]:
    done = run("plan", "rollout", "status", *rollout, "--format", "json")
    assert done.returncode == 0, done.stderr
    return [row["state"] for row in json.loads(done.stdout)]


def test_a_fault_in_the_second_ring_stops_it_and_takes_it_back(run, operator: Operator, rollout, tmp_path) -> None:
    at_first = operator.state
    operator.fault_in = 2
    done = run("plan", "rollout", "next", *rollout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ring 1 is done" in done.stderr
    after_one = operator.state
    assert sum(origins is not None for origins in operator.sets.values()) == 1
    done = run("plan", "rollout", "next", *rollout)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "lacks_name" in done.stdout
    assert "--step origin" in done.stderr.partition("ring 2 is taken back: exit code 1: ")[2].splitlines()[0]
    assert operator.state == after_one
    assert operator.calls[-4:] == [("certificates", 2), ("origins", 2), ("origins-back", 2), ("certificates-back", 2)]
    assert rings_of(run, rollout)[:3] == ["done", "taken back", "not begun"]
    # It does not go on by itself.
    done = run("plan", "rollout", "next", *rollout)
    assert (done.returncode, "begin it again with --again" in done.stderr) == (2, True)
    done = run("plan", "rollout", "back", *rollout)
    assert done.returncode == 0, done.stderr
    assert operator.state == at_first
    assert rings_of(run, rollout)[:2] == ["taken back", "not begun"]
    state = json.loads((tmp_path / "rollout" / "state.json").read_text())
    assert (state["ring"], state["direction"]) == (0, "rest")
    failed = [one["command"] for one in state["history"] if one["exit_code"]]
    assert [(words[2], words[-3:][0]) for words in failed] == [("server", "origin")]


@pytest.mark.skipif(not FULL, reason="make soak: some ten minutes")
def test_it_completes(run, operator: Operator, rollout) -> None:
    rings = len(rings_of(run, rollout))
    for ring in range(1, rings + 1):
        done = run("plan", "rollout", "next", *rollout)
        assert done.returncode == 0, done.stdout + done.stderr
        assert f"ring {ring} is done" in done.stderr
    assert rings >= 4
    for site in SITES:
        assert set(LIBRARIES) < set(operator.names[site])
        assert {f"https://{name}" for name in LIBRARIES} < set(operator.sets[site] or [])
    assert set(rings_of(run, rollout)) == {"done"}
    done = run("plan", "rollout", "next", *rollout)
    assert (done.returncode, f"all {rings} rings are done" in done.stderr) == (0, True)
