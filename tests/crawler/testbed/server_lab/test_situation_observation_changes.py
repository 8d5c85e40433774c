"""What the linter proposes, applied: real servers are asked again, and the linter finds no fault any more."""

from __future__ import annotations

import os
import socket
import ssl

import msgspec
import pytest
from lab_changes import CHANGES, Change
from lab_lint import lab_folder, linted

from originset.cli.check.lint_report import change
from originset.crawler.testbed.server_lab.lab_servers import running
from originset.crawler.testbed.server_lab.situation_observation import lab_addresses, observe, prepare_folder
from originset.crawler.testbed.server_lab.situation_text import ADDRESS, Situation, situations
from originset.data.errors import MissingDependency

pytestmark = [pytest.mark.testbed, pytest.mark.soak, pytest.mark.alone]

FULL = os.environ.get("ORIGINSET_SOAK") == "full"
SAMPLE = [CHANGES[3], CHANGES[6]]
SITUATIONS = {one.name: one for one in situations()}
WWW, STATIC = "www.lab.test", "static.lab.test"


@pytest.fixture(scope="module", autouse=True)
def _addresses():
    with lab_addresses():
        yield


def covered(situation: Situation, folder) -> set[str]:
    """The names of the certificate that connections for www get."""
    folder.mkdir()
    authority = prepare_folder(folder)
    context = ssl.create_default_context(cafile=str(authority.root))
    with (
        running(situation.server, situation.configuration, folder, [ADDRESS]),
        socket.create_connection((ADDRESS, 443), timeout=20) as connected,
        context.wrap_socket(connected, server_hostname=WWW) as secured,
    ):
        return {str(name) for _, name in secured.getpeercert()["subjectAltName"]}


@pytest.mark.parametrize("one", CHANGES if FULL else SAMPLE, ids=str)
def test_a_proposed_change_mends_it(one: Change, tmp_path) -> None:
    situation, folder = SITUATIONS[one.situation], lab_folder(tmp_path / "linted")
    changed = msgspec.structs.replace(situation, configuration=one.applied(situation.configuration))
    before, after = (
        next(
            each
            for each in linted(situation.server, text, folder)[1]
            if (each.opened_for, each.requested) == (WWW, STATIC)
        )
        for text in (situation.configuration, changed.configuration)
    )
    advice = change(situation.server, before)
    assert advice is not None
    assert all(line in advice for line in one.proposed)
    assert after.verdict == one.verdict
    try:
        if one.verdict == "421":
            assert observe(changed, tmp_path / "server").outcome("www", "static") == "421"
        else:
            assert STATIC in covered(situation, tmp_path / "before")
            assert covered(changed, tmp_path / "server") == {WWW}
    except MissingDependency as missing:
        if os.environ.get("ORIGINSET_REQUIRE_TESTBED"):
            raise
        pytest.skip(str(missing))
