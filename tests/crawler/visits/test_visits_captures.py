"""One visit to every site of the scenario ``captures``: what the capture says is what the servers and the DNS saw.

And that what each site is there for did happen, by the servers' own logs.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator

import pytest
from seen_captures import Seen, check, see

from originset.crawler.browsers.chromium import Chromium
from originset.crawler.settings import BrowserName, VisitSettings
from originset.crawler.testbed import scenario_file
from originset.crawler.testbed.servers.responses import UNANSWERED
from originset.crawler.testbed.testbed import Testbed

pytestmark = [pytest.mark.browser, pytest.mark.testbed]

SITES = scenario_file.built_in("captures").sites
QUIET_S = 0.3


@pytest.fixture(scope="module")
def settings(captures: Testbed) -> VisitSettings:
    return VisitSettings(
        timeout_s=20, quiet_s=QUIET_S, environment=captures.environment, extra_flags=captures.browser_flags
    )


@pytest.fixture(scope="module")
def browser(settings: VisitSettings) -> Iterator[Chromium]:
    with Chromium(settings) as chromium:
        yield chromium


@pytest.fixture(scope="module")
def shell(settings: VisitSettings) -> Iterator[Chromium]:
    with Chromium(dataclasses.replace(settings, browser="headless-shell")) as chromium:
        yield chromium


@pytest.fixture(scope="module")
def seen(captures: Testbed, browser: Chromium) -> Callable[[str], Seen]:
    """Visits a site once, however many tests ask for it."""
    visits: dict[str, Seen] = {}

    def visited(site: str) -> Seen:
        if site not in visits:
            visits[site] = see(captures, browser, site)
        return visits[site]

    return visited


@pytest.mark.parametrize("site", SITES)
def test_a_capture_tells_what_the_testbed_saw(captures: Testbed, seen: Callable[[str], Seen], site: str) -> None:
    one = seen(site)
    expected = ("partial", "timeout") if site == "hangs.test" else ("ok", None)
    assert (one.extension.visit.status, one.extension.visit.error) == expected
    check(captures, one)


@pytest.mark.parametrize("site", SITES)
def test_headless_shell_tells_what_the_testbed_saw(captures: Testbed, shell: Chromium, site: str) -> None:
    one = see(captures, shell, site)
    expected = ("partial", "timeout") if site == "hangs.test" else ("ok", None)
    assert (one.extension.visit.status, one.extension.visit.error) == expected
    assert one.extension.visit.browser == "chromium-headless-shell"
    check(captures, one)


def test_http1_in_parallel(seen: Callable[[str], Seen]) -> None:
    one = seen("http1.test")
    assert {request.protocol for request in one.requests} == {"http/1.1"}
    assert len(one.requests) == 9
    assert 2 < len({request.connection for request in one.requests}) <= 6, "as many as browsers open to one host"


def test_http2_is_coalesced_by_address(seen: Callable[[str], Seen]) -> None:
    one = seen("http2.test")
    document, far = one.request("/"), one.requests[-1]
    assert {request.protocol for request in one.requests} == {"h2"}
    shard = next(request for request in one.requests if request.host == "shard.http2.test")
    assert shard.connection == document.connection
    assert (far.host, far.connection == document.connection) == ("far.http2.test", False)
    assert {c.first_host: c.pooled_by_ip for c in one.extension.connections} == {
        "http2.test": ["shard.http2.test"],
        "far.http2.test": [],
    }


def test_http3_and_its_origin_frame(seen: Callable[[str], Seen]) -> None:
    without, promised = seen("http3.test"), seen("promised.test")
    assert {handshake.alpn for one in (without, promised) for handshake in one.handshakes} == {"h3"}
    assert len({request.connection for request in without.requests}) == 2
    # RFC 9412: the other host is at another address, and neither connected to nor looked up.
    assert len({request.connection for request in promised.requests}) == 1
    assert len(promised.paths(host="far.promised.test", protocol="h3")) == 2
    assert {query.name for query in promised.queries} == {"promised.test"}
    assert "far.http3.test" in {query.name for query in without.queries}
    (connection,) = (c for c in promised.extension.connections if c.used)
    assert (connection.pooled_by_origin, connection.pooled_by_ip) == (["far.promised.test"], [])


def test_http3_is_found(captures: Testbed, browser: Chromium, seen: Callable[[str], Seen]) -> None:
    """By its HTTPS record at once, unless TCP wins the race; by Alt-Svc after the first answer."""
    visits = [seen("found.test")]
    while not (found := visits[-1].paths(host="found.test", path="/", protocol="h3")) and len(visits) < 3:
        visits.append(see(captures, browser, "found.test"))
        check(captures, visits[-1])
    assert found
    assert visits[-1].paths(host="far.found.test", protocol="h3")
    assert len({request.connection for request in visits[-1].requests}) == 1
    # As the record has it, without the HTTP/1.1 that is meant besides (RFC 9460 section 7.1.2).
    records = {query.host: query.answers for query in visits[-1].extension.dns if query.rtype == "HTTPS"}
    assert [answer.partition("alpn=")[2] for answer in records["found.test"]] == ["h3,h2"]
    told = seen("told.test")
    assert told.request("/").protocol == "h2"
    assert told.request("/late.png").protocol == "h3"


@pytest.mark.parametrize(
    ("site", "hops"),
    [
        ("http.test", ["http://http.test/", "https://http.test/"]),
        ("two.test", ["https://two.test/", "https://three.test/"]),
        ("one.test", ["http://one.test/", "https://one.test/", "https://two.test/", "https://three.test/"]),
    ],
)
def test_redirects(seen: Callable[[str], Seen], site: str, hops: list[str]) -> None:
    one = seen(site)
    assert [f"{request.scheme}://{request.host}/" for request in one.requests if request.path == "/"] == hops
    documents = [entry for entry in one.har_log["entries"] if entry["_resourceType"] == "document"]
    assert [entry["request"]["url"] for entry in documents] == hops
    assert [entry["response"]["status"] for entry in documents] == [301] * (len(hops) - 1) + [200]
    assert one.extension.visit.final_url == hops[-1]


def test_frames(seen: Callable[[str], Seen]) -> None:
    one = seen("frames.test")
    assert one.request("/in-frame.png").cookies == ["third"], "third-party cookies are allowed"
    (nested,) = one.entries("https://frames.test/in-nested.png")
    assert nested["_frameUrl"] == "https://other.third.test/nested"
    # A frame of another site has connections of its own, even to the page's own host.
    own, within = one.connection(one.request("/")), one.connection(one.requests[-1])
    assert (own.first_host, within.first_host) == ("frames.test", "frames.test")
    assert own.id != within.id
    assert own.partition_key != within.partition_key


def test_a_service_worker(seen: Callable[[str], Seen]) -> None:
    one = seen("worker.test")
    assert Counter(request.path for request in one.requests) == Counter(
        ["/", "/worker.js", "/kept.png", "/passed-on.png"]
    ), "what it keeps is asked for once, for the cache; what it passes on, once by it"
    for name in ("/kept.png", "/passed-on.png"):
        (network, page) = sorted(one.entries(name), key=lambda entry: "connection" not in entry)
        assert (network["_resourceType"], page["_resourceType"]) == ("fetch", "image")
        assert page["_fromCache"] == "service_worker"
        assert "connection" not in page


def test_a_websocket(seen: Callable[[str], Seen]) -> None:
    one = seen("socket.test")
    socket = one.request("/room")
    assert (socket.protocol, socket.status) == ("websocket", 101)
    assert [message.connection for message in one.messages] == [socket.connection]
    assert socket.connection not in {request.connection for request in one.requests if request is not socket}
    (entry,) = one.entries("/room")
    assert (entry["response"]["status"], entry["_resourceType"]) == (101, "websocket")


def test_credentials_decide_the_connection(seen: Callable[[str], Seen]) -> None:
    one = seen("fetches.test")
    assert {path for _, path in one.paths(host="third.test", cookies=["third"])} == {"/include.json"}
    by_path = {request.path: one.connection(request) for request in one.requests}
    assert by_path["/include.json"].id == by_path["/cookie.png"].id
    assert by_path["/omit.json"].id == by_path["/same-origin.json"].id != by_path["/include.json"].id
    assert by_path["/own-include.json"].id == by_path["/"].id != by_path["/own-omit.json"].id
    assert {by_path[path].privacy_mode for path in ("/include.json", "/own-include.json")} == {"disabled"}
    assert {by_path[path].privacy_mode for path in ("/omit.json", "/same-origin.json", "/own-omit.json")} == {"enabled"}
    said = {
        entry["request"]["url"].rpartition("/")[2]: entry["_credentials"]
        for entry in one.har_log["entries"]
        if entry["request"]["method"] == "GET"
    }
    assert {name for name, mode in said.items() if mode == "omit"} == {
        *("omit.json", "same-origin.json", "own-omit.json"),
    }
    assert {said[name] for name in ("", "include.json", "cookie.png", "own-include.json")} == {"include"}
    other = seen("xhrs.test")
    assert other.request("/with.json").cookies == ["third"]
    assert other.request("/without.json").cookies == []
    assert other.request("/with.json").connection != other.request("/without.json").connection


def test_hints_in_a_context_of_its_own(seen: Callable[[str], Seen]) -> None:
    """Chromium does prefetch there, but it neither connects nor looks up ahead of need."""
    one = seen("hints.test")
    assert ("hints.test", "/next.css") in one.paths()
    assert {handshake.server_name for handshake in one.handshakes} == {"hints.test", "used.hints.test"}
    assert {query.name for query in one.queries} == {"hints.test", "used.hints.test"}


def test_hints_in_a_profile_per_visit(captures: Testbed, settings: VisitSettings) -> None:
    """Outside a context, it opens what is never used, and looks up what is never asked for."""
    with Chromium(dataclasses.replace(settings, profile_per_visit=True)) as chromium:
        one = see(captures, chromium, "hints.test")
    check(captures, one)
    assert "unused.hints.test" in {handshake.server_name for handshake in one.handshakes}
    assert "unused.hints.test" not in {request.host for request in one.requests}
    assert [c.used for c in one.extension.connections if c.first_host == "unused.hints.test"] == [False]
    assert {handshake.server_name for handshake in one.handshakes} >= {"hints.test", "used.hints.test"}
    looked_up = [query for query in one.extension.dns if query.host == "looked-up.hints.test"]
    assert {query.rtype for query in looked_up if query.answers} >= {"A"}
    assert "looked-up.hints.test" not in {handshake.server_name for handshake in one.handshakes}


def test_a_preload_for_nothing(seen: Callable[[str], Seen]) -> None:
    one = seen("preload.test")
    sent, again = one.entries("/text.woff2")
    assert sent["_initiator"]["type"] == again["_initiator"]["type"] == "parser"
    assert len(one.paths(path="/text.woff2")) == 1
    assert "connection" in sent
    assert again.get("_fromCache") == "disk", "asked for twice, sent once: the browser's cache holds it"


def test_names_and_addresses(seen: Callable[[str], Seen]) -> None:
    dual = seen("dual.test")
    assert dual.request("/").server == "2606:4700::6812:601"
    assert {query.rtype: bool(query.answers) for query in dual.extension.dns} == {
        "A": True,
        "AAAA": True,
        "HTTPS": False,
    }
    alias = {query.rtype: query for query in seen("alias.test").extension.dns}
    assert alias["A"].cname_chain == ["balancer.test", "edge.test"]
    assert alias["A"].answers == ["104.18.6.2"]
    many = {query.rtype: query.answers for query in seen("many.test").extension.dns}
    assert sorted(many["A"]) == [f"104.18.6.{number}" for number in range(3, 7)]
    halfway = seen("halfway.test")
    assert {q.status for q in halfway.extension.dns if q.host == "nowhere.test" and q.attempts} == {"NXDOMAIN"}
    (entry,) = halfway.entries("https://nowhere.test/1.png")
    assert entry["response"]["_error"] == "net::ERR_NAME_NOT_RESOLVED"
    literal = seen("literal.test")
    assert ("104.18.6.9", "/1.png") in literal.paths(status=200)
    assert {query.host for query in literal.extension.dns if query.attempts} == {"literal.test"}


def test_a_misdirected_request_is_asked_again(seen: Callable[[str], Seen]) -> None:
    one = seen("misdirected.test")
    first, second = (request for request in one.requests if request.host == "neighbour.test")
    assert (first.status, second.status) == (421, 200)
    assert first.connection == one.request("/").connection != second.connection


def test_answers_that_are_none(seen: Callable[[str], Seen]) -> None:
    late = seen("late.test")
    (entry,) = late.entries("/late.png")
    assert entry["response"]["status"] == 200
    assert late.requests[-1].time - late.requests[-2].time >= 0.5
    inline = seen("inline.test")
    assert len(inline.requests) == 1
    assert {e["request"]["url"].partition(":")[0] for e in inline.har_log["entries"]} == {"https", "data", "blob"}
    assert {request.path for request in seen("download.test").requests} == {"/"}
    statuses = seen("statuses.test")
    (missing,), (nothing,) = statuses.entries("/missing.png"), statuses.entries("/nothing.json")
    assert (missing["response"]["status"], nothing["response"]["status"]) == (404, 204)
    assert "_error" not in nothing["response"], "an answer without a body is none that failed"
    hangs = seen("hangs.test")
    assert hangs.request("/never.png").status == UNANSWERED
    (never,) = hangs.entries("/never.png")
    assert never["response"]["status"] == 0
    assert "connection" in never


def test_third_party_cookies_are_sent_where_they_are_allowed(
    captures: Testbed, shell: Chromium, seen: Callable[[str], Seen]
) -> None:
    for one in (seen("strict.test"), see(captures, shell, "strict.test")):
        assert {request.host: request.cookies for request in one.requests if request.path == "/back.png"} == {
            "strict.test": ["first"],
            "third.test": ["third"],
        }
        assert one.extension.visit.third_party_cookies == "allowed"


@pytest.mark.parametrize("kind", ["chromium", "headless-shell"])
def test_third_party_cookies_are_not_sent_where_they_are_blocked(
    captures: Testbed, settings: VisitSettings, kind: BrowserName
) -> None:
    with Chromium(dataclasses.replace(settings, browser=kind, third_party_cookies="blocked")) as chromium:
        blocked = see(captures, chromium, "strict.test")
    check(captures, blocked)
    assert {request.host: request.cookies for request in blocked.requests if request.path == "/back.png"} == {
        "strict.test": ["first"],
        "third.test": [],
    }
    assert blocked.extension.visit.third_party_cookies == "blocked"
    # What parts the pools, and so whether sites can share connections at all.
    (third,) = (c for c in blocked.extension.connections if c.first_host == "third.test")
    assert third.privacy_mode == "enabled partitioned state allowed"
