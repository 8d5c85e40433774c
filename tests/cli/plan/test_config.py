"""``originset config``: the right file for servers that can, one line for those that cannot, nothing for bad plans."""

import json
from pathlib import Path
from typing import Any

import pytest

from originset.cli.writers.capabilities import CAPABILITIES

GOLDEN = Path(__file__).parents[2] / "fixtures" / "configs"


@pytest.mark.parametrize(
    ("server", "golden"), [("node", "origins.mjs"), ("h2o", "origins.yaml"), ("list", "origins.txt")]
)
def test_files_are_as_reviewed_and_stable(run, tmp_path: Path, server: str, golden: str) -> None:
    done = run("plan", "config", "--server", server, "--site", "www.site.test")
    assert done.returncode == 0, done.stderr
    assert done.stdout == (GOLDEN / golden).read_text()
    assert "1 misdirected, 1 not_an_origin, 1 not_covered" in done.stderr
    assert "\x1b" not in done.stderr
    assert run("plan", "site", "www.site.test", "--out", tmp_path / "plan.json").returncode == 0
    again = run(
        "plan", "config", "--server", server.upper(), "--plan", tmp_path / "plan.json", "--out", tmp_path / golden
    )
    assert (again.returncode, again.stdout) == (0, "")
    assert (tmp_path / golden).read_text() == done.stdout


@pytest.mark.parametrize("server", [name for name, c in CAPABILITIES.items() if c.sends != "yes"])
def test_servers_that_cannot_are_refused_with_what_helps(run, server: str) -> None:
    done = run("plan", "config", "--server", server, "--site", "www.site.test")
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert CAPABILITIES[server].title in line
    assert CAPABILITIES[server].source in line
    assert "answer 421" in line


def test_an_unknown_server_is_told_the_known_ones(run) -> None:
    done = run("plan", "config", "--server", "iis", "--site", "www.site.test")
    assert done.returncode == 2
    assert all(name in done.stderr for name in CAPABILITIES)


@pytest.mark.parametrize("arguments", [[], ["--site", "www.site.test", "--plan", __file__]])
def test_site_or_plan_and_not_both(run, arguments: list[str]) -> None:
    done = run("plan", "config", "--server", "node", *arguments)
    assert done.returncode == 2
    assert "either --site or --plan" in done.stderr


def written(folder: Path, origins: list[str], **changes: Any) -> Path:
    announced = [
        {"origin": origin, "level": 3, "requests": 1, "visits": 1, "seen_share": 1.0, "coalesces_today": False}
        for origin in origins
    ]
    made = {
        "format": "originset-plan", "version": 1, "site": "a.test", "certificate_id": None, "certificate_names": None,
        "basis": {"study": "S", "visits": 1, "vantages": 1, "first_visit": "2026-11-21", "last_visit": "2026-11-21"},
        "servers": [{"server": "a.test", "announce": announced, "left_out": [], "warnings": []}],
        "additions": [], "additions_left_out": [], "additions_not_taken": 0,
    }  # fmt: skip
    path = folder / "plan.json"
    path.write_text(json.dumps(made | changes))
    return path


def test_what_is_no_origin_is_left_out_with_a_reason(run, tmp_path: Path) -> None:
    bad = ["https://*.a.test", "https://192.0.2.1", "https://a.test/x", "http://a.test", "https://evil\x1b\n*/.test"]
    done = run(
        "plan",
        "config",
        "--server",
        "list",
        "--plan",
        written(tmp_path, ["https://a.test", "https://b.test:8443", *bad]),
    )
    assert (done.returncode, done.stdout) == (0, "https://a.test\nhttps://b.test:8443\n")
    reasons = [line.rpartition(": ")[2] for line in done.stderr.splitlines()]
    assert reasons == [
        "a wildcard is not an origin",
        "an IP address is not a host name",
        "an origin has no path",
        "only https origins can be announced",
        "an origin has no path",
    ]


@pytest.mark.parametrize(
    ("origins", "changes", "said"),
    [
        (["https://b.test"], {}, "lack the server's own origin"),
        ([], {}, "lack the server's own origin"),
        (["https://a.test"], {"servers": []}, "names no server"),
        (["https://a.test"], {"version": 2}, "version 2"),
        (["https://a.test"], {"format": "har"}, "is not a plan"),
        (["https://a.test"], {"servers": "none"}, "is not a plan"),
        (["https://a.test"], {"basis": {"__proto__": 1}}, "is not a plan"),
        (["https://a.test", *(f"https://{n:05}.b.test" for n in range(750))], {}, "a frame holds 16382"),
    ],
)
def test_plans_that_are_refused(run, tmp_path: Path, origins: list[str], changes: dict[str, Any], said: str) -> None:
    done = run("plan", "config", "--server", "node", "--plan", written(tmp_path, origins, **changes))
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert said in line


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"[" * 100_000, b'{"a": 1}'])
def test_files_that_are_no_plan(run, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "plan.json").write_bytes(content)
    done = run("plan", "config", "--server", "node", "--plan", tmp_path / "plan.json")
    assert (done.returncode, done.stdout) == (2, "")
    assert "is not a plan" in done.stderr


def test_one_of_several_servers(run, tmp_path: Path) -> None:
    path = written(tmp_path, ["https://a.test"])
    made = json.loads(path.read_text())
    made["servers"].append(json.loads(json.dumps(made["servers"][0]).replace("a.test", "b.test")))
    path.write_text(json.dumps(made))
    first = run("plan", "config", "--server", "list", "--plan", path)
    assert first.stdout == "https://a.test\n"
    assert "b.test" in first.stderr
    assert run("plan", "config", "--server", "list", "--plan", path, "--host", "b.test").stdout == "https://b.test\n"
    assert run("plan", "config", "--server", "list", "--plan", path, "--host", "c.test").returncode == 2


def test_other_hosts_whose_connections_are_to_send_the_set(run, tmp_path: Path) -> None:
    path = written(tmp_path, ["https://a.test"])
    made = json.loads(path.read_text())
    made["servers"][0]["same_server"] = ["b.test", "c\x1b[2J.test", "d.test", "e.test"]
    path.write_text(json.dumps(made))
    done = run("plan", "config", "--server", "list", "--plan", path)
    assert done.stdout == "https://a.test\n"
    assert 'connections that are opened for "b.test", ' in done.stderr
    assert '"d.test", ... serve it too: send the set on those as well' in done.stderr
    assert "\x1b" not in done.stderr


def test_bytes_go_to_a_file_as_they_are(run, tmp_path: Path) -> None:
    for server, head in (("raw", bytes.fromhex("000010 0c 00 00000000")), ("raw-h3", b"")):
        done = run(
            "plan",
            "config",
            "--server",
            server,
            "--plan",
            written(tmp_path, ["https://a.test"]),
            "--out",
            tmp_path / "f",
        )
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "f").read_bytes() == head + b"\x00\x0ehttps://a.test"
