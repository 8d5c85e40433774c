"""A Dask cluster on this machine's loopback: crawls, how they end, and whom a crawl trusts."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import socket
import sqlite3
import ssl
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import duckdb
import msgspec
import psutil
import pytest
from click.testing import CliRunner
from cluster_lab import Papers, scheduler, wait_until, worker_command
from living import living
from other_user import as_another_user, descendants, listening_ports, obedient
from s3_storage import OF_NOBODY, bucket, keys

import originset
from originset.cli.main import main
from originset.crawler.cluster import cluster_crawl as cluster_module
from originset.crawler.cluster.cluster_worker import Answer, make_batch
from originset.crawler.cluster.security import require_trusted, security_of
from originset.crawler.crawl.site_list import parse_site_list
from originset.crawler.crawl_run import crawl
from originset.crawler.settings import Cluster, CrawlSettings
from originset.crawler.testbed.testbed import Testbed
from originset.data.captures.capture import capture_paths
from originset.data.errors import ClusterError, UsageError
from originset.data.studies.study import Study

PATIENCE_S = 90


class Lab:
    """A scheduler and a worker on loopback, and ``originset crawl --cluster``."""

    def __init__(self, testbed: Testbed, endpoint: str) -> None:
        # Not below pytest's folder: the name of a socket has to be short.
        self.scratch = Path(tempfile.mkdtemp(prefix="cl-"))
        self._papers = Papers(self.scratch / "papers")
        self.environment = {**os.environ, **testbed.environment, **OF_NOBODY, "AWS_ENDPOINT_URL": endpoint}
        reached = [site for site in testbed.sites if site not in {"gone.test", "refused.test", "expired.test"}]
        self.sites = reached[:8]

    def crawl(self, study: Study, sites: list[str], *options: str) -> subprocess.Popen[str]:
        listed = self.scratch / "sites.txt"
        listed.write_text("\n".join(sites))
        command = [sys.executable, "-m", "originset", "--study", str(study.root), "crawl", str(listed)]
        command += ["--cluster", self.address, "--browser", "headless-shell"]
        command += [*self._papers.options, *options]
        return subprocess.Popen(command, env=self.environment, stderr=subprocess.PIPE, text=True)

    def run(self, study: Study, sites: list[str], *options: str) -> str:
        with self.crawl(study, sites, *options) as process:
            _, said = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, said
        return said

    @contextmanager
    def up(self) -> Iterator[None]:
        with scheduler(self.scratch, "tls://127.0.0.1", *self._papers.options) as self.address:
            command = worker_command(self.address, 2, *self._papers.options)
            log = self.scratch / "worker.txt"
            environment = {**self.environment, "TMPDIR": str(self.scratch)}
            with log.open("wb") as words, subprocess.Popen(command, env=environment, stderr=words) as worker:
                yield
                worker.terminate()
                worker.wait(PATIENCE_S)

    def browsers(self) -> list[psutil.Process]:
        return living(f"{self.scratch}/originset-")


@pytest.fixture(scope="module")
def lab(testbed: Testbed, endpoint: str) -> Iterator[Lab]:
    lab = Lab(testbed, endpoint)
    with lab.up():
        yield lab
    shutil.rmtree(lab.scratch)


def states(study: Study) -> Counter[tuple[str, str | None]]:
    with closing(sqlite3.connect(study.ledger_path)) as connection:
        return Counter(connection.execute("SELECT state, error FROM visits").fetchall())


def made(study: Study) -> int:
    return len(list(capture_paths(study.captures)))


@pytest.mark.browser
@pytest.mark.testbed
def test_a_crawl_on_a_cluster_is_as_one_here(lab: Lab, tmp_path: Path) -> None:
    study = Study(tmp_path / "study")
    said = lab.run(study, ["anna.test", "gone.test", "refused.test", "https://wiki.test/missing"], "--retries", "0")
    assert "crawl: 3 failed, 1 ok" in said
    assert states(study) == {("done", None): 1, ("failed", "dns"): 1, ("failed", "connect"): 1, ("failed", "http"): 1}
    assert made(study) == 4
    manifest = study.manifest()
    assert manifest["browser"]["name"] == "headless-shell"
    assert manifest["browser"]["version"]
    assert manifest["runs"][0]["parameters"]["cluster"] == lab.address


@pytest.mark.browser
@pytest.mark.testbed
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_browsers_end_with_the_crawl_that_wants_them(lab: Lab, tmp_path: Path, number: int) -> None:
    study = Study(tmp_path / "study")
    with lab.crawl(study, lab.sites) as process:
        wait_until(lambda: study.captures.exists() and made(study) > 0 and bool(lab.browsers()), "visit")
        process.send_signal(number)
        _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == (130 if number == signal.SIGINT else -signal.SIGKILL), said
    before = made(study)
    assert before < len(lab.sites)
    wait_until(lambda: not lab.browsers(), "end of the browsers")
    assert made(study) == before
    if number == signal.SIGINT:
        assert states(study) == {("done", None): before, ("queued", None): len(lab.sites) - before}
    lab.run(study, lab.sites)
    assert states(study) == {("done", None): len(lab.sites)}
    assert made(study) == len(lab.sites)


@pytest.mark.promise("browsers-obey-their-user")
@pytest.mark.browser
@pytest.mark.testbed
def test_another_user_finds_nothing_that_obeys(lab: Lab, tmp_path: Path) -> None:
    study = Study(tmp_path / "study")
    with lab.crawl(study, lab.sites) as process:
        wait_until(lambda: bool(lab.browsers()), "browser")
        ports = listening_ports(descendants())
        assert len(ports) > 2, "the scheduler, the worker, its nanny"
        assert as_another_user(lambda: {port: what for port in ports if (what := obedient(port))}) == {}
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_S)


@pytest.mark.browser
@pytest.mark.testbed
def test_captures_in_s3_and_in_a_shared_folder(
    lab: Lab, endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sites = ["anna.test", "wiki.test"]
    in_s3, shared, whole = (Study(tmp_path / name) for name in ("in-s3", "shared", "whole"))
    with bucket(endpoint, "crawl", monkeypatch) as place:
        lab.run(in_s3, sites[:1], "--captures", place)
        (key,) = keys("crawl")
    assert key.startswith("studies/one/")
    assert key.endswith(".har.zst")
    assert "incoming" not in key
    assert not in_s3.captures.exists()
    lab.run(shared, sites[1:], "--captures", str(tmp_path / "everybody's"))
    assert not shared.captures.exists()
    assert len(list(capture_paths(tmp_path / "everybody's"))) == 1
    for words in (
        [str(in_s3.root), "analyze", "--jobs", "1"],
        [str(whole.root), "study", "merge", str(in_s3.root), str(shared.root)],
    ):
        done = CliRunner().invoke(main, ["--study", *words])
        assert done.exit_code == 0, done.output
    with duckdb.connect(str(in_s3.database_path), read_only=True) as connection:
        assert connection.execute("SELECT site FROM visits").fetchall() == [("anna.test",)]
    assert made(whole) == 2
    assert states(whole) == {("done", None): 2}
    (capture,) = capture_paths(tmp_path / "everybody's")
    capture.write_bytes(b"no capture")
    done = CliRunner().invoke(main, ["--study", str(shared.root), "analyze", "--jobs", "1"])
    assert done.exit_code == 1, done.output
    assert shlex.join(["rm", str(capture)]) in done.output


@pytest.mark.promise("clusters-need-certificates")
def test_addresses_need_tls() -> None:
    for address in ("tls://192.0.2.1:8786", "tls://crawl.example:1", "tls://127.0.0.1:8786"):
        require_trusted(address)
    for address in ("tcp://127.0.0.1:8786", "tcp://[::1]:8786", "tcp://localhost:8786", "tcp://192.0.2.1:8786"):
        with pytest.raises(UsageError, match="is without TLS"):
            require_trusted(address)
    for address in ("192.0.2.1:8786", "tls://host", "ws://127.0.0.1:1", "inproc://x:1", "tls://h:99999", "tls://:1"):
        with pytest.raises(UsageError, match="is no address of a scheduler"):
            require_trusted(address)


def test_certificates_are_all_needed(tmp_path: Path) -> None:
    papers = Papers(tmp_path / "papers")
    address = "tls://192.0.2.1:8786"
    with pytest.raises(UsageError, match="needs --tls-ca-file and --tls-key"):
        security_of(Cluster(address, certificate=str(papers.certificate)))
    with pytest.raises(UsageError, match="there is no file"):
        security_of(Cluster(address, str(tmp_path / "none"), str(papers.certificate), str(papers.key)))
    given = security_of(Cluster(address, str(papers.authority), str(papers.certificate), str(papers.key)))
    assert given.require_encryption


def outcome(study: Path, cluster: Cluster) -> object:
    """What a crawl on a cluster comes to, without any site being reached."""
    sites = parse_site_list("list", [(1, "never.example")], "0")
    try:
        settings = CrawlSettings(cluster=cluster, least_disk=0, least_memory=0)
        return crawl(Study(study), sites, settings, lambda _visit, _left: None, lambda _plan: None)
    except (ClusterError, UsageError) as error:
        return error


def first_byte(host: str, port: int, context: ssl.SSLContext) -> bytes:
    """What somebody says first who has let us in."""
    with socket.create_connection((host, port), PATIENCE_S) as raw, context.wrap_socket(raw) as connection:
        if not (said := connection.recv(1)):
            raise ConnectionResetError
        return said


@pytest.mark.promise("clusters-need-certificates")
def test_nobody_is_let_in_without_a_certificate_of_the_cluster(tmp_path: Path) -> None:
    ours, theirs = Papers(tmp_path / "ours"), Papers(tmp_path / "theirs")
    with scheduler(tmp_path, "tls://127.0.0.1", *ours.options) as address:
        stranger = Cluster(address, *map(str, (theirs.authority, theirs.certificate, theirs.key)))
        told = outcome(tmp_path / "study", stranger)
        assert isinstance(told, ClusterError)
        assert "none that knows these certificates" in str(told)
        # One who knows the authority, and so would trust the scheduler, but has nothing to show.
        context = ssl.create_default_context(cafile=str(ours.authority))
        context.check_hostname = False
        host, port = address.removeprefix("tls://").split(":")
        with pytest.raises((ssl.SSLError, ConnectionError)):
            first_byte(host, int(port), context)
        context.load_cert_chain(ours.certificate, ours.key)
        assert first_byte(host, int(port), context)
    assert not (tmp_path / "study").exists(), "nothing was begun"


@pytest.mark.promise("clusters-need-certificates")
def test_a_cluster_without_tls_is_refused(tmp_path: Path) -> None:
    with scheduler(tmp_path, "tcp://127.0.0.1") as address:
        assert obedient(int(address.rpartition(":")[2])) == "Dask"
        told = outcome(tmp_path / "study", Cluster(address))
    assert isinstance(told, UsageError)
    assert "is without TLS" in str(told)
    assert not (tmp_path / "study").exists(), "nothing was begun"


def test_a_cluster_without_workers_ends_the_crawl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "_NOBODY_S", 0.5)
    papers = Papers(tmp_path / "papers")
    with scheduler(tmp_path, "tls://127.0.0.1", *papers.options) as address:
        cluster = Cluster(address, *map(str, (papers.authority, papers.certificate, papers.key)))
        summary = outcome(tmp_path / "study", cluster)
    assert (summary.left_over, summary.made) == (1, {})
    assert "no worker" in summary.shortage


def test_another_version_is_told() -> None:
    answer = msgspec.msgpack.decode(make_batch(msgspec.msgpack.encode(("0.0.0", b"whatever"))), type=Answer)
    assert (answer.made, answer.refused) == ([], f"it has originset {originset.__version__}, the crawl 0.0.0")


@pytest.mark.browser
@pytest.mark.testbed
def test_a_worker_without_a_network_gets_its_visits_again(lab: Lab, tmp_path: Path) -> None:
    study = Study(tmp_path / "study")
    with socket.create_server(("127.0.0.1", 0)) as server:
        place = server.getsockname()
    known_good = ("--retries", "0", "--known-good", f"127.0.0.1:{place[1]}")
    with lab.crawl(study, ["gone.test"], *known_good) as process:
        assert process.stderr is not None
        said = next(line for line in process.stderr if "has no network" in line)
        assert said.startswith("crawl: tls://127.0.0.1:")
        assert "failed" not in {state for state, _ in states(study)}
        with socket.create_server(place):
            _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, said
    assert "has a network again" in said
    assert states(study) == {("failed", "dns"): 1}
