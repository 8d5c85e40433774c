"""``reference``: fetched from a server on this machine, whole or not at all, and then used."""

import functools
import gzip
import hashlib
import json
import shlex
from datetime import date
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner
from web_server import Quiet, serving

from originset.cli.analyze import command as analyze_command
from originset.cli.pages.commands_page import split_help
from originset.cli.study.reference import command, update
from originset.crawler.downloads.reference_tables import ReferenceSources
from originset.data.errors import InputError
from originset.data.reference import snapshot
from originset.data.schema.study_tables import TABLES
from originset.data.studies.shards import scan, write_shard
from originset.data.studies.study import Study

ROUTES = {
    "v4/2026/10/routeviews-rv2-20261001-1200.pfx2as.gz": "10.0.0.0\t8\t3333\n",
    "v4/2026/11/routeviews-rv2-20261120-1200.pfx2as.gz": "10.0.0.0\t8\t1103_1101\n",
    "v6/2026/10/routeviews-rv6-20261001-1200.pfx2as.gz": "2001:db8::\t32\t3333\n",
    "v6/2026/11/routeviews-rv6-20261120-1200.pfx2as.gz": "2001:db8::\t32\t1101\n",
}
NAMES = """# format:org_id|changed|org_name|country|source
ORG-S|20260101|SURF B.V.|NL|RIPE
# format:aut|changed|aut_name|org_id|opaque_id|source
1101|20260101|IP-EEND-AS|ORG-S||RIPE
3333|20260101|RIPE-NCC-AS|ORG-NOWHERE||RIPE
"""
SUFFIXES = """// VERSION: 2026-11-19_00-00-00_UTC
// ===BEGIN ICANN DOMAINS===
com
odd.com
// ===END ICANN DOMAINS===
// ===BEGIN PRIVATE DOMAINS===
// ===END PRIVATE DOMAINS===
"""


class _Files(Quiet, SimpleHTTPRequestHandler):
    """Those of a folder."""


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A server of such files as the publishers have, and a cache folder of our own."""
    root = tmp_path / "www"
    for path, text in ROUTES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(gzip.compress(text.encode()))
    for family in ("4", "6"):
        lines = "".join(
            f"{number}\t{number}\t{path.removeprefix(f'v{family}/')}\n"
            for number, path in enumerate(ROUTES)
            if path.startswith(f"v{family}")
        )
        (root / f"v{family}" / "pfx2as-creation.log").write_text("# format: seqnum timestamp path\n" + lines)
    (root / "org").mkdir()
    for stamp in ("20260701", "20261001"):
        (root / "org" / f"{stamp}.as-org2info.txt.gz").write_bytes(gzip.compress(NAMES.encode()))
    (root / "list.dat").write_text(SUFFIXES)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with serving(functools.partial(_Files, directory=str(root))) as base:
        sources = ReferenceSources(*(f"{base}/{path}" for path in ("v4/", "v6/", "org/", "list.dat")))
        monkeypatch.setattr(update, "SOURCES", sources)
        yield root


def call(*arguments: str) -> list[dict[str, str]]:
    result = CliRunner().invoke(command, [*arguments, "--format", "json"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    rows: list[dict[str, str]] = json.loads(result.stdout)
    return rows


def test_without_an_update_it_is_what_is_built_in(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    rows = {row["what"]: row for row in call("show")}
    assert set(rows) == {"ip_to_as", "as_names", "public_suffix_list", "providers"}
    assert rows["ip_to_as"]["date"] == "2026-06-17"
    assert all(len(row["sha256"]) == 64 for row in rows.values())


def test_the_newest(served):
    rows = {row["what"]: row for row in call("update")}
    assert {what: row["date"] for what, row in rows.items()} == {
        "ip_to_as": "2026-11-20",
        "ip_to_as_v6": "2026-11-20",
        "as_names": "2026-10-01",
        "public_suffix_list": "2026-11-19",
    }
    content = (served / "v4/2026/11/routeviews-rv2-20261120-1200.pfx2as.gz").read_bytes()
    assert rows["ip_to_as"]["sha256"] == hashlib.sha256(content).hexdigest()
    assert rows["ip_to_as"]["source"].endswith("/v4/2026/11/routeviews-rv2-20261120-1200.pfx2as.gz")
    assert {row["what"] for row in call("show")} == {*rows, "providers"}
    table = snapshot.current_reference().ip_to_as
    asked = pl.Series(["10.1.1.1", "2001:db8::1", "11.0.0.1"])
    assert table.origins(asked)["asns"].to_list() == [[1101, 1103], [1101], None]
    assert table.prefixes(asked).to_list() == ["10.0.0.0/8", "2001:db8::/32", None]


def test_a_day_of_the_past_and_the_newest_again(served):
    words = shlex.split(split_help(update.command)[1])
    assert words == ["originset", "study", "reference", "update", "--date", "2026-10-01"]
    assert [row["date"] for row in call(*words[3:])][:3] == ["2026-10-01", "2026-10-01", "2026-10-01"]
    assert snapshot.current_reference().ip_to_as.origins(pl.Series(["10.1.1.1"]))["asn"].to_list() == [3333]
    folder = snapshot.fetched_folder()
    before = set(folder.iterdir())
    call("update")
    assert len(list(folder.iterdir())) == len(before), "what is no longer used is removed"


@pytest.mark.parametrize(
    ("arguments", "spoil"),
    [
        (["--date", "2026-10-02"], lambda root: None),
        (["--date", "2020-01-01"], lambda root: None),
        ([], lambda root: (root / "list.dat").write_text("<html>sign in</html>")),
        ([], lambda root: (root / "list.dat").unlink()),
        ([], lambda root: (root / "org/20261001.as-org2info.txt.gz").write_bytes(gzip.compress(b"a|b\n"))),
        ([], lambda root: (root / "v4/2026/11/routeviews-rv2-20261120-1200.pfx2as.gz").write_bytes(b"\x1f\x8bcut")),
        ([], lambda root: (root / "v6/pfx2as-creation.log").write_text("# nothing yet\n")),
    ],
)
def test_what_cannot_be_fetched_whole_changes_nothing(served, arguments, spoil):
    call("update", "--date", "2026-10-01")
    before = {path.name: path.read_bytes() for path in snapshot.fetched_folder().iterdir()}
    spoil(served)
    with pytest.raises(InputError):
        call("update", *arguments)
    assert {path.name: path.read_bytes() for path in snapshot.fetched_folder().iterdir()} == before


@pytest.mark.parametrize(
    ("status", "header", "value"),
    [(302, "Location", "http://["), (200, "Content-Length", "many"), (200, "Content-Length", "9")],
)
def test_answers_that_are_none(served, monkeypatch, status, header, value):
    class Odd(Quiet, BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(status)
            self.send_header(header, value)
            self.end_headers()
            self.wfile.write(b"# none")

    with serving(Odd) as base:
        monkeypatch.setattr(update, "SOURCES", ReferenceSources(*4 * [f"{base}/"]))
        with pytest.raises(InputError):
            call("update")


def test_a_file_that_was_changed_afterwards_is_not_used(served):
    call("update")
    index = json.loads((snapshot.fetched_folder() / "reference.json").read_bytes())
    (snapshot.fetched_folder() / index["ip_to_as"]["file"]).write_text("10.0.0.0\t8\t666\n")
    with pytest.raises(InputError, match="not what was fetched"):
        snapshot.current_reference()


def test_a_server_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    nowhere = "http://127.0.0.1:1/"
    monkeypatch.setattr(update, "SOURCES", ReferenceSources(nowhere, nowhere, nowhere, nowhere))
    with pytest.raises(InputError) as refusal:
        call("update")
    assert refusal.value.reason == "not-fetched"
    assert not snapshot.fetched_folder().exists()


def small_study(tmp_path: Path) -> Study:
    study = Study(tmp_path / "study")
    schema = TABLES["requests"].polars_schema
    row = {**dict.fromkeys(schema), "visit_id": "v", "host": "www.a.odd.com", "server_ip": "10.1.1.1"}
    with study.changing("import", {}):
        write_shard(study, "requests", "x", pl.DataFrame([row], schema=schema))
    return study


def test_analyze_uses_what_was_fetched(served, tmp_path):
    study = small_study(tmp_path)
    assert CliRunner().invoke(analyze_command, obj=study, catch_exceptions=False).exit_code == 0
    assert scan(study, "hosts").collect()["registrable_domain"].to_list() == ["odd.com"]
    call("update")
    assert CliRunner().invoke(analyze_command, obj=study, catch_exceptions=False).exit_code == 0
    (address,) = scan(study, "addresses").collect().rows(named=True)
    assert (address["asn"], address["asns"]) == (1101, [1101, 1103])
    assert (address["as_name"], address["organisation"]) == ("IP-EEND-AS", "SURF B.V.")
    assert scan(study, "hosts").collect()["registrable_domain"].to_list() == ["a.odd.com"]
    facts = study.manifest()["reference_data"]
    assert facts["ip_to_as_v6"]["date"] == "2026-11-20"
    assert facts["public_suffix_list"]["sha256"] == hashlib.sha256(SUFFIXES.encode()).hexdigest()


def test_a_table_of_ones_own_comes_first(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "own.dat").write_text("10.0.0.0/8\t3333\n")
    study = small_study(tmp_path)
    result = CliRunner().invoke(
        analyze_command, ["--ip-to-as", str(tmp_path / "own.dat")], obj=study, catch_exceptions=False
    )
    assert result.exit_code == 0
    assert scan(study, "addresses").collect()["asn"].to_list() == [3333]
    assert study.manifest()["reference_data"]["ip_to_as"]["source"] == "own.dat"


def test_old_data_is_named():
    reference = snapshot.built_in_reference()
    assert "ip_to_as" not in reference.old(date(2027, 6, 17))
    assert reference.old(date(2027, 6, 18))["ip_to_as"] == "2026-06-17"
    assert "public_suffix_list" in reference.old(date(2027, 6, 18))
