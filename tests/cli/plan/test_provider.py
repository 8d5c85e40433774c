"""``originset plan provider``: rows by their effect; near names where there is none."""

import json


def test_a_providers_names(run) -> None:
    done = run("plan", "provider", "example cdn", "--format", "json")
    assert done.returncode == 0, done.stderr
    assert [(row["name"], row["sites"], row["connections_saved_firefox"]) for row in json.loads(done.stdout)] == [
        ("lib.cdn.test", 3, 5),
        ("font.cdn.test", 2, None),
    ]
    assert "left out: 1 name that would save no connection in any browser" in done.stderr
    idle = run("plan", "provider", "Example CDN", "--zero-savings", "--format", "json")
    assert [row["name"] for row in json.loads(idle.stdout)] == ["lib.cdn.test", "font.cdn.test", "idle.cdn.test"]
    first = run("plan", "provider", "Example CDN", "--max-additions", "1", "--format", "json")
    assert [row["name"] for row in json.loads(first.stdout)] == ["lib.cdn.test"]
    one = run("plan", "provider", "Example CDN", "--exclude", "lib.cdn.test", "--out", "-")
    assert [row["name"] for row in json.loads(one.stdout)] == ["font.cdn.test"]
    other = run("plan", "provider", "x' OR 1=1 --")
    assert (other.returncode, other.stdout) == (2, "")
    assert "there are: Example CDN" in other.stderr
