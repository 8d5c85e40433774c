"""What the linter proposes, applied: real servers are asked again, and the linter finds no fault any more."""

from __future__ import annotations

import os
import socket
import ssl

import pytest
from lab_changes import CHANGES, Change
from lab_lint import READERS, lab_folder, linted, linted_text, require_servers

from originset.cli.check.lint_report import change
from originset.crawler.testbed.server_lab.situation_observation import lab_addresses, observe, running_situation
from originset.crawler.testbed.server_lab.situation_text import ADDRESS, Situation, situations
from originset.models.servers.shared_connections import SharedConnection

pytestmark = [pytest.mark.testbed, pytest.mark.soak, pytest.mark.alone]

FULL = os.environ.get("ORIGINSET_SOAK") == "full"
SAMPLE = [one for one in CHANGES if one.situation in ("caddy-client-certificate-insecure", "nghttpx-by-server-name")][
    1:
]
SITUATIONS = {one.name: one for one in situations()}
WWW, STATIC = "www.lab.test", "static.lab.test"
FAULTS = ("refused", "404", "wrong site", "client certificate bypassed")


@pytest.fixture(scope="module", autouse=True)
def _addresses():
    with lab_addresses():
        yield


def verdict(situation: Situation, folder) -> tuple[SharedConnection | None, str | None]:
    """What the linter says of requests for static on connections for www, and what it proposes."""
    server, text = linted_text(situation)
    for one in linted(server, text, folder)[1] if server in READERS else ():
        if (one.opened_for, one.requested) == (WWW, STATIC):
            return one, change(server, one)
    return None, None


def test_every_proposed_change_is_tried(tmp_path) -> None:
    folder = lab_folder(tmp_path / "linted")
    proposed = {name: found[1] for name, one in SITUATIONS.items() if (found := verdict(one, folder))[1]}
    assert {one.situation for one in CHANGES} == proposed.keys()
    for name, advice in proposed.items():
        of_it = [one for one in CHANGES if one.situation == name]
        assert len(of_it) == len(advice.split("; or "))
        assert all(line in advice for one in of_it for line in one.proposed)


def covered(situation: Situation, folder) -> set[str]:
    """The names of the certificate that connections for www get."""
    with running_situation(situation, folder) as authority:
        context = ssl.create_default_context(cafile=str(authority.root))
        with (
            socket.create_connection((ADDRESS, 443), timeout=20) as connected,
            context.wrap_socket(connected, server_hostname=WWW) as secured,
        ):
            return {str(name) for _, name in secured.getpeercert()["subjectAltName"]}


@pytest.mark.parametrize("one", CHANGES if FULL else SAMPLE, ids=str)
def test_a_proposed_change_mends_it(one: Change, tmp_path) -> None:
    situation, folder = SITUATIONS[one.situation], lab_folder(tmp_path / "linted")
    changed = one.applied(situation)
    before, _ = verdict(situation, folder)
    after, _ = verdict(changed, folder)
    assert before is not None
    assert before.verdict in FAULTS
    assert after is not None
    assert after.verdict == one.verdict
    require_servers(situation)
    if one.is_certificate:
        assert STATIC in covered(situation, tmp_path / "before")
        assert covered(changed, tmp_path / "server") == {WWW}
    else:
        assert observe(changed, tmp_path / "server").outcome("www", "static") == "421"
