"""The whole way in one run, as a user starts it: it prints what the testbed's servers saw, and leaves files."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pyasn
import pytest

from originset.cli.demo import command
from originset.cli.pages.commands_page import split_help
from originset.data import reference
from originset.data.studies.database import open_database
from originset.data.studies.study import Study

pytestmark = [pytest.mark.testbed, pytest.mark.browser]

MARK = "ORIGINSET_NAMESPACE"


def demo(folder: Path) -> subprocess.CompletedProcess[str]:
    # Without the mark it makes a namespace of its own, as it does for a user; ours may hold another testbed.
    env = {name: value for name, value in os.environ.items() if name != MARK}
    call = [sys.executable, "-m", *shlex.split(split_help(command)[1])]
    return subprocess.run(call, cwd=folder, capture_output=True, text=True, env=env, check=False)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    folder = tmp_path_factory.mktemp("demo")
    return folder / "demo", demo(folder)


@pytest.fixture(scope="module")
def study(ran: tuple[Path, subprocess.CompletedProcess[str]]) -> Study:
    return Study(ran[0] / "study")


def test_it_ends_well_and_says_how_many_pages(ran: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    _, done = ran
    assert done.returncode == 0, done.stderr + done.stdout
    assert done.stdout.startswith("pages: 10 ok, 3 failed\n")
    assert "3 failed" in done.stdout.split("TLS connections: ")[1]


def test_captures_say_what_the_servers_saw(ran: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    lines = re.findall(
        r"^(TLS handshakes|TLS connections with a request|DNS queries) +(\d+) +(\d+) +True", ran[1].stdout, re.MULTILINE
    )
    assert len(lines) == 3
    for what, servers, captures in lines:
        assert servers == captures, what
        assert int(servers) > 30, what


def test_every_path_that_it_prints_exists(ran: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    out, done = ran
    paths = [Path(word) for word in done.stdout.split() if word.startswith(str(out)) and "." in Path(word).name]
    assert len(paths) >= 3 + 1 + 2
    assert all(path.stat().st_size > 0 for path in paths)


def test_what_it_says_comes_next_can_be_typed(ran: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    command_line = ran[1].stdout.splitlines()[-1].removeprefix("next: ")
    done = subprocess.run(shlex.split(command_line), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "ladder_summary" in done.stdout


def test_the_ideal_is_pyasn_and_a_set_on_every_page(study: Study) -> None:
    table = pyasn.pyasn(str(Path(reference.__file__).parent / "ip_to_as.dat.gz"))
    with open_database(study) as connection:
        pages = connection.execute(
            "SELECT ideal_origin, ideal_ip, (SELECT list(DISTINCT server_ip) FROM requests r "
            "WHERE r.visit_id = p.visit_id AND server_ip IS NOT NULL) FROM page_counts p WHERE requests > 0"
        ).fetchall()
    assert len(pages) >= 10
    for ideal_origin, ideal_ip, addresses in pages:
        keys = {table.lookup(address)[0] or address for address in addresses or []}
        assert ideal_origin == len(keys)
        assert ideal_ip == len(addresses or [])


def test_no_config_announces_what_a_server_refused(ran: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    out, _ = ran
    requests = (out / "testbed" / "logs" / "requests.jsonl").read_text().splitlines()
    assert any('"host":"carla.hosting.test"' in line and '"status":421' in line for line in requests)
    assert "Connections of" in (out / "report.html").read_text()
    configs = list((out / "configs").iterdir())
    assert configs
    assert not [path.name for path in configs if "carla.hosting.test" in path.read_text()]


def test_strangers_in_one_as_are_not_announced_for_one_another(study: Study) -> None:
    with open_database(study) as connection:
        rows = connection.execute(
            "SELECT site, host, covered_by_certificate FROM origin_sets "
            "WHERE site IN ('anna.test', 'bert.test') AND host IN ('anna.test', 'bert.test') AND host <> site"
        ).fetchall()
    assert sorted(rows) == [("anna.test", "bert.test", False), ("bert.test", "anna.test", False)]


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "thesis.tex").write_text("precious")
    done = demo(tmp_path)
    assert done.returncode == 2
    assert "not a demo's folder" in done.stderr
    assert [path.name for path in (tmp_path / "demo").iterdir()] == ["thesis.tex"]
