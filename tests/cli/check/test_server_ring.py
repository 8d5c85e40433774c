"""``check server --rollout``: hosts of a ring, by how far the ring has come, against the testbed's servers."""

import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.testbed

INVENTORY = """certificate,names
gazette,*.none.test www.gazette.example
metrics,stats.metrics.test
social,widget.social.test
wild,*.typeface.test
"""


def change(certificate: str, group: str, name: str, *later: str) -> dict[str, object]:
    return {"certificate": certificate, "group": group, "names": [name], "later": list(later)}


RINGS = [
    # Its set and certificate are as planned.
    [change("gazette", "experiment", "media.gazette.example")],
    # The control's certificate lacks its unused name; the other announces nothing.
    [
        change("metrics", "control", "00000.x.test", "media.gazette.example"),
        change("social", "experiment", "avatars.social.test"),
    ],
    # A control that announces what it is to have later.
    [change("gazette", "control", "www.gazette.example", "media.gazette.example")],
    [change("wild", "experiment", "media.gazette.example")],
]


@pytest.fixture
def check(run, testbed, tmp_path: Path):
    """Faults (test, subject) and the exit code of a ring at a step."""
    rings = [{"ring": n, "connections_saved": 1, "certificates": ring} for n, ring in enumerate(RINGS, 1)]
    (tmp_path / "rings.json").write_text(json.dumps({"seed": "1", "rings": rings}))
    (tmp_path / "inventory.csv").write_text(INVENTORY)
    files = ("--rollout", tmp_path / "rings.json", "--inventory", tmp_path / "inventory.csv")

    def checked(ring: int, step: str) -> tuple[int, list[tuple[str, str]]]:
        done = run(
            "check", "server", *files, "--ring", str(ring), "--step", step, "--ca-file", testbed.authority.root,
            "--format", "json",
        )  # fmt: skip
        assert done.stdout, done.stderr
        rows = json.loads(done.stdout)
        return done.returncode, [(row["test"], row["subject"]) for row in rows if row["result"] == "fault"]

    return checked


def test_a_ring_whose_origin_sets_are_sent(check) -> None:
    assert check(1, "origin") == (0, [])
    early = [("announced_early", "media.gazette.example")]
    assert check(1, "certificates") == check(1, "today") == (1, early)


def test_a_ring_that_is_not_begun(check) -> None:
    assert check(2, "today") == (0, [])
    assert check(2, "certificates") == (1, [("lacks_name", "00000.x.test")])
    code, faults = check(2, "origin")
    assert code == 1
    assert set(faults) == {
        ("no_frame", "widget.social.test"),
        ("not_as_planned", "widget.social.test"),
        ("lacks_name", "00000.x.test"),
    }


def test_a_control_that_announces_what_it_gets_later(check) -> None:
    assert check(3, "origin") == (
        1,
        [("announced_early", "www.gazette.example"), ("announced_early", "media.gazette.example")],
    )


def test_a_ring_of_wildcards_alone(run, check, tmp_path: Path) -> None:
    """No server can be asked for one of their hosts, as none is known."""
    with pytest.raises(AssertionError, match="no certificate of the ring covers a host by its name"):
        check(4, "origin")
