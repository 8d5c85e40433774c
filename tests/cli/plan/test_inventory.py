"""``originset plan inventory``: files as operators have them, what is refused, and what is written."""

import json
from pathlib import Path

import polars as pl
import pytest

INVENTORY = """certificate,names,key_holder,ca,owner,shared,opt_out,multi_cdn,caa
a,"a.test *.a.test",cdn,le,a,no,,no,
lib,LIB.cdn.test;font.cdn.test,cdn,le,cdn,true,0,false,le
"evil $(id)
",e.test,cdn,le,e,false,false,false,
"""
PAIRS = 'site,host,connections\na.test,lib.cdn.test,10\nwww.a.test,font.cdn.test,30\ne.test,"x\'; DROP",3\n'


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    (tmp_path / "inventory.csv").write_text(INVENTORY)
    (tmp_path / "pairs.csv").write_text(PAIRS)
    return tmp_path / "inventory.csv", tmp_path / "pairs.csv"


def test_rows_and_reasons(run, files) -> None:
    done = run("plan", "inventory", files[0], "--pairs", files[1], "--format", "csv")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1:] == ["a,a,font.cdn.test,1,1,30,15", "a,a,lib.cdn.test,2,1,10,14"]
    assert "2 names for 1 certificates save 40 of 43 connections a day" in done.stderr
    assert "3 connections of 1 pairs: the host is no name for a certificate" in done.stderr
    one = run("plan", "inventory", files[0], "--pairs", files[1], "--max-additions", "1", "--format", "json")
    assert [row["name"] for row in json.loads(one.stdout)] == ["font.cdn.test"]


def test_parquet_gives_the_same(run, files, tmp_path: Path) -> None:
    pl.read_csv(files[0]).write_parquet(tmp_path / "i")
    pl.read_csv(files[1]).write_parquet(tmp_path / "p")
    expected = run("plan", "inventory", *files[:1], "--pairs", files[1], "--format", "json")
    done = run("plan", "inventory", tmp_path / "i", "--pairs", tmp_path / "p", "--format", "json")
    assert (done.returncode, done.stdout) == (0, expected.stdout)


def test_plan_and_rollout_as_files(run, files, tmp_path: Path) -> None:
    done = run(
        "plan", "inventory", files[0], "--pairs", files[1], "--out", tmp_path / "plan.json",
        "--rollout", tmp_path / "rollout.json", "--control-domain", "control.test",
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    made = json.loads((tmp_path / "plan.json").read_text())
    assert [row["name"] for row in made["additions"]] == ["font.cdn.test", "lib.cdn.test"]
    rings = json.loads((tmp_path / "rollout.json").read_text())["rings"]
    assert [change["certificate"] for ring in rings for change in ring["certificates"]] == ["a"]


@pytest.mark.parametrize(
    ("inventory", "pairs", "said"),
    [
        ("certificate\nx\n", PAIRS, "no column names"),
        (INVENTORY, "site,host\na,b\n", "no column connections"),
        (INVENTORY, "site,host,connections\na.test,b.test,many\n", "row 1 has 'many' connections"),
        (INVENTORY, "site,host,connections\na.test,b.test,3\na.test,b.test,-1\n", "row 2 has '-1' connections"),
        (INVENTORY, "site,host,connections\na.test,b.test,1.5\n", "row 1 has '1.5' connections"),
        (INVENTORY, "site,host,connections\na.test,b.test,\n", "row 1 has no connections"),
        (INVENTORY, "site,host,connections\na.test,b.test,1,2\n", "neither Parquet nor CSV"),
        ("certificate,names\na,x.test\na,y.test\n", PAIRS, "two of one name"),
        ("certificate,names,key_holder\na,x.test,me\n", PAIRS, "key_holder 'me'"),
        ("certificate,names,shared\na,x.test,perhaps\n", PAIRS, "shared 'perhaps'"),
        ("", PAIRS, "is empty"),
        ("PAR1 is none", PAIRS, "neither Parquet nor CSV"),
    ],
)
def test_files_that_are_refused(run, files, inventory: str, pairs: str, said: str) -> None:
    files[0].write_text(inventory)
    files[1].write_text(pairs)
    done = run("plan", "inventory", files[0], "--pairs", files[1])
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("value", [-1.0, 1.5, float("nan"), None])
def test_parquet_with_numbers_that_are_no_counts(run, files, tmp_path: Path, value: float | None) -> None:
    pl.DataFrame({"site": ["a.test"] * 2, "host": ["lib.cdn.test"] * 2, "connections": [2.0, value]}).write_parquet(
        tmp_path / "p"
    )
    done = run("plan", "inventory", files[0], "--pairs", tmp_path / "p")
    assert (done.returncode, done.stdout) == (2, "")
    assert "row 2 has" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("separator", [";", "\t"])
def test_files_of_other_spreadsheets(run, files, separator: str) -> None:
    expected = run("plan", "inventory", files[0], "--pairs", files[1], "--format", "json").stdout
    for path in files:
        rows = pl.read_csv(path, infer_schema=False)
        path.write_text("\ufeff" + rows.write_csv(separator=separator))
    done = run("plan", "inventory", files[0], "--pairs", files[1], "--format", "json")
    assert (done.returncode, done.stdout) == (0, expected), done.stderr


def test_names_that_are_not_to_be_added(run, files, tmp_path: Path) -> None:
    call = ("plan", "inventory", files[0], "--pairs", files[1], "--format", "csv")
    one = run(*call, "--exclude", "LIB.cdn.test")
    assert one.stdout.splitlines()[1:] == ["a,a,font.cdn.test,1,1,30,15"]
    (tmp_path / "denied").write_text("# ours, and not to be shared\ncdn.test\n")
    done = run(*call, "--exclude-from", tmp_path / "denied")
    assert done.stdout.splitlines()[1:] == []
    assert "left out: 40 connections of 2 pairs: the host is excluded, as asked" in done.stderr
    (tmp_path / "denied").write_text("dn.test\nx.lib.cdn.test\n")
    assert len(run(*call, "--exclude-from", tmp_path / "denied").stdout.splitlines()) == 3


def test_a_name_that_saves_nothing_is_not_proposed(run, files) -> None:
    files[1].write_text("site,host,connections\na.test,lib.cdn.test,0\na.test,font.cdn.test,2\n")
    done = run("plan", "inventory", files[0], "--pairs", files[1], "--format", "csv")
    assert done.stdout.splitlines()[1:] == ["a,a,font.cdn.test,1,1,2,15"]
    assert "left out: 0 connections of 1 pairs: it saves no connection" in done.stderr


@pytest.mark.parametrize(("caa", "planned"), [("", True), ('""', True), ("le", True), (";", False), ("other", False)])
def test_what_a_caa_field_permits(run, files, caa: str, planned: bool) -> None:
    lines = files[0].read_text().splitlines()
    rows = [lines[0], lines[1], f"{lines[2].rpartition(',')[0]},{caa}"]
    files[0].write_text("\n".join(rows) + "\n")
    done = run("plan", "inventory", files[0], "--pairs", files[1], "--format", "csv")
    assert done.returncode == 0, done.stderr
    assert (len(done.stdout.splitlines()) == 3) == planned


def test_traffic_is_needed(run, files) -> None:
    done = run("plan", "inventory", files[0])
    assert (done.returncode, done.stdout) == (2, "")
    assert "Missing option '--pairs'" in done.stderr


def test_a_plan_on_stdout_is_the_file(run, files, tmp_path: Path) -> None:
    call = ("plan", "inventory", files[0], "--pairs", files[1], "--out")
    assert run(*call, tmp_path / "plan.json").returncode == 0
    assert run(*call, "-").stdout == (tmp_path / "plan.json").read_text()


@pytest.mark.parametrize("domain", [[], ["--control-domain", "no domain"]])
def test_a_rollout_needs_a_domain(run, files, domain: list[str], tmp_path: Path) -> None:
    done = run("plan", "inventory", files[0], "--pairs", files[1], "--rollout", tmp_path / "r.json", *domain)
    assert done.returncode == 2
    assert "--control-domain" in done.stderr
    assert not (tmp_path / "r.json").exists()
