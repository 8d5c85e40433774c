"""``originset plan diff``: what came and went, and the way back."""

import json
from pathlib import Path

import pytest
from certificate_plans import TODAY, USUAL, written


def plans(folder: Path) -> tuple[Path, Path]:
    old, new = folder / "old", folder / "new"
    old.mkdir()
    new.mkdir()
    before = written(old, USUAL[:2], TODAY)
    after = written(new, USUAL[1:3], [*TODAY, "static.site.test"], certificate_id="c2")
    changed = json.loads(after.read_text())
    changed["servers"][0]["announce"][1]["origin"] = "https://static.site.test"
    second = {"server": "api.site.test", "announce": [], "left_out": [], "warnings": []}
    changed["servers"].append(second)
    after.write_text(json.dumps(changed))
    return before, after


EXPECTED = {
    ("added", "server", None, "api.site.test"),
    ("added", "origin", "www.site.test", "https://static.site.test"),
    ("removed", "origin", "www.site.test", "https://img.old.test"),
    ("added", "certificate", None, "c2"),
    ("removed", "certificate", None, "c1"),
    ("added", "certificate name", None, "static.site.test"),
    ("added", "name to add", None, "who.test"),
    ("removed", "name to add", None, "static.site.test"),
}


def test_what_came_and_went_and_the_way_back(run, tmp_path: Path) -> None:
    old, new = plans(tmp_path)
    done = run("plan", "diff", old, new, "--format", "json")
    assert done.returncode == 0, done.stderr
    found = {(row["change"], row["kind"], row["server"], row["value"]) for row in json.loads(done.stdout)}
    assert found == EXPECTED
    assert "8 differences: 5 added, 3 removed" in done.stderr
    back = json.loads(run("plan", "diff", new, old, "--format", "json").stdout)
    exchanged = {"added": "removed", "removed": "added"}
    assert {(exchanged[row["change"]], row["kind"], row["server"], row["value"]) for row in back} == EXPECTED
    same = run("plan", "diff", old, old, "--format", "json")
    assert json.loads(same.stdout) == []


def test_what_is_not_known_is_no_difference(run, tmp_path: Path) -> None:
    old, new = plans(tmp_path)
    content = json.loads(old.read_text())
    old.write_text(json.dumps(content | {"names": None, "certificate_names": None, "certificate_id": None}))
    found = json.loads(run("plan", "diff", old, new, "--format", "json").stdout)
    assert {row["kind"] for row in found} == {"server", "origin", "name to add"}


def test_plans_of_an_inventory(run, tmp_path: Path) -> None:
    folder = Path(__file__).parents[2] / "fixtures" / "inventory"
    call = ("plan", "inventory", folder / "certificates.csv", "--pairs", folder / "traffic.csv", "--out")
    assert run(*call, tmp_path / "old.json").returncode == 0
    assert run(*call, tmp_path / "new.json", "--exclude", "static.edge.example").returncode == 0
    done = run("plan", "diff", tmp_path / "old.json", tmp_path / "new.json", "--format", "json")
    assert [(row["change"], row["certificate"], row["value"]) for row in json.loads(done.stdout)] == [
        ("removed", "blog", "static.edge.example"),
        ("removed", "shop", "static.edge.example"),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [("{}", "is not a plan"), ('{"format": "originset-inventory-plan"}', "is not an inventory's plan")],
)
def test_files_that_are_no_plans(run, tmp_path: Path, text: str, said: str) -> None:
    old, _ = plans(tmp_path)
    (tmp_path / "x.json").write_text(text)
    done = run("plan", "diff", old, tmp_path / "x.json")
    assert (done.returncode, done.stdout) == (2, "")
    assert "not" in done.stderr


def test_plans_of_two_sites(run, tmp_path: Path) -> None:
    old, new = plans(tmp_path)
    new.write_text(json.dumps(json.loads(new.read_text()) | {"site": "other.test"}))
    done = run("plan", "diff", old, new)
    assert done.returncode == 2
    assert "is a plan of" in done.stderr
