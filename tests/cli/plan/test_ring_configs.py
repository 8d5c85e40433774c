"""``originset plan config --rollout``: a configuration for each certificate that is to announce something new."""

import csv
import json
from pathlib import Path

import pytest

RINGS = {
    "seed": "1",
    "rings": [
        {
            "ring": 1,
            "connections_saved": 2,
            "certificates": [
                {"certificate": "shop", "group": "experiment", "names": ["lib.cdn.test"], "later": []},
                {"certificate": "blog", "group": "control", "names": ["00000.x.test"], "later": ["lib.cdn.test"]},
            ],
        },
        {
            "ring": 2,
            "connections_saved": 1,
            "certificates": [
                {"certificate": "wild", "group": "experiment", "names": ["lib.cdn.test"], "later": []},
                {"certificate": "$(id)", "group": "experiment", "names": ['a"]\n.test'], "later": []},
                {"certificate": "large", "group": "experiment", "names": ["lib.cdn.test"], "later": []},
            ],
        },
    ],
}
NAMES = {
    "shop": "shop.test *.shop.test www.shop.test",
    "blog": "blog.test",
    "wild": "*.wild.test",
    "$(id)": "id.test",
    "large": " ".join(f"{number:060}.large.test" for number in range(300)),
}


@pytest.fixture
def files(tmp_path: Path) -> tuple[str | Path, ...]:
    with (tmp_path / "inventory.csv").open("w") as file:
        csv.writer(file).writerows([("certificate", "names"), *NAMES.items()])
    (tmp_path / "rings.json").write_text(json.dumps(RINGS))
    return ("--rollout", tmp_path / "rings.json", "--inventory", tmp_path / "inventory.csv")


def written(run, files: tuple[str | Path, ...], out: Path, *options: str) -> list[dict[str, str]]:
    done = run("plan", "config", *files, "--out", out, *options)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    with (out / "index.csv").open() as file:
        return list(csv.DictReader(file))


def test_who_announces_something_has_a_file(run, files, tmp_path: Path) -> None:
    out = tmp_path / "out"
    index = {row["certificate"]: row for row in written(run, files, out, "--server", "list")}
    assert {path.relative_to(out).as_posix() for path in out.rglob("*.txt")} == {
        "ring-1/00001-shop.txt",
        "ring-2/00002-id.txt",
    }
    origins = (out / index["shop"]["file"]).read_text().split()
    assert origins == ["https://lib.cdn.test", "https://shop.test", "https://www.shop.test"]
    assert (index["shop"]["ring"], index["shop"]["origins"]) == ("1", "3")
    assert index["shop"]["problem"] == 'left out "*.shop.test": a wildcard is no origin'
    assert (index["blog"]["file"], index["blog"]["problem"]) == (
        "",
        "of the control group, which announces nothing new",
    )
    assert "wildcards alone" in index["wild"]["problem"]
    assert "a frame holds" in index["large"]["problem"]
    # A stranger's text stays one, and what is no name is in no set.
    assert (out / index["$(id)"]["file"]).read_text() == "https://id.test\n"
    assert "left out" in index["$(id)"]["problem"]


@pytest.mark.parametrize(("server", "ending"), [("node", "mjs"), ("h2o", "yaml"), ("raw", "bin"), ("raw-h3", "bin")])
def test_one_ring_for_every_server(run, files, tmp_path: Path, server: str, ending: str) -> None:
    index = written(run, files, tmp_path / "out", "--server", server, "--ring", "1")
    assert [row["file"] for row in index] == [f"ring-1/00001-shop.{ending}", ""]
    assert b"https://lib.cdn.test" in (tmp_path / "out" / index[0]["file"]).read_bytes()


def test_calls_that_are_refused(run, files, tmp_path: Path) -> None:
    call = ("plan", "config", "--server", "node")
    for arguments, said in (
        ((*files,), "--rollout takes --inventory and --out"),
        ((*files[:2], "--out", tmp_path / "out"), "--rollout takes --inventory and --out"),
        ((*files, "--out", tmp_path / "out", "--site", "a.test"), "no --site"),
        ((*files[2:], "--site", "a.test"), "are for --rollout"),
        ((*files, "--out", tmp_path / "out", "--ring", "7"), "has no ring 7"),
    ):
        done = run(*call, *arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr
    assert not (tmp_path / "out").exists()
