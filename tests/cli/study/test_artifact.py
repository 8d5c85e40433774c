"""``originset artifact``: what is in the bundle, what is not."""

import re
import shlex
import subprocess
import sys
import tarfile
from pathlib import Path

import polars as pl
import pytest
from example_study import ROWS, tables_of

from originset.cli.modelling.rebuild import rebuild
from originset.cli.pages.commands_page import split_help
from originset.cli.study.artifact import NAME
from originset.cli.study.artifact import command as artifact
from originset.data.schema.study_tables import TABLES
from originset.data.studies.shards import write_shard
from originset.data.studies.study import Study
from originset.models.parameters import Parameters

SECRET = "kXq7"
# Of the vantages that crawls were told; no server has them.
VANTAGES = ("203.0.113.77", "2001:db8:77::77")
PARAMETERS = Parameters(predecessor="time", provider_asns=(13335, 15169))


def make_study(root: Path) -> Study:
    """The example study with something to hide in every place that is to be stripped."""
    study = Study(root)
    tables = {name: frame.collect() for name, frame in tables_of(ROWS).items()}
    for name, column in (("requests", "url"), ("visits", "final_url"), ("visits", "source")):
        told = pl.when(pl.col(column) != "crawl").then(pl.col(column) + f"/{SECRET}").otherwise(column)
        tables[name] = tables[name].with_columns(told.alias(column))
    vantage_ip = pl.when(pl.col("source") == "crawl").then(pl.lit(VANTAGES[0])).otherwise(pl.lit(VANTAGES[1]))
    agent = pl.lit(f"Mozilla/5.0 (X11) Gecko/20100101 Firefox/150.0 ({SECRET}@example.org)").alias("user_agent")
    tables["visits"] = tables["visits"].with_columns(vantage_ip.alias("vantage_ip"), agent)
    for name in ("addresses", "vantages"):
        planted = pl.DataFrame([{"ip": ip} for ip in VANTAGES], schema=TABLES[name].polars_schema)
        tables[name] = pl.concat([tables[name], planted]) if name in tables else planted
    parameters = {
        "files": [f"/home/{SECRET}/hars", f"{SECRET}.har"],
        "site_list": f"{SECRET}.txt",
        "captures": f"s3://{SECRET}/captures",
        "cluster": f"tls://{VANTAGES[0]}:8786",
        "vantage_ip": VANTAGES[0],
        "resolver": VANTAGES[1],
        "contact": f"{SECRET}@example.org",
        **PARAMETERS.as_dict(),
    }
    with study.changing("import", parameters):
        for name, rows in tables.items():
            write_shard(study, name, SECRET, rows)
        study.update_manifest(
            browser={"name": "chromium", "version": "150.0.7871.1", "flags": ["--disable-sync"]},
            reference_data={
                "ip_to_as": {"source": "table", "date": "2026-06-17", "sha256": "0f"},
                "alternative": {"source": f"{SECRET}.dat", "format": "pfx2as", "sha256": "0f"},
            },
            site_list={"source": f"{SECRET}.txt", "sha256": "0f", "sites": 3},
            rounds=[{"vantage": "here", "round": 1, "settings": {"browser": "chromium"}}],
        )
        manifest = study.manifest()
        study.update_manifest(merged=[{"study": SECRET, "runs": manifest["runs"], "site_list": manifest["site_list"]}])
        rebuild(study, PARAMETERS)
    return study


@pytest.fixture(scope="module")
def study(tmp_path_factory) -> Study:
    return make_study(tmp_path_factory.mktemp("artifact") / "S")


@pytest.fixture(scope="module")
def bundle(study, tmp_path_factory) -> Path:
    """The bundle, unpacked somewhere else."""
    call = [sys.executable, "-m", *shlex.split(split_help(artifact)[1])]
    done = subprocess.run(call, cwd=study.root.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    elsewhere = tmp_path_factory.mktemp("bundle")
    packed = study.root.parent / done.stdout.rstrip("\n")
    with tarfile.open(packed) as archive:
        assert {entry.mtime for entry in archive} == {0}
    # Debian 12's Python unpacks with no filter, later ones with nothing else.
    subprocess.run(["tar", "-xf", packed, "-C", elsewhere], check=True)
    return elsewhere / NAME


def test_its_own_commands_have_the_studys_parameters(bundle) -> None:
    """tests/cli/test_crawl_session.py runs those of another bundle."""
    page = (bundle / "ARTIFACT.md").read_text()
    commands = [line.split("`")[1] for line in page.split("## Claims")[0].splitlines() if line.startswith("| `")]
    assert len(commands) == 4
    assert "--predecessor time" in commands[1]
    assert "--provider-asn 13335 --provider-asn 15169" in commands[1]


@pytest.mark.promise("artifacts-name-no-machine")
def test_nothing_that_was_to_be_stripped_is_in_it(bundle) -> None:
    seen = 0
    for path in bundle.rglob("*"):
        if path.is_file():
            seen += path.suffix == ".parquet"
            rows = str(pl.read_parquet(path).rows()) if path.suffix == ".parquet" else ""
            content = rows or path.read_bytes().decode("latin-1")
            assert not [planted for planted in (SECRET, *VANTAGES) if planted in content], path
    assert seen > 6
    assert not {"captures", "ledger.sqlite", "study.duckdb", ".lock"} & {path.name for path in bundle.rglob("*")}


def test_it_says_what_it_rests_on(bundle) -> None:
    page = (bundle / "ARTIFACT.md").read_text()
    for told in ("chromium 150.0.7871.1", "`--disable-sync`", "date 2026-06-17", "| duckdb |", "5 ok, 1 failed"):
        assert told in page, told
    # Six connections of a's page; two of b's; of the imported pages c has two and f, which asked for nothing, none.
    for whose, claimed in (
        ("chromium at here", "6 over 1 site"),
        ("chromium at there", "2 over 1 site"),
        ("unknown browser", "2 over 2 sites"),
    ):
        assert f"| TLS connections, measured, {whose}: {claimed} |" in page
    assert "per page, unknown browser: pages that need 1 AS: 50 %" in page
    expected = set(re.findall(r"`(expected/\S+)`, `.svg`", page))
    assert {"expected/figure-4.csv", "expected/unknown-browser/figure-1.csv"} <= expected
    assert all((bundle / name).with_suffix(suffix).is_file() for name in expected for suffix in (".csv", ".svg"))
    listed = {line.split("  ")[1] for line in (bundle / "SHA256SUMS").read_text().splitlines()}
    assert listed == {str(p.relative_to(bundle)) for p in bundle.rglob("*") if p.is_file()} - {"SHA256SUMS"}
    assert "queries/ladder_summary.sql" in listed


@pytest.mark.parametrize(
    "where",
    [
        f"Visits.Final_URL IS DISTINCT FROM 'https://example.com/{SECRET}'",
        f"vantage_ip IS DISTINCT FROM '{SECRET}'",
        f"user_agent NOT LIKE '%me@{SECRET}%'",
        "visit_id NOT IN (SELECT visit_id FROM requests WHERE url LIKE '%me@secret%')",
        f"COLUMNS('sourc.$') IS DISTINCT FROM '{SECRET}'",
    ],
)
def test_a_selection_that_quotes_what_is_not_published(run, study, tmp_path, where) -> None:
    """ARTIFACT.md has the condition, also where it selects the same visits in the bundle."""
    done = run("--study", study.root, "study", "artifact", "--where", where, "--out", tmp_path / "b.tar.gz")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 2)
    assert "is not published, and ARTIFACT.md would quote it" in done.stderr
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_published(run, tmp_path) -> None:
    """A database that is not what its tables give, a place that is none, and no database."""
    study = make_study(tmp_path / "S")
    (study.tables / "addresses" / f"{SECRET}.parquet").unlink()
    for out, says in (
        ("b.tar.gz", "not what its database holds (chromium-at-here/figure-1.csv"),
        ("none/b.tar.gz", "cannot be written"),
    ):
        done = run("--study", study.root, "study", "artifact", "--out", tmp_path / out)
        assert done.returncode == 2
        assert says in done.stderr.splitlines()[-1]  # after a line a minute of progress
    study.database_path.unlink()
    done = run("--study", study.root, "study", "artifact", "--out", tmp_path / "b.tar.gz")
    assert done.returncode == 2
    assert "run: originset --study" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["S"]
