"""What the servers log of a client becomes its outcomes: one that shares connections, and one that does not."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from healthy_testbed import healthy_testbed

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
from originset.crawler.testbed.rules.clients.page import lines
from originset.crawler.testbed.testbed import Testbed
from originset.data.errors import UsageError

RULES = ("address-same", "certificate-missing", "protocol-misdirected")
# One connection for each address, whatever host, or one for each host.
FETCH = """
import http.client, socket, ssl, sys, urllib.parse
context = ssl.create_default_context(cafile=sys.argv[1])
connections = {}
for url in map(urllib.parse.urlsplit, sys.argv[3:]):
    key = socket.gethostbyname(url.hostname) if sys.argv[2] == "address" else url.hostname
    if key not in connections:
        connections[key] = http.client.HTTPSConnection(url.hostname, context=context)
    connections[key].request("GET", url.path, headers={"Host": url.hostname})
    connections[key].getresponse().read()
"""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Testbed]:
    with healthy_testbed(rule_catalogue.combined_scenario(RULES), tmp_path_factory.mktemp("clients") / "bed") as one:
        yield one


@pytest.mark.testbed
@pytest.mark.alone
@pytest.mark.slow
@pytest.mark.parametrize(
    ("connection_for", "expected"),
    [
        (
            "address",
            {
                "address-same": {"1 (h1 www static)": 2},
                "certificate-missing": {"1 (h1 www static)": 2},
                "protocol-misdirected": {"1 (h1 www static 421)": 2},
            },
        ),
        (
            "host",
            {
                "address-same": {"2 (h1 www / h1 static)": 2},
                "certificate-missing": {"2 (h1 www / h1 static)": 2},
                "protocol-misdirected": {"2 (h1 www / h1 static)": 2},
            },
        ),
    ],
)
def test_outcomes_are_what_the_servers_saw(
    running: Testbed, tmp_path: Path, connection_for: str, expected: dict[str, dict[str, int]]
) -> None:
    (tmp_path / "fetch.py").write_text(FETCH)
    client = HttpClient(
        title="of the test",
        needs=("python3",),
        command=(sys.executable, str(tmp_path / "fetch.py"), "{authority}", connection_for),
        version="1",
    )
    installed = install_client(client, tmp_path / "cache")
    seen = observe_client(installed, running, RULES, tmp_path, loads=2, observed_on="2026-01-01")
    assert seen == ClientObservations("of the test", "1", "2026-01-01", 2, expected)


@pytest.mark.testbed
@pytest.mark.alone
@pytest.mark.slow
def test_a_client_that_loads_nothing_is_no_observation(running: Testbed, tmp_path: Path) -> None:
    client = HttpClient(
        title="of the test",
        needs=("python3",),
        command=(sys.executable, "-c", "raise SystemExit('no trust')"),
        version="1",
    )
    with pytest.raises(UsageError, match="of the test loaded nothing; it said: no trust"):
        observe_client(
            install_client(client, tmp_path / "cache"), running, RULES, tmp_path, loads=1, observed_on="2026-01-01"
        )


def test_clients_are_asked_by_plain_pages_alone() -> None:
    rules = client_rules()
    assert set(RULES) <= set(rules)
    assert not {"credentials-crossorigin", "address-same-late", "http3-different", "protocol-redirect"} & set(rules)


def test_all_listed_clients_are_stored_in_all_rules() -> None:
    stored = stored_observations()
    assert {one.client for one in stored} == {one.title for one in http_clients()}
    for one in stored:
        assert set(one.outcomes) == set(client_rules())
        assert {sum(ways.values()) for ways in one.outcomes.values()} == {one.loads}


def test_what_is_seen_takes_the_place_of_what_was() -> None:
    def observed(client: str, version: str) -> ClientObservations:
        return ClientObservations(client, version, "2026-01-01", 1, {"address-same": {"1 (www static)": 1}})

    merged = tuple(
        merged_observations([observed("b", "1"), observed("C", "1")], [observed("C", "2"), observed("a", "1")])
    )
    assert [(one.client, one.version) for one in merged] == [("a", "1"), ("b", "1"), ("C", "2")]
    assert encoded_observations(merged).endswith(b"\n]\n")


def test_the_page_says_who_shares_and_who_asks_again() -> None:
    ways = [
        ("shares", "1 (www static)", "2 (www static 421 / static)"),
        ("does not", "2 (www / static)", "2 (www / static)"),
        ("gives up", "1 (www static)", "1 (www static 421)"),
    ]
    observed = [
        ClientObservations(
            title, "1.0", "2026-01-01", 2, {"address-same": {shared: 2}, "protocol-misdirected": {refused: 2}}
        )
        for title, shared, refused in ways
    ]
    page = list(lines(observed, ("address-same",)))
    assert "| shares 1.0 | 2026-01-01 | 1 | not observed | not observed | yes |" in page
    assert "| does not 1.0 | 2026-01-01 | 2 | not observed | not observed | was never refused |" in page
    assert "| gives up 1.0 | 2026-01-01 | 1 | not observed | not observed | no |" in page
    (both,) = [line for line in page if "shares 1.0" in line and line.startswith("- ")]
    assert both.startswith("- 1 (www static): shares 1.0, gives up 1.0, Chromium")


@pytest.mark.parametrize(
    ("with_frame", "without", "loses"),
    [
        ("1 (static), www lost", "2 (www / static)", True),
        ("2 (www / static)", "2 (www / static)", False),
        ("1 (static), www lost", "1 (static), www lost", False),
    ],
)
def test_the_page_warns_of_clients_that_origin_frames_break(with_frame: str, without: str, loses: bool) -> None:
    ways = {"origin-complete": {with_frame: 1}, "address-different": {without: 1}}
    page = list(lines([ClientObservations("breaks", "1.0", "2026-01-01", 1, ways)], ()))
    assert any(line.startswith("**breaks 1.0 loses") for line in page) == loses
    assert (
        f"| breaks 1.0 | 2026-01-01 | not observed | {'1, www lost' if 'lost' in with_frame else '2'} |"
        in "\n".join(page)
    )
