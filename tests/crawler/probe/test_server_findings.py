"""Broken servers, live: each fault is found once, and nothing else is."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from faulty_server import Behaviour, FaultyServer, Reply, announcing, by_name

from originset.crawler.probe import origin_frame
from originset.crawler.probe.server_findings import ServerFinding, findings
from originset.crawler.probe.server_observation import ProbeTarget, observe_server
from originset.crawler.testbed import scenario_file
from originset.crawler.testbed.server_logs import ServerLog
from originset.crawler.testbed.servers.http3_server import H3Server
from originset.crawler.testbed.servers.responses import Answers
from originset.crawler.testbed.servers.web_server import certificate_folder
from originset.crawler.testbed.testbed import Testbed
from originset.data.errors import ProbeError

pytestmark = pytest.mark.testbed

SITE, OTHER, ALIAS, STRANGER = "www.site.test", "img.other.test", "alias.site.test", "far.stranger.test"
SERVER, HOME, FAR = "104.20.7.1", "104.20.7.2", "104.20.7.3"
SCENARIO = f"""
dns = "192.0.2.57"
[certificate.site]
names = ["{SITE}", "{OTHER}", "{ALIAS}"]
[certificate.other]
names = ["{OTHER}"]
[certificate.stranger]
names = ["{STRANGER}"]
[host."{SITE}"]
addresses = ["{SERVER}"]
certificate = "site"
external = true
http3 = "advertised"
origin_set = ["https://{SITE}", "https://{OTHER}", "https://{ALIAS}"]
[host."{ALIAS}"]
addresses = ["{SERVER}"]
certificate = "site"
external = true
[host."{OTHER}"]
addresses = ["{HOME}"]
certificate = "other"
external = true
[host."{STRANGER}"]
addresses = ["{FAR}"]
certificate = "stranger"
external = true
"""
COMPLETE = tuple(f"https://{host}" for host in (SITE, OTHER, ALIAS))


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Testbed]:
    with Testbed(scenario_file.parse(SCENARIO), tmp_path_factory.mktemp("preflight")) as running:
        yield running


Serve = Callable[..., contextlib.AbstractContextManager[None]]


@pytest.fixture
def serve(lab: Testbed) -> Serve:
    @contextlib.contextmanager
    def up(*, home: dict | None = None, **site: object) -> Iterator[None]:
        site.setdefault("frames", announcing(*COMPLETE))
        with (
            FaultyServer(SERVER, lab.certificate_of(SITE), **site),
            FaultyServer(HOME, lab.certificate_of(OTHER), **(home or {})),
            FaultyServer(FAR, lab.certificate_of(STRANGER)),
        ):
            yield

    return up


def found_at(lab: Testbed, planned: tuple[str, ...] | None = None) -> list[ServerFinding]:
    return findings(observe_server(ProbeTarget(SITE, SERVER, ca_file=lab.authority.root)), planned)


def faults(lab: Testbed, planned: tuple[str, ...] | None = None) -> list[tuple[str, str]]:
    return [(one.code, one.subject) for one in found_at(lab, planned) if not one.is_note]


def test_a_healthy_server_has_no_fault(lab: Testbed, serve: Serve) -> None:
    with serve():
        assert found_at(lab, COMPLETE) == []


@pytest.mark.parametrize(
    ("frames", "expected"),
    [
        ([], [("no_frame", SITE)]),
        ([origin_frame.frame(b"")], [("empty_frame", SITE)]),
        (announcing(*COMPLETE[1:]), [("own_name_missing", SITE)]),
        (announcing(*COMPLETE[:2]), [("incomplete", ALIAS)]),
        (announcing(*COMPLETE, f"https://{STRANGER}"), [("not_covered", STRANGER)]),
        (announcing(*COMPLETE, "https://*.site.test"), [("not_an_origin", "https://*.site.test")]),
        (announcing(*COMPLETE, "https://www.site.test/x"), [("not_an_origin", "https://www.site.test/x")]),
        ([origin_frame.frame(300 * origin_frame.encode_payload(COMPLETE))], [("frame_too_long", SITE)]),
    ],
)
def test_faults_of_the_frame(lab: Testbed, serve: Serve, frames: list[bytes], expected: list[tuple[str, str]]) -> None:
    with serve(frames=frames):
        assert faults(lab) == expected


def _misdirects(_first: str, host: str) -> Reply:
    return Reply(421) if host == OTHER else by_name("", host)


def _resets(_first: str, host: str) -> Reply:
    return Reply(0) if host == OTHER else by_name("", host)


def _redirects(_first: str, host: str) -> Reply:
    return Reply(302, headers=(("location", f"https://{SITE}/"),)) if host == OTHER else by_name("", host)


def _other_kind(_first: str, host: str) -> Reply:
    return Reply(kind="text/plain" if host == OTHER else "text/html", body=host.encode())


def _routes_once(first: str, host: str) -> Reply:
    """As a proxy does that looks at a connection's first request alone."""
    return Reply(404 if first == OTHER else 200, body=host.encode())


@pytest.mark.parametrize(
    ("behaviour", "code"),
    [
        (_misdirects, "misdirected"),
        (_resets, "no_answer"),
        (_redirects, "answers_differ"),
        (_other_kind, "answers_differ"),
        (_routes_once, "contaminated"),
    ],
)
def test_faults_of_the_answers(lab: Testbed, serve: Serve, behaviour: Behaviour, code: str) -> None:
    with serve(behaviour=behaviour):
        found = faults(lab)
    assert (code, OTHER) in found
    # What is routed by the first request differs from the host's own answer too.
    assert {one for one, _ in found} <= {code, "answers_differ"}
    assert len(found) == len(set(found))


def test_odd_origins_are_faults_and_lead_nowhere(lab: Testbed, serve: Serve) -> None:
    odd = ("https://[::1]", f"https://{OTHER}:22", f"http://{OTHER}")
    with serve(frames=announcing(*COMPLETE, *odd)):
        found = found_at(lab)
    assert ("not_covered", "::1") in [(one.code, one.subject) for one in found]
    assert "its port 22 is not one of https" in " ".join(one.detail for one in found)


def test_another_body_is_a_remark(lab: Testbed, serve: Serve) -> None:
    with serve(behaviour=lambda _first, host: Reply(body=b"another " + host.encode())):
        (found,) = found_at(lab)
    assert (found.code, found.subject, found.is_note) == ("body_differs", OTHER, True)


def test_a_host_whose_own_server_is_down_is_not_compared(lab: Testbed, serve: Serve) -> None:
    with serve(home={"latest": ssl.TLSVersion.TLSv1_2, "alpn": "http/1.1"}):
        assert faults(lab) == []  # HTTP/1.1 at home is no fault
    with FaultyServer(SERVER, lab.certificate_of(SITE), frames=announcing(*COMPLETE)):
        (found,) = found_at(lab)
    assert (found.code, found.subject, found.is_note) == ("not_compared", OTHER, True)
    assert "Connection refused" in found.detail


@pytest.mark.parametrize(
    ("site", "home", "expected"),
    [
        ({"latest": ssl.TLSVersion.TLSv1_2}, {}, "weaker_tls"),
        ({}, {"earliest": ssl.TLSVersion.TLSv1_3}, "weaker_tls"),
        ({}, {"asks_for_client_certificate": True}, "client_certificate"),
    ],
)
def test_weaker_than_its_own_server(lab: Testbed, serve: Serve, site: dict, home: dict, expected: str) -> None:
    with serve(home=home, **site):
        assert faults(lab) == [(expected, OTHER)]


def test_a_server_without_http2(lab: Testbed, serve: Serve) -> None:
    with serve(alpn="http/1.1", frames=[]):
        assert faults(lab) == [("no_http2", SITE)]


def test_a_set_that_is_not_the_planned_one(lab: Testbed, serve: Serve) -> None:
    with serve():
        found = found_at(lab, (COMPLETE[0], COMPLETE[2], "https://new.test"))
    assert [one.code for one in found] == ["not_as_planned", "not_as_planned"]
    assert [one.detail.rpartition(": ")[2] for one in found] == ["https://new.test", f"https://{OTHER}"]


def test_http3_with_the_same_set_and_with_another(lab: Testbed, serve: Serve, tmp_path: Path) -> None:
    def advertises(_first: str, host: str) -> Reply:
        return Reply(body=host.encode(), headers=(("alt-svc", 'h3=":443"; ma=60'),))

    with _quic(lab, tmp_path):
        with serve(behaviour=advertises, home={"behaviour": advertises}):
            assert faults(lab) == []
        with serve(behaviour=advertises, frames=announcing(COMPLETE[0], COMPLETE[2])):
            assert faults(lab) == [("http3_differs", SITE)]


@contextlib.contextmanager
def _quic(lab: Testbed, folder: Path) -> Iterator[None]:
    """The testbed's HTTP/3 server at the site's address, with the scenario's origins."""
    ready, loop, transports = threading.Event(), asyncio.new_event_loop(), []
    bind = loop.create_datagram_endpoint

    async def kept(*arguments: Any, **named: Any) -> Any:
        made = await bind(*arguments, **named)
        transports.append(made[0])
        return made

    loop.create_datagram_endpoint = kept  # aioquic keeps the listener to itself, and it has to be closed
    certificates = certificate_folder(lab.folder / "certificates", lab.scenario)

    async def start() -> None:
        answers = Answers(lab.scenario, ServerLog(folder))
        await H3Server(lab.scenario, certificates, answers, itertools.count(1)).start(SERVER, 443)
        ready.set()

    def run() -> None:
        loop.run_until_complete(start())
        loop.run_forever()
        for transport in transports:
            transport.close()
        loop.run_until_complete(asyncio.sleep(0.01))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert ready.wait(10)
    yield
    loop.call_soon_threadsafe(loop.stop)
    thread.join(10)
    loop.close()


def test_whom_nobody_trusts_is_not_asked(lab: Testbed, serve: Serve) -> None:
    with serve(), pytest.raises(ProbeError, match="certificate verify failed"):
        observe_server(ProbeTarget(SITE, SERVER))
